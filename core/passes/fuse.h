#pragma once
// fuse: an activation becomes part of the linear layer before it, an adapter's change part of the addition.

#include "core/ir/graph.h"
#include "core/strategy/strategy_choice.h"

namespace wide {

/// Each linear layer whose result only an activation reads becomes one wide.linear_activation with it, under
/// the activation's name. Where `choice` names the layer's value or a strategy for the activation, and where
/// everything is `sequential`, both stay. Likewise x + scale · (a · b), where b is a matrix of few rows and
/// nothing else reads the product, becomes one wide.add_matmul(x, a, b, scale).
Graph fuse(const Graph& graph, const StrategyChoice& choice);

}  // namespace wide
