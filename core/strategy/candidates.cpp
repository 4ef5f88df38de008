#include "core/strategy/candidates.h"

#include <algorithm>
#include <iterator>
#include <limits>
#include <utility>

#include "core/eager/higher_order.h"
#include "core/eager/operators.h"
#include "core/strategy/activation.h"
#include "core/strategy/cost.h"
#include "core/strategy/sequential.h"
#include "formats/error.h"

namespace wide {
namespace {

// What sequential pays beyond moving bytes: each member's own arithmetic.
double own_arithmetic(const Primitive* primitive, const Call& call) {
  if (primitive && primitive->alone) return primitive->alone(call) * static_cast<double>(call.members);
  double cost = primitive && primitive->flops ? primitive->flops(call) * kNanosecondsPerFlop : 0;
  if (activation_in(call.node))  // a kernel of its own
    cost +=
        static_cast<double>(call.members) * kernel_cost(2.0 * static_cast<double>(call.results[0].bytes()));
  return cost;
}

Answer ask(const Strategy& strategy, const Call& call) {
  if (strategy.cpu_only && !call.device.is_cpu()) return refuse("it is made for the CPU only");
  return strategy.ask(call);
}

void consider(const Strategy& strategy, double beyond, NodeCandidates& node) {
  auto answer = ask(strategy, node.call);
  if (answer.offers.empty()) node.refusals.push_back({std::string(strategy.name), std::move(answer.refusal)});
  for (auto& offer : answer.offers) {
    offer.cost += beyond;
    node.candidates.push_back({&strategy, std::move(offer)});
  }
}

bool may_choose(const Strategy& strategy, const StrategyChoice& choice) {
  return !strategy.on_request && strategy.least_mode <= choice.mode;
}

void ask_strategy(const Graph& graph, const Node& node, const StrategyChoice& choice,
                  NodeCandidates& result) {
  const auto* primitive = result.call.by_member ? nullptr : find_primitive(node.op);
  const auto wanted = wanted_strategy(choice, graph, node, primitive);
  const bool any = wanted.name == kAuto || wanted.name == kWide;
  const bool named = !any && wanted.name != kSequential.name;
  const bool draws = draws_random(node);
  const auto consider_those = [&](const auto& is_meant) {
    if (!primitive) return;
    for (const auto& strategy : primitive->strategies) {
      if ((!draws || strategy.random) && is_meant(strategy)) consider(strategy, 0, result);
    }
  };
  if (named) consider_those([&](const Strategy& one) { return one.name == wanted.name; });
  const bool refused = named && result.candidates.empty();
  if (refused && wanted.must) {
    const auto reason = result.call.by_member
                            ? std::string("its sizes depend on data, or it runs graphs of its own")
                        : result.refusals.empty() ? std::string("there is no such strategy")
                                                  : result.refusals[0].reason;
    throw Error("plan", describe(graph, node) + ": strategy '" + wanted.name + "' cannot run it: " + reason);
  }
  if (any || refused) {
    consider_those(
        [&](const Strategy& one) { return may_choose(one, choice) && (any || one.name != wanted.name); });
  }
  if (result.candidates.empty() || refused || wanted.name == kAuto || wanted.name == kSequential.name)
    consider(kSequential, own_arithmetic(primitive, result.call), result);
}

// A strategy of a node whose packed weights are larger than plain ones.
struct Growth {
  double bytes;  ///< of a member
  std::size_t node;
  const Strategy* strategy;
};

std::vector<Growth> growths(const NodeCandidates& node, std::size_t index) {
  std::vector<Growth> all;
  for (const auto& [strategy, offer, measured] : node.candidates) {
    const bool is_known = !all.empty() && all.back().strategy == strategy;
    if (is_known || !strategy->packs || strategy->packed_size <= 1) continue;
    double bytes = 0;
    for (const auto i : strategy->packs(node.call)) {
      const auto& operand = node.call.operands[i];
      if (operand.fixed) bytes += (strategy->packed_size - 1) * static_cast<double>(operand.type.bytes());
    }
    all.push_back({bytes, index, strategy});
  }
  return all;
}

// Small weights first: of the same memory, more nodes have what they gain.
void keep_within(const Graph& graph, const StrategyChoice& choice, std::vector<NodeCandidates>& nodes) {
  std::vector<Growth> all;
  for (std::size_t i = 0; i < nodes.size(); ++i) {
    if (wanted_strategy(choice, graph, graph.nodes[i], find_primitive(graph.nodes[i].op)).must) continue;
    std::ranges::move(growths(nodes[i], i), std::back_inserter(all));
  }
  std::ranges::stable_sort(all, {}, &Growth::bytes);
  auto spare = static_cast<double>(choice.spare);
  std::vector<double> taken(nodes.size());
  for (const auto& [bytes, index, strategy] : all) {
    auto& node = nodes[index];
    if (bytes - taken[index] <= spare) {
      spare -= bytes - taken[index];
      taken[index] = bytes;
      continue;
    }
    const auto is_too_large = [&](const Candidate& one) { return one.strategy == strategy; };
    if (std::ranges::all_of(node.candidates, is_too_large)) continue;
    std::erase_if(node.candidates, is_too_large);
    node.refusals.push_back({std::string(strategy->name), "its packed weights would take too much memory"});
  }
}

// What gives nothing goes by what it reads; it is run in every pass.
void set_kind_of_check(const std::vector<ValueState>& states, NodeCandidates& node) {
  const bool mapped = std::any_of(node.operands.begin(), node.operands.end(),
                                  [&](ValueId id) { return states[static_cast<std::size_t>(id)].mapped; });
  node.kind = mapped ? NodeKind::kMapped : NodeKind::kShared;
}

}  // namespace

std::vector<ValueState> spread_states(const Graph& graph, const std::vector<ValueState>& inputs) {
  std::vector<ValueState> states(graph.values.size());
  const auto set = [&](ValueId id, bool mapped, bool constant) {
    states[static_cast<std::size_t>(id)] = {mapped, constant, mapped ? Layout::kFront : Layout::kShared};
  };
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    set(graph.inputs[i].value, inputs[i].mapped, inputs[i].constant);
  }
  for (const auto& node : graph.nodes) {
    const bool random = draws_random(node);
    bool mapped = random, constant = !random;
    for_each_use(node, [&](ValueId id) {
      mapped |= states[static_cast<std::size_t>(id)].mapped;
      constant &= states[static_cast<std::size_t>(id)].constant;
    });
    if (!random && depends_on_shape_only(node.op) && !depends_on_data(graph, node))
      mapped = false, constant = true;
    for (const auto id : node.results) {
      if (id >= 0) set(id, mapped, constant);
    }
  }
  return states;
}

Call make_call(const Graph& graph, const Node& node, const std::vector<ValueState>& states,
               std::int64_t members) {
  auto local = localize(node);
  Call call{std::move(local.node), members, {}, {}, graph.device};
  call.by_member = (is_higher_order(node) && node.op != kGroup) || depends_on_data(graph, node);
  for (const auto id : local.operands) {
    const auto index = static_cast<std::size_t>(id);
    call.operands.push_back({concrete(graph.values[index]),
                             states[index].mapped,
                             {},
                             !graph.values[index].tensor,
                             states[index].constant});
  }
  for (const auto id : node.results) {
    call.results.push_back(id >= 0 ? concrete(graph.values[static_cast<std::size_t>(id)]) : ConcreteType{});
  }
  return call;
}

std::vector<NodeCandidates> ask_strategies(const Graph& graph, const std::vector<ValueState>& states,
                                           std::int64_t members, const StrategyChoice& choice) {
  std::vector<NodeCandidates> all;
  for (const auto& node : graph.nodes) {
    NodeCandidates one;
    one.call = make_call(graph, node, states, members);
    one.operands = localize(node).operands;
    if (const auto* primitive = find_primitive(node.op)) one.primitive = primitive->name;
    const auto results_are = [&](bool ValueState::*property) {
      return [&states, property](ValueId id) {
        return id >= 0 && states[static_cast<std::size_t>(id)].*property;
      };
    };
    if (node.results.empty()) {
      set_kind_of_check(states, one);
      if (one.kind == NodeKind::kMapped) ask_strategy(graph, node, choice, one);
    } else if (std::any_of(node.results.begin(), node.results.end(), results_are(&ValueState::mapped))) {
      ask_strategy(graph, node, choice, one);
    } else {
      const auto constant = results_are(&ValueState::constant);
      const bool once = std::all_of(node.results.begin(), node.results.end(),
                                    [&](ValueId id) { return id < 0 || constant(id); });
      one.kind = once ? NodeKind::kConstant : NodeKind::kShared;
    }
    all.push_back(std::move(one));
  }
  if (choice.spare < std::numeric_limits<std::int64_t>::max()) keep_within(graph, choice, all);
  return all;
}

}  // namespace wide
