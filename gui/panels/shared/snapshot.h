#pragma once
// A part of the window as a PNG file, as it is drawn.

#include <filesystem>
#include <functional>
#include <string>

#include "gui/ui.h"

namespace wide::gui {

/// One picture at a time: wanted, then taken once nothing lies over the plot any more.
class Snapshot {
 public:
  /// Takes what area() will be told of, two frames from now (the dialog that asked is then gone). `written`
  /// is told once the file is there; without it a notice says so.
  void want(std::filesystem::path file, std::function<void()> written = {});
  /// Why no picture can be taken: what is pictured was not drawn of late. Empty: it can.
  std::string refusal() const;
  /// To be called by what is pictured, each frame, after it was drawn: its corners on the screen, in ImGui's
  /// units.
  void area(const Ui& ui, ImVec2 low, ImVec2 high);

 private:
  std::filesystem::path file_;
  std::function<void()> written_;
  int frames_ = 0;     ///< until it is taken; 0: none is wanted
  int drawn_ = -1000;  ///< the frame in which area() was last called
};

}  // namespace wide::gui
