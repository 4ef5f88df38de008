#pragma once
// Operators whose results depend on the strides of an operand, which are ours to choose later: they are
// written so that they find the order in memory that PyTorch had.

#include <functional>
#include <optional>
#include <string>
#include <string_view>

#include "core/ir/graph.h"
#include "formats/exported_program.h"

namespace wide {

/// Makes a value of `graph` whose name nothing else has.
using NewValue = std::function<ValueId(const std::string& name, std::optional<TensorType> type)>;

/// rand_like and its kin, and dropouts on processors where ATen draws them so: which element gets which of
/// the numbers drawn goes by the operand's strides.
bool is_random_like(std::string_view op);

/// Adds `random`, an operator of is_random_like(): the numbers are drawn into a contiguous tensor, of axes in
/// the order that they have in PyTorch's memory. `result` is what the exporter knew of its result, or null.
void add_random_like(Graph& graph, Node random, const formats::TensorMeta* result, const NewValue& new_value);

/// The strides of `strided`, an as_strided, count in the memory that PyTorch had for its operand, `operand`
/// (or null): where that is not contiguous, it becomes a view of a copy that is contiguous in that order.
void put_in_memory_order(Graph& graph, Node& strided, const formats::TensorMeta* operand,
                         const NewValue& new_value);

}  // namespace wide
