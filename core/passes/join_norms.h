#pragma once
// join_norms: norms that a model writes out, operator by operator, become one operator.

#include "core/ir/graph.h"
#include "core/strategy/strategy_choice.h"

namespace wide {

/// x · rsqrt(mean(x²) + eps) over the last axis, and · weight where that has that axis alone, becomes one
/// aten.rms_norm, where nothing else reads what lies between: float32 and float64, without changes of dtype.
/// Operators that `choice` names, and all where everything is `sequential`, stay.
Graph join_norms(const Graph& graph, const StrategyChoice& choice);

}  // namespace wide
