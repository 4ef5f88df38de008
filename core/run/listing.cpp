#include "core/run/listing.h"

#include <algorithm>
#include <vector>

#include "core/run/program.h"

namespace wide {

namespace {

// Of the primitive's; null where the node runs by none of them.
const Strategy* strategy_of(const Graph& graph, const Plan& plan, std::size_t node) {
  const auto* primitive = find_primitive(graph.nodes[node].op);
  if (primitive == nullptr) return nullptr;
  const auto found = std::ranges::find(primitive->strategies, plan.nodes[node].strategy, &Strategy::name);
  return found == primitive->strategies.end() ? nullptr : &*found;
}

}  // namespace

std::string listing(const Graph& graph, const Plan& plan, std::size_t index) {
  const auto& node = graph.nodes[index];
  const auto& planned = plan.nodes[index];
  const auto* found = strategy_of(graph, plan, index);
  if (found == nullptr || !found->listing) return "";
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

std::vector<native::Source> sources(const Graph& graph, const Plan& plan) {
  std::vector<native::Source> all;
  for (std::size_t i = 0; i < graph.nodes.size(); ++i) {
    const auto* strategy = strategy_of(graph, plan, i);
    if (strategy == nullptr || !strategy->source) continue;
    all.push_back(
        strategy->source(make_call(graph, graph.nodes[i], plan.values, plan.members), plan.nodes[i].offer));
  }
  return all;
}

}  // namespace wide
