#pragma once
// group: pointwise operators that only serve one another become one node.

#include <vector>

#include "core/ir/graph.h"
#include "core/strategy/candidates.h"
#include "core/strategy/strategy_choice.h"

namespace wide {

/// Each set of pointwise operators of one shape, of which only the last one's result is read by others,
/// becomes a wide.group (core/strategy/group.h) under that one's name. What is the same for all members, or
/// in every pass, stays outside, and so does what `choice` names. On another device than the CPU, and where
/// everything is `sequential`, the graph stays as it is. Before that, batch norms that can join are written
/// out (write_out_norms.h).
Graph group(const Graph& graph, const std::vector<ValueState>& inputs, const StrategyChoice& choice);

}  // namespace wide
