#pragma once
// optimize: rewrites that only a model with known weights allows.

#include <vector>

#include "core/ir/graph.h"
#include "core/strategy/candidates.h"
#include "core/strategy/strategy_choice.h"

namespace wide {

/// Folds each batch norm in evaluation mode into the convolution or linear layer before it, where nothing
/// else uses that layer's result and all their weights are constant: float32 and float64 only, since the
/// scaled weights are rounded once more. Batch norms for which `choice` names a strategy, and all where it is
/// `sequential`, stay. `inputs` as for spread_states(). The new weights are computed when the graph is
/// compiled.
Graph optimize(const Graph& graph, const std::vector<ValueState>& inputs, const StrategyChoice& choice);

}  // namespace wide
