#pragma once
// specialize: one member is run once, and every size, number and alias of the graph becomes concrete that no
// other member or pass can have otherwise.

#include <ATen/core/ivalue.h>

#include <optional>
#include <span>
#include <unordered_set>
#include <vector>

#include "core/ir/graph.h"

namespace wide {

/// Which value a result shares memory with, as seen in the run: result -> operand. Needed to follow in-place
/// writes.
struct Specialized {
  /// No symbolic sizes are left. Values whose size depends on data say so (TensorType::varies), numbers that
  /// do are values, typed as tensors of no axes.
  Graph graph;
  std::vector<std::optional<ValueId>> alias_of;  ///< by value id of `graph`
  /// Results that are not another view of the operand but that tensor itself, as of a cast to its own dtype
  /// or a dropout that drops nothing: a new shape in place is both's.
  std::unordered_set<ValueId> same_tensor;
};

/// `inputs` of one member in the order of Graph::inputs; in-place operators may write into them. Control flow
/// that no member can decide otherwise, or that can be written out, is (see control_flow.h). Sizes are
/// checked first, by check_guards().
Specialized specialize(const Graph& graph, std::span<const c10::IValue> inputs);

/// Throws wide::Error ("run") when the sizes of `inputs` break a condition under which the model was
/// exported.
void check_guards(const Graph& graph, std::span<const c10::IValue> inputs);

/// Throws wide::Error ("run") when a user input's dtype or shape is not what the graph wants; `who` opens the
/// message.
void check_input(const Graph& graph, const GraphInput& input, const at::Tensor& tensor,
                 const std::string& who);

}  // namespace wide
