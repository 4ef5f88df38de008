#pragma once
// fuse: an activation becomes part of the layer or convolution before it, a residual's addition and a gate's
// product part of the linear layer before them, an adapter's change part of the addition.

#include <vector>

#include "core/ir/graph.h"
#include "core/strategy/candidates.h"
#include "core/strategy/strategy_choice.h"

namespace wide {

/// Each linear layer or convolution whose result only an activation reads becomes one operator with it (see
/// with_activation()), under the activation's name; not a convolution whose activation a group will take.
/// Each linear layer whose result only an addition or a product with a tensor of the same type reads becomes
/// one wide.linear_add or wide.linear_mul (of two layers the later one; not a layer that is the same for all
/// members or in every pass, by `inputs` as for spread_states(), nor one that would keep a larger input alive
/// until then). Where `choice` names the layer's value or a strategy for the other operator, unless only such
/// layers have that strategy, and where everything is `sequential`, both stay. First of all, x + scale · (a ·
/// b), where b is a matrix of few rows and nothing else reads the product, becomes one wide.add_matmul(x, a,
/// b, scale).
Graph fuse(const Graph& graph, const std::vector<ValueState>& inputs, const StrategyChoice& choice);

}  // namespace wide
