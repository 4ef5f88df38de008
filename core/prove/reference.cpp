#include "core/prove/reference.h"

#include <ATen/ATen.h>

#include <algorithm>

#include "core/aten/device.h"
#include "core/eager/interpreter.h"
#include "core/eager/operators.h"
#include "formats/error.h"

namespace wide {
namespace {

at::ScalarType widened(at::ScalarType dtype) {
  if (at::isFloatingType(dtype)) return at::kDouble;
  if (at::isComplexType(dtype)) return at::kComplexDouble;
  return dtype;
}

void widen_dtypes(Argument& argument) {
  if (auto* dtype = std::get_if<at::ScalarType>(&argument.value)) *dtype = widened(*dtype);
  if (auto* list = std::get_if<Argument::List>(&argument.value)) {
    for (auto& item : *list) widen_dtypes(item);
  }
}

// Every dtype named in the graph is widened; creation operators that name none are told float64.
Graph in_double(Graph graph) {
  for (auto& node : graph.nodes) {
    for (auto& body : node.bodies) body = std::make_shared<const Graph>(in_double(*body));
    if (node.op == "aten._assert_tensor_metadata.default") continue;
    for (auto& argument : node.arguments) widen_dtypes(argument);
    const auto op = find_operator(node.op);
    if (!op || node.results.empty() || node.results[0] < 0) continue;
    const auto& type = graph.values[static_cast<std::size_t>(node.results[0])].type;
    bool takes_tensor = false;
    for_each_use(node, [&](ValueId) { takes_tensor = true; });
    const auto index = argument_index(op->schema(), "dtype");
    if (type && !takes_tensor && index && node.arguments[*index].is_none())
      node.arguments[*index] = {widened(type->dtype)};
  }
  std::erase_if(graph.nodes,
                [](const Node& node) { return node.op == "aten._assert_tensor_metadata.default"; });
  return graph;
}

}  // namespace

std::optional<std::vector<at::Tensor>> run_double(WideModel& model, std::int64_t i,
                                                  std::span<const ModelInput> inputs) {
  const c10::InferenceMode guard;
  const auto graph = in_double(model.build(inputs).specialized);
  const KeptGenerator kept(graph.device);
  auto values = model.member_values(i, inputs, graph);
  for (auto& value : values) value = value.toTensor().to(widened(value.toTensor().scalar_type()));
  try {
    std::vector<at::Tensor> outputs;
    const auto results = Interpreter(graph).run(values);
    for (std::size_t k = 0; k < results.size(); ++k) {
      if (graph.outputs[k].kind != OutputKind::kUser) continue;
      outputs.push_back(results[k].isTensor() ? results[k].toTensor() : at::Tensor());
    }
    return outputs;
  } catch (const Error&) {
    return std::nullopt;
  }
}

std::vector<bool> drawn_outputs(const Graph& graph) {
  std::vector<bool> drawn(graph.values.size(), false);
  const auto is_drawn = [&](ValueId id) { return drawn[static_cast<std::size_t>(id)]; };
  for (const auto& node : graph.nodes) {
    bool any = draws_random(node);
    for_each_use(node, [&](ValueId id) { any |= is_drawn(id); });
    for (const auto id : node.results) {
      if (id >= 0) drawn[static_cast<std::size_t>(id)] = any;
    }
  }
  std::vector<bool> outputs;
  for (const auto& output : graph.outputs) {
    if (output.kind != OutputKind::kUser) continue;
    bool any = false;
    for_each_use(output.value, [&](ValueId id) { any |= is_drawn(id); });
    outputs.push_back(any);
  }
  return outputs;
}

}  // namespace wide
