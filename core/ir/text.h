#pragma once
// The text form of a graph: print and parse are inverse, so that goldens, `trace` and bug reports share it.
//
//   graph "resblock"
//   input %x "x" : float32[8, 64, 16, 16]
//   parameter %w "conv1.weight" : float32[64, 64, 3, 3]
//   %conv2d : float32[8, 64, 16, 16] = aten.conv2d.default(%x, %w, none, [1, 1], [1, 1], [1, 1], 1) at
//   "conv1" output %conv2d

#include <string>
#include <string_view>

#include "core/ir/graph.h"

namespace wide {

std::string print(const Graph& graph);
std::string print(const Graph& graph, const Node& node);
std::string print(const Graph& graph, const Argument& argument);

/// Throws wide::Error ("parse") naming the line and column.
Graph parse_graph(std::string_view text);

}  // namespace wide
