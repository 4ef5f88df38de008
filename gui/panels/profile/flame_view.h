#pragma once
// The flame graph of a capture: mouse and keys.

#include <cstddef>

#include "gui/views/flame.h"
#include "gui/workbench.h"

namespace wide::gui {

struct ProfilePanel;
struct ProfileData;

struct FlamePanel {
  std::size_t root = 0;    ///< the frame that fills the width
  std::size_t chosen = 0;  ///< where the keys are
  const ProfileData* of = nullptr;
  std::size_t capture = 0;
};

/// Where the keys lead from a frame: up is the frame around, down its longest child, left and right the
/// longer and the shorter neighbour. The frame itself where there is none.
std::size_t flame_neighbour(const Flame& flame, std::size_t from, ImGuiKey key);

void draw_flame(ProfilePanel& panel, const Ui& ui);

}  // namespace wide::gui
