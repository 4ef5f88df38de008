#include "core/frontend/by_strides.h"

#include <algorithm>
#include <array>
#include <set>

#include "core/eager/higher_order.h"
#include "core/eager/interpreter.h"
#include "core/eager/operators.h"
#include "core/ir/scalar_ops.h"
#include "formats/error.h"

namespace wide {

bool is_no_plain_view(std::string_view op) {
  static constexpr std::array<std::string_view, 13> kOps = {
      "aten.conj.",     "aten._conj",    "aten._neg_view",   "aten.adjoint.", "aten.mH.",
      "aten.matrix_H.", "aten.reshape",  "aten.contiguous.", "aten.flatten.", "aten.ravel.",
      "aten.to.",       "aten.type_as.", "aten.resolve_"};
  return std::any_of(kOps.begin(), kOps.end(), [&](std::string_view one) { return op.starts_with(one); });
}

namespace {

bool is_operator(const Node& node) {
  return !is_scalar_op(node.op) && !is_higher_order(node);
}

// The operand in whose memory the results of `node` may be, or null.
const ValueRef* memory_of(const Node& node) {
  if (!is_operator(node) || node.arguments.empty()) return nullptr;
  const auto op = find_operator(node.op);
  const bool view = is_no_plain_view(node.op) ||
                    (op && std::ranges::any_of(op->schema().returns(),
                                               [](const auto& one) { return one.alias_info() != nullptr; }));
  return view ? node.arguments[0].ref() : nullptr;
}

}  // namespace

bool writes_by_strides(const Graph& graph) {
  const Connections connections(graph);
  const auto owner = [&](ValueId id) {
    while (const auto* maker = connections.maker[static_cast<std::size_t>(id)]) {
      const auto* from = memory_of(*maker);
      if (!from) break;
      id = from->id;
    }
    return id;
  };
  std::set<ValueId> written;
  for (const auto& node : graph.nodes) {
    if (!is_operator(node)) continue;
    for (const auto index : written_arguments(node))
      for_each_use(node.arguments[index], [&](ValueId id) { written.insert(owner(id)); });
  }
  for (const auto& input : graph.inputs)
    if (input.kind != InputKind::kUser) written.erase(input.value);
  return std::ranges::any_of(graph.nodes, [&](const Node& node) {
    // A view may be one that the module, asked again, would not take of what lies otherwise.
    return (is_no_plain_view(node.op) || node.op == "aten.view.default") && !node.arguments.empty() &&
           node.arguments[0].ref() && written.contains(owner(node.arguments[0].ref()->id));
  });
}

void check_in_order(const Graph& graph, std::span<const c10::IValue> inputs) {
  Interpreter(graph).run(inputs, [&](const Node& node, auto, auto results) {
    for (std::size_t i = 0; i < node.results.size(); ++i) {
      if (std::ranges::find(graph.in_order, node.results[i]) == graph.in_order.end()) continue;
      if (!results[i].isTensor() || !results[i].toTensor().defined() || results[i].toTensor().is_contiguous())
        continue;
      throw Error("run",
                  "'" + graph.values[static_cast<std::size_t>(node.results[i])].name +
                      "' lies in memory otherwise than at the export, as the inputs do, and as_strided reads "
                      "it as memory; give inputs with the example's strides, such as .contiguous()");
    }
  });
}

}  // namespace wide
