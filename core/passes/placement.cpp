#include "core/passes/placement.h"

#include <numeric>

#include "core/eager/operators.h"

namespace wide {
namespace {

// Note [Views on another device]
// An operator of another device may give its result other strides: attention on a GPU does. What was exported
// as a view of it has none there, and PyTorch refuses such a program. Where nobody writes to the memory that
// a view shares, a reshape gives the same numbers, copied where they must be.
void reshape_for_views(Graph& graph) {
  std::vector<std::size_t> group(graph.values.size());  // of values that may share memory
  std::iota(group.begin(), group.end(), 0);
  const auto find = [&](ValueId id) {
    auto at = static_cast<std::size_t>(id);
    while (group[at] != at) at = group[at] = group[group[at]];
    return at;
  };
  std::vector<bool> written(graph.values.size(), false);
  for (const auto& node : graph.nodes) {
    const auto op = find_operator(node.op);
    const bool shares = !op || std::ranges::any_of(op->schema().returns(), [](const c10::Argument& result) {
      return result.alias_info() != nullptr;
    });
    if (!shares) continue;
    for_each_use(node, [&](ValueId operand) {
      for (const auto result : node.results)
        if (result >= 0) group[find(operand)] = find(result);
    });
  }
  for (const auto& node : graph.nodes) {
    for (const auto place : written_arguments(node)) {
      for_each_use(node.arguments[place], [&](ValueId id) { written[find(id)] = true; });
    }
  }
  for (auto& node : graph.nodes) {
    if (node.op != "aten.view.default" || node.results[0] < 0) continue;  // nobody uses it
    if (!written[find(node.results[0])]) node.op = "aten.reshape.default";
  }
}

}  // namespace

Graph placed_on(Graph graph, at::Device device) {
  if (device.is_cpu() && graph.device.is_cpu()) return graph;
  graph.device = device;
  reshape_for_views(graph);
  for (auto& node : graph.nodes) {
    for (auto& body : node.bodies) body = std::make_shared<const Graph>(placed_on(*body, device));
    const auto op = find_operator(node.op);
    const auto index = op ? argument_index(op->schema(), "device") : std::nullopt;
    if (index && *index < node.arguments.size()) node.arguments[*index] = {device};
  }
  return graph;
}

}  // namespace wide
