#pragma once
// What an operator gives, by types alone.

#include <optional>
#include <vector>

#include "core/ir/graph.h"

namespace wide {

/// Dtypes and shapes of the results of `node`, whose operands are values of `graph` with concrete types, one
/// per result that is a tensor; found by running it on tensors without data, or on zeros. Nothing where
/// neither works.
std::optional<std::vector<std::optional<ConcreteType>>> infer_results(const Graph& graph, const Node& node);

}  // namespace wide
