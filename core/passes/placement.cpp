#include "core/passes/placement.h"

#include "core/eager/operators.h"

namespace wide {

Graph placed_on(Graph graph, at::Device device) {
  if (device.is_cpu() && graph.device.is_cpu()) return graph;
  graph.device = device;
  for (auto& node : graph.nodes) {
    for (auto& body : node.bodies) body = std::make_shared<const Graph>(placed_on(*body, device));
    const auto op = find_operator(node.op);
    const auto index = op ? argument_index(op->schema(), "device") : std::nullopt;
    if (index && *index < node.arguments.size()) node.arguments[*index] = {device};
  }
  return graph;
}

}  // namespace wide
