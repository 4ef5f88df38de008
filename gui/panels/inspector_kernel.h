#pragma once
// What runs for a node: library calls and kernels of our own, and how near it comes to what the machine can
// do.

#include <optional>

#include "gui/workbench.h"
#include "profiler/trace/roofline.h"

namespace wide::gui {

void draw_kernel(const NodeView& node, Workbench& bench, const Ui& ui);

/// The node's point of the profile that is open, where that is one of the open model; null: none.
const profiler::RooflinePoint* roofline_point(const NodeView& node, const Workbench& bench);

}  // namespace wide::gui
