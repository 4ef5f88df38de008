#pragma once
// optimize: rewrites that only a model with known weights allows.

#include <functional>
#include <optional>
#include <utility>
#include <vector>

#include "core/ir/graph.h"
#include "core/strategy/candidates.h"
#include "core/strategy/strategy_choice.h"

namespace wide {

/// The lowest and the highest element of a constant input, over all members; NaN where one is. Nothing for
/// what is computed.
using ConstantRange = std::function<std::optional<std::pair<double, double>>(ValueId)>;

/// Folds each batch norm in evaluation mode into the convolution or linear layer before it, where nothing
/// else uses that layer's result and all their weights are constant: float32 and float64 only, since the
/// scaled weights are rounded once more, and only where their product can neither overflow nor vanish. Batch
/// norms for which `choice` names a strategy, and all where it is `sequential`, stay. `inputs` as for
/// spread_states(). The new weights are computed when the graph is compiled.
Graph optimize(const Graph& graph, const std::vector<ValueState>& inputs, const StrategyChoice& choice,
               const ConstantRange& range);

}  // namespace wide
