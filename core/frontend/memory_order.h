#pragma once
// Operators whose results depend on the strides of an operand, which are ours to choose later: they are
// written so that they find the order in memory that PyTorch had.

#include <ATen/core/ivalue.h>

#include <functional>
#include <optional>
#include <span>
#include <string>

#include "core/ir/graph.h"
#include "formats/exported_program.h"

namespace wide {

/// Makes a value of `graph` whose name nothing else has.
using NewValue = std::function<ValueId(const std::string& name, std::optional<TensorType> type)>;
/// What the exporter knew of a value, or null.
using MetaOf = std::function<const formats::TensorMeta*(ValueId)>;

/// Adds `draw`, a node of draws_random() whose results have metas in `meta_of` as its operands have: which
/// element gets which of the numbers drawn goes by strides.
void add_draw(Graph& graph, Node draw, const MetaOf& meta_of, const NewValue& new_value);

/// The graph with its draws as add_draw() adds them, by the strides that tensors have in a run on `inputs`:
/// those that an exporter writes down are not always PyTorch's, after a roll or a batch norm for instance.
/// The inputs are written to where the graph does that.
Graph with_draws_in_turn(const Graph& graph, std::span<const c10::IValue> inputs);

/// as_strided, or as_strided_scatter.
bool is_strided(std::string_view op);

/// Adds `strided`, for which is_strided() holds: its strides count in the memory that PyTorch had for its
/// first operand. Of a view as_strided reads the tensor that it is a view of. Where the memory is not
/// contiguous, the node works on a copy that is contiguous in that order, if it `may_copy`: a write through a
/// view of a copy would be lost.
void add_strided(Graph& graph, Node strided, const MetaOf& meta_of, const NewValue& new_value, bool may_copy);

}  // namespace wide
