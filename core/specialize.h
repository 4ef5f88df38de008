#pragma once
// specialize: one member is run once, and every size, number and alias of the graph becomes concrete.

#include <ATen/core/ivalue.h>

#include <optional>
#include <span>
#include <vector>

#include "core/graph.h"

namespace wide {

/// Which value a result shares memory with, as seen in the run: result -> operand. Needed to follow in-place
/// writes.
struct Specialized {
  Graph graph;                                   ///< no symbolic sizes and no symbolic scalars left
  std::vector<std::optional<ValueId>> alias_of;  ///< by value id of `graph`
};

/// `inputs` of one member in the order of Graph::inputs; in-place operators write into them.
/// Throws wide::Error ("specialize") when a size or number depends on the data in a tensor: another member
/// could then need another graph.
Specialized specialize(const Graph& graph, std::span<const c10::IValue> inputs);

/// Throws wide::Error ("run") when a user input's dtype or shape is not what the graph wants; `who` opens the
/// message.
void check_input(const Graph& graph, const GraphInput& input, const at::Tensor& tensor,
                 const std::string& who);

}  // namespace wide
