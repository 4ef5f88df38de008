#pragma once
// What a captured graph gives that goes by the strides of its inputs, besides random draws (memory_order.h).

#include <ATen/core/ivalue.h>

#include <span>
#include <string_view>

#include "core/ir/graph.h"

namespace wide {

/// Whether its results are views of an operand or copies of it, as that lies in memory, or views that
/// compute.
bool is_no_plain_view(std::string_view op);

/// Whether the graph writes a tensor that may be, or have, a view or a copy, by how its inputs lie: reshape.
/// What is a buffer lies as it did.
bool writes_by_strides(const Graph& graph);

/// Runs `graph` on `inputs`, which are written to where it does that. Throws wide::Error ("run") where a
/// value of Graph::in_order is not contiguous.
void check_in_order(const Graph& graph, std::span<const c10::IValue> inputs);

}  // namespace wide
