#pragma once
// as_strided, whose strides count in the memory that PyTorch had.

#include <cstddef>
#include <functional>
#include <optional>
#include <string>
#include <string_view>

#include "core/frontend/memory_order.h"

namespace wide {

/// as_strided, or as_strided_scatter.
bool is_strided(std::string_view op);

/// Adds `strided`, for which is_strided() holds: its strides count in the memory that PyTorch had for its
/// first operand. Of a view as_strided reads the tensor that it is a view of. Where the memory is not in the
/// order of its axes, the node works on a copy that is. A user input whose memory is read so says it
/// (GraphInput::in_memory). Returns why it cannot, and adds nothing, where memory around the operand is read,
/// or where a copy is needed and not `may_copy()`: what is written through a view of a copy is lost.
std::optional<std::string> add_strided(Graph& graph, Node strided, const MetaOf& meta_of,
                                       const NewValue& new_value, const std::function<bool()>& may_copy);

/// Whether a node behind number `place` of `scope` may write into the memory of its tensor `name`.
bool may_be_written_after(const formats::Subgraph& scope, std::size_t place, const std::string& name);

}  // namespace wide
