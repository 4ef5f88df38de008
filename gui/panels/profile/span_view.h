#pragma once
// What is marked in the timeline: explained by itself, and gone through from the slowest on.

#include <memory>
#include <optional>

#include "gui/views/span.h"
#include "gui/workbench.h"

namespace wide::gui {

struct ProfilePanel;

struct SpanPanel {
  std::shared_ptr<ProfileData> part;  ///< of the stretch; null: all is explained
  Measure stretch;
  std::vector<SlicePlace> ranking;  ///< longest first; empty: to be made
  std::optional<Measure> ranked;    ///< what the ranking is of; nothing: all
  std::size_t at = 0;               ///< which of them is selected
  Histogram histogram;              ///< of `kernel`
  std::string kernel;               ///< empty: none is chosen
  const ProfileData* of = nullptr;  ///< that the histogram is of, and the capture
  std::size_t capture = 0;
};

/// What kernels, gain, roofline and limits are shown of: the marked stretch, or all.
ProfileData& explained(const ProfilePanel& panel);

void add_span_commands(const std::shared_ptr<ProfilePanel>& panel, Workbench& bench);
/// Says that only a stretch is shown, and goes back to all.
void draw_span_line(const ProfilePanel& panel, const Ui& ui);
/// How long the calls of the chosen kernel took.
void draw_histogram(ProfilePanel& panel, const Ui& ui, float height);

}  // namespace wide::gui
