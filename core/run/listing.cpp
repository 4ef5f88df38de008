#include "core/run/listing.h"

#include <algorithm>
#include <vector>

#include "core/run/program.h"

namespace wide {

std::string listing(const Graph& graph, const Plan& plan, std::size_t index) {
  const auto& node = graph.nodes[index];
  const auto& planned = plan.nodes[index];
  const auto* primitive = find_primitive(node.op);
  if (primitive == nullptr) return "";
  const auto found = std::ranges::find(primitive->strategies, planned.strategy, &Strategy::name);
  if (found == primitive->strategies.end() || !found->listing) return "";
  std::vector<std::string> names;
  const auto add = [&](ValueId id) {
    names.push_back(id < 0 ? "_" : "%" + graph.values[static_cast<std::size_t>(id)].name);
  };
  std::ranges::for_each(localize(node).operands, add);
  std::ranges::for_each(node.results, add);
  return found->listing(make_call(graph, node, plan.values, plan.members), planned.offer, names);
}

std::string listing(const Graph& graph, const Plan& plan) {
  std::string text;
  for (std::size_t i = 0; i < graph.nodes.size(); ++i) {
    if (const auto one = listing(graph, plan, i); !one.empty()) text.append("\n").append(one);
  }
  return text;
}

}  // namespace wide
