#pragma once
// Graphs are captured as they were exported, mostly on a CPU; here one is told the device that it runs on.

#include "core/ir/graph.h"

namespace wide {

/// Every operator that takes a device is given `device`, by name, and so is the graph with its bodies. Views
/// that nobody writes through become reshapes.
Graph placed_on(Graph graph, at::Device device);

}  // namespace wide
