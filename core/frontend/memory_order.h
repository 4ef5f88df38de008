#pragma once
// Operators whose results depend on the strides of an operand, which are ours to choose later, are written so
// that they find the order in memory that PyTorch had: here draws, in strided.h as_strided.

#include <ATen/core/ivalue.h>

#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "core/ir/graph.h"
#include "formats/exported_program.h"

namespace wide {

/// Makes a value of `graph` whose name nothing else has.
using NewValue = std::function<ValueId(const std::string& name, std::optional<TensorType> type)>;
/// What the exporter knew of a value, or null.
using MetaOf = std::function<const formats::TensorMeta*(ValueId)>;

using Axes = std::vector<std::int64_t>;

struct MemoryOrder {
  Axes axes;            ///< from the one of the largest stride to that of the smallest
  bool turned = false;  ///< that is not their own order
  bool gaps = false;    ///< the elements do not lie side by side in that order either
  bool contiguous() const { return !turned && !gaps; }
};
/// By the strides that the exporter knew; contiguous where it knew none.
MemoryOrder memory_order(const formats::TensorMeta* meta);

/// The order that turns `order` back.
Axes inverse(const Axes& order);
/// Adds to = from.permute(axes).
void permute(Graph& graph, ValueId from, const Axes& axes, ValueId to, const std::string& module_path);

/// Adds `draw`, a node of draws_random() whose results have metas in `meta_of` as its operands have: which
/// element gets which of the numbers drawn goes by strides.
void add_draw(Graph& graph, Node draw, const MetaOf& meta_of, const NewValue& new_value);

/// The graph with its draws as add_draw() adds them, by the strides that tensors have in a run on `inputs`:
/// those that an exporter writes down are not always PyTorch's, after a roll or a batch norm for instance.
/// The inputs are written to where the graph does that.
Graph with_draws_in_turn(const Graph& graph, std::span<const c10::IValue> inputs);

}  // namespace wide
