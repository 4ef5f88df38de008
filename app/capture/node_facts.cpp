#include "app/capture/node_facts.h"

#include <algorithm>
#include <array>
#include <map>
#include <string_view>

#include "core/eager/operators.h"
#include "core/plan/plan.h"
#include "core/strategy/candidates.h"
#include "core/strategy/primitive.h"

namespace wide::app {
namespace {

// Its results share memory with an operand: nothing is read or written.
bool is_view(const Node& node) {
  constexpr std::array<std::string_view, 2> kUsuallyViews = {"aten.reshape.default",
                                                             "aten.flatten.using_ints"};
  if (std::find(kUsuallyViews.begin(), kUsuallyViews.end(), node.op) != kUsuallyViews.end()) return true;
  const auto op = find_operator(node.op);
  if (!op || op->schema().returns().empty()) return false;
  const auto* alias = op->schema().returns()[0].alias_info();
  return alias && !alias->isWrite();
}

profiler::TraceNode named(const Graph& graph, const Node& node) {
  profiler::TraceNode known;
  known.name = describe(graph, node), known.op = node.op;
  return known;
}

// Operations and bytes of all members together; `times` is how often the call is made for that.
void count(const Build& build, const Node& node, const Call& call, double times, profiler::TraceNode& known) {
  const auto copies = [&](bool mapped) { return (mapped ? static_cast<double>(call.members) : 1.0) * times; };
  double elements = 0;
  const bool any_mapped = std::any_of(call.operands.begin(), call.operands.end(),
                                      [](const Operand& operand) { return operand.mapped; });
  for (const auto& result : call.results) {
    known.activation_bytes += static_cast<double>(result.bytes()) * copies(any_mapped);
    elements += static_cast<double>(result.elements()) * copies(any_mapped);
  }
  const auto local = localize(node);
  for (std::size_t k = 0; k < call.operands.size(); ++k) {
    const auto& operand = call.operands[k];
    const bool constant = build.plan().values[static_cast<std::size_t>(local.operands[k])].constant;
    (constant ? known.weight_bytes : known.activation_bytes) +=
        static_cast<double>(operand.type.bytes()) * copies(operand.mapped);
  }
  const auto* primitive = find_primitive(node.op);
  known.flops = primitive && primitive->flops ? primitive->flops(call) * times : elements;
}

// Everything it reads is constant, so the program holds its results already.
bool done_at_build(const Build& build, std::size_t i) {
  const auto& plan = build.plan();
  if (plan.nodes[i].strategy == kConstantStrategy) return true;
  const auto& results = build.optimized.nodes[i].results;
  return std::any_of(results.begin(), results.end(), [&](ValueId id) {
    return id >= 0 && plan.values[static_cast<std::size_t>(id)].constant;
  });
}

}  // namespace

std::vector<profiler::TraceNode> wide_nodes(const Build& build, std::int64_t members) {
  std::vector<profiler::TraceNode> nodes;
  const auto& graph = build.optimized;
  for (std::size_t i = 0; i < graph.nodes.size(); ++i) {
    const auto& node = graph.nodes[i];
    auto known = named(graph, node);
    known.strategy = build.plan().nodes[i].strategy;
    known.at_build = done_at_build(build, i);
    const bool alone = known.strategy == kAloneStrategy;
    const bool once = alone || known.strategy == kSharedStrategy;
    if (!known.at_build && !is_view(node)) {
      const auto call = make_call(graph, node, build.plan().values, once ? 1 : members);
      count(build, node, call, alone ? static_cast<double>(members) : 1.0, known);
    }
    nodes.push_back(std::move(known));
  }
  return nodes;
}

std::vector<profiler::NodeOffer> node_offers(const Build& build) {
  constexpr double kNanoseconds = 1e3;
  std::vector<profiler::NodeOffer> offers;
  const auto& graph = build.optimized;
  for (std::size_t i = 0; i < graph.nodes.size(); ++i) {
    if (done_at_build(build, i)) continue;
    const auto& plan = build.plan().nodes[i];
    profiler::NodeOffer offer{.node = describe(graph, graph.nodes[i]), .module = graph.nodes[i].module_path};
    offer.chosen = {plan.strategy, plan.offer.cost / kNanoseconds, plan.measured};
    for (const auto& other : plan.alternatives) {
      const auto known = std::find_if(offer.others.begin(), offer.others.end(),
                                      [&](const auto& one) { return one.strategy == other.strategy; });
      const profiler::OtherStrategy one{other.strategy, other.cost / kNanoseconds, other.measured};
      if (known == offer.others.end()) {
        offer.others.push_back(one);
      } else if (one.us < known->us) {
        *known = one;
      }
    }
    offers.push_back(std::move(offer));
  }
  return offers;
}

std::vector<profiler::TraceNode> separate_nodes(const Build& build) {
  std::vector<profiler::TraceNode> nodes;
  std::map<std::string_view, const Node*> made_by;  // wide's nodes by the names of their results
  for (const auto& node : build.optimized.nodes) {
    for (const auto id : node.results) {
      if (id >= 0) made_by.emplace(build.optimized.values[static_cast<std::size_t>(id)].name, &node);
    }
  }
  const auto& graph = build.canonical;
  std::vector<const Node*> reader(
      graph.values.size());  // of each value, the node of wide that its reader is in
  for (auto node = graph.nodes.rbegin(); node != graph.nodes.rend(); ++node) {
    const Node* wide = nullptr;
    for (const auto id : node->results) {
      if (id < 0 || wide) continue;
      const auto found = made_by.find(graph.values[static_cast<std::size_t>(id)].name);
      wide = found != made_by.end() ? found->second : reader[static_cast<std::size_t>(id)];
    }
    for_each_use(*node, [&](ValueId id) {
      if (wide) reader[static_cast<std::size_t>(id)] = wide;
    });
    auto known = named(graph, *node);
    if (wide) known.within = describe(build.optimized, *wide);
    if (known.within == known.name) known.within.clear();
    nodes.push_back(std::move(known));
  }
  std::reverse(nodes.begin(), nodes.end());
  return nodes;
}

}  // namespace wide::app
