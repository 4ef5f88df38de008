#pragma once
// What is drawn as a PNG file. The few calls of OpenGL that the window makes itself.

#include <imgui.h>

#include <filesystem>
#include <string>

namespace wide::gui {

/// Sets the viewport and fills it.
void clear_picture(int width, int height, const ImVec4& colour);

/// Writes a part of what was drawn, in pixels of the frame buffer from its lower left corner, as a PNG: whole
/// or not at all. Throws wide::Error ("write").
void write_picture(const std::filesystem::path& file, int x, int y, int width, int height);

/// Draws go to a picture in memory while it lives: of any size, whether the window is seen or not. Needs a
/// current context.
class Offscreen {
 public:
  Offscreen(int width, int height);
  ~Offscreen();
  Offscreen(const Offscreen&) = delete;
  Offscreen& operator=(const Offscreen&) = delete;
  /// Writes all of it, as write_picture() does.
  void write(const std::filesystem::path& file) const;

 private:
  int width_, height_;
  unsigned frame_ = 0, colour_ = 0;
};

}  // namespace wide::gui
