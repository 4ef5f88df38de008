#pragma once
// The fonts of the window, inside the program: Roboto, Inconsolata, and the icons of Font Awesome 6 merged
// into Roboto.

#include "gui/ui.h"

namespace wide::gui {

/// Adds them to ImGui's atlas; `size` in pixels at scale 1.
Fonts load_fonts(float size);

}  // namespace wide::gui
