#pragma once
// Colours with a meaning, light and dark. The palette is that of Okabe and Ito, told apart by colour-blind
// eyes; no meaning is carried by colour alone.

#include <imgui.h>

#include <array>
#include <cstddef>

namespace wide::gui {

struct Theme {
  bool dark = true;
  // Surfaces and text.
  ImVec4 window, panel, raised, hairline, text, faint, accent;
  // Meanings.
  ImVec4 good, bad, warning, neutral;
  // What is compared: wide, its best rival, other rivals, idle time.
  ImVec4 wide, rival, other, idle;
  /// Okabe-Ito for series: orange, sky blue, bluish green, yellow, blue, vermillion, reddish purple, text
  /// colour.
  std::array<ImVec4, 8> series;

  const ImVec4& of_series(std::size_t i) const { return series[i % series.size()]; }
};

/// Lightened or darkened where the plain palette would not be read on the background.
Theme dark_theme();
Theme light_theme();

/// Sets colours, spacing in em and rounding of ImGui and ImPlot.
void apply(const Theme& theme);

/// `colour` with its opacity multiplied.
inline ImVec4 faded(ImVec4 colour, float opacity) {
  colour.w *= opacity;
  return colour;
}
inline ImU32 packed(const ImVec4& colour) {
  return ImGui::ColorConvertFloat4ToU32(colour);
}

}  // namespace wide::gui
