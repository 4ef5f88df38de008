#pragma once
// What is drawn as a PNG file. The few calls of OpenGL that the window makes itself.

#include <imgui.h>

#include <string>

namespace wide::gui {

/// Sets the viewport and fills it.
void clear_picture(int width, int height, const ImVec4& colour);

/// Draws go to a picture in memory while it lives: of any size, whether the window is seen or not. Needs a
/// current context.
class Offscreen {
 public:
  Offscreen(int width, int height);
  ~Offscreen();
  Offscreen(const Offscreen&) = delete;
  Offscreen& operator=(const Offscreen&) = delete;
  /// Writes what was drawn. Returns why it could not, or nothing.
  std::string write(const std::string& file) const;

 private:
  int width_, height_;
  unsigned frame_ = 0, colour_ = 0;
};

}  // namespace wide::gui
