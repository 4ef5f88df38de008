#pragma once
// What GLFW tells of the window: that something happened, files that were dropped, that it shall close.

#include "gui/pace.h"
#include "gui/shown.h"

struct GLFWwindow;

namespace wide::gui {

class Workbench;

/// What the callbacks of GLFW reach.
struct Loop {
  Workbench* bench = nullptr;
  Pace pace;
  Shown shown;
};

/// From now on events of the window reach `loop`, which outlives it, before they reach ImGui, whose backend
/// is there already.
void take_events(GLFWwindow* window, Loop& loop);

}  // namespace wide::gui
