#include "core/plan.h"

#include <algorithm>
#include <limits>
#include <optional>

#include "core/cost.h"
#include "core/operators.h"
#include "core/sequential.h"
#include "core/text.h"
#include "formats/error.h"

namespace wide {
namespace {

double conversion_cost(Layout from, Layout to, const ConcreteType& type, std::int64_t members,
                       bool constant) {
  if (constant || from == to) return 0;
  if (is_free(from, to, type, members)) return 300;  // a view
  return kernel_cost(2.0 * static_cast<double>(type.bytes() * members));
}

// "aten.conv2d.default" -> "conv2d"
std::string operator_kind(std::string_view op) {
  const auto first = op.find('.'), last = op.rfind('.');
  if (first == std::string_view::npos || last <= first) return std::string(op);
  return std::string(op.substr(first + 1, last - first - 1));
}

bool has_strategy(const Primitive& primitive, std::string_view name) {
  return name == "auto" || name == kSequential.name ||
         std::any_of(primitive.strategies.begin(), primitive.strategies.end(),
                     [&](const Strategy& strategy) { return strategy.name == name; });
}

std::string strategy_names(const Primitive& primitive) {
  std::string names = "auto";
  for (const auto& strategy : primitive.strategies) names.append(", ").append(strategy.name);
  return names.append(", ").append(kSequential.name);
}

class Planner {
 public:
  Planner(const Graph& graph, const std::vector<ValueState>& inputs, std::int64_t members,
          const StrategyChoice& choice)
      : graph_(graph), members_(members), choice_(choice) {
    plan_.values = spread_states(graph, inputs);
  }

  Plan run() {
    for (const auto& node : graph_.nodes) plan_.nodes.push_back(choose(node));
    return std::move(plan_);
  }

 private:
  ValueState& state(ValueId id) { return plan_.values[static_cast<std::size_t>(id)]; }
  ConcreteType type(ValueId id) const { return concrete(graph_.values[static_cast<std::size_t>(id)]); }

  NodePlan choose(const Node& node) {
    const auto local = localize(node);
    const bool mapped = std::any_of(node.results.begin(), node.results.end(),
                                    [&](ValueId id) { return id >= 0 && state(id).mapped; });
    NodePlan chosen;
    const auto* primitive = find_primitive(node.op);
    if (primitive) chosen.primitive = primitive->name;
    if (!mapped) {
      const bool constant = std::all_of(node.results.begin(), node.results.end(),
                                        [&](ValueId id) { return id < 0 || state(id).constant; });
      chosen.strategy = constant ? "constant" : "shared";
      chosen.offer.operands.assign(local.operands.size(), Layout::kShared);
      chosen.offer.results.assign(node.results.size(), Layout::kShared);
      return chosen;
    }
    const auto call = make_call(graph_, node, plan_.values, members_);
    pick(node, local.operands, call, primitive, chosen);
    settle(node, local.operands, chosen.offer);
    return chosen;
  }

  // The cheapest of all offers, the cost of reaching its layouts included.
  void pick(const Node& node, const std::vector<ValueId>& operands, const Call& call,
            const Primitive* primitive, NodePlan& chosen) {
    const auto wanted = wanted_strategy(node, primitive);
    double best = std::numeric_limits<double>::infinity();
    const auto consider = [&](const Strategy& strategy, double arithmetic = 0) {
      auto answer = strategy.ask(call);
      if (answer.offers.empty())
        chosen.refusals.push_back({std::string(strategy.name), std::move(answer.refusal)});
      for (auto& candidate : answer.offers) {
        double cost = candidate.cost + arithmetic;
        for (std::size_t i = 0; i < operands.size(); ++i) {
          const auto& from = state(operands[i]);
          cost +=
              conversion_cost(from.layout, candidate.operands[i], type(operands[i]), members_, from.constant);
        }
        if (cost >= best) continue;
        best = cost;
        chosen.strategy = strategy.name;
        chosen.offer = std::move(candidate);
      }
    };
    if (primitive && wanted != kSequential.name && !draws_random(node)) {
      for (const auto& strategy : primitive->strategies) {
        if (wanted.empty() || strategy.name == wanted) consider(strategy);
      }
    }
    if (chosen.strategy.empty() && !wanted.empty() && wanted != kSequential.name &&
        named_choice(node, primitive)) {
      const auto reason =
          chosen.refusals.empty() ? std::string("there is no such strategy") : chosen.refusals[0].reason;
      throw Error("plan", describe(graph_, node) + ": strategy '" + wanted + "' cannot run it: " + reason);
    }
    if (!chosen.strategy.empty() && !wanted.empty()) return;
    double beyond = 0;
    if (primitive && primitive->alone) {
      beyond = primitive->alone(call) * static_cast<double>(members_);
    } else if (primitive && primitive->flops) {
      beyond = primitive->flops(call) * kNanosecondsPerFlop;
    }
    consider(kSequential, beyond);
  }

  // What the user wrote for this operator or its primitive, or null.
  const std::string* named_choice(const Node& node, const Primitive* primitive) const {
    for (const auto& key :
         {operator_kind(node.op), primitive ? std::string(primitive->name) : std::string()}) {
      if (const auto named = choice_.by_primitive.find(key); named != choice_.by_primitive.end())
        return &named->second;
    }
    return nullptr;
  }
  // "" means free choice.
  std::string wanted_strategy(const Node& node, const Primitive* primitive) const {
    if (!primitive) return {};
    if (const auto* named = named_choice(node, primitive)) return *named == "auto" ? std::string() : *named;
    if (choice_.all == "auto") return {};
    if (choice_.all == kSequential.name) return choice_.all;
    const bool has = std::any_of(primitive->strategies.begin(), primitive->strategies.end(),
                                 [&](const Strategy& strategy) { return strategy.name == choice_.all; });
    return has ? choice_.all : std::string();
  }
  void settle(const Node& node, const std::vector<ValueId>& operands, const Offer& chosen) {
    for (std::size_t i = 0; i < operands.size(); ++i) {
      const auto& from = state(operands[i]);
      if (from.constant || from.layout == chosen.operands[i]) continue;
      const bool known = std::any_of(
          plan_.conversions.begin(), plan_.conversions.end(),
          [&](const Conversion& seen) { return seen.value == operands[i] && seen.to == chosen.operands[i]; });
      if (known) continue;
      plan_.conversions.push_back({operands[i], from.layout, chosen.operands[i],
                                   !is_free(from.layout, chosen.operands[i], type(operands[i]), members_)});
    }
    for (std::size_t i = 0; i < node.results.size(); ++i) {
      if (node.results[i] >= 0) state(node.results[i]).layout = chosen.results[i];
    }
  }

  const Graph& graph_;
  std::int64_t members_;
  const StrategyChoice& choice_;
  Plan plan_;
};

}  // namespace

void check_choice(const StrategyChoice& choice) {
  const auto& all = primitives();
  if (std::none_of(all.begin(), all.end(),
                   [&](const Primitive& one) { return has_strategy(one, choice.all); })) {
    throw Error("plan", "no primitive has a strategy '" + choice.all + "'; `widebench info` lists them");
  }
  for (const auto& [kind, strategy] : choice.by_primitive) {
    const auto owner = std::find_if(all.begin(), all.end(), [&](const Primitive& one) {
      return one.name == kind || std::any_of(one.ops.begin(), one.ops.end(),
                                             [&](std::string_view op) { return operator_kind(op) == kind; });
    });
    if (owner == all.end())
      throw Error("plan", "there is no primitive '" + kind + "'; `widebench info` lists them");
    if (!has_strategy(*owner, strategy)) {
      throw Error("plan",
                  "'" + kind + "' has no strategy '" + strategy + "'; it has " + strategy_names(*owner));
    }
  }
}

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
    if (!random && depends_on_shape_only(node.op)) mapped = false, constant = true;
    for (const auto id : node.results) {
      if (id >= 0) set(id, mapped, constant);
    }
  }
  return states;
}

std::int64_t Plan::sequential() const {
  return std::count_if(nodes.begin(), nodes.end(),
                       [](const NodePlan& node) { return node.strategy == kSequential.name; });
}

std::int64_t Plan::copying_conversions() const {
  return std::count_if(conversions.begin(), conversions.end(),
                       [](const Conversion& one) { return one.copies; });
}

Call make_call(const Graph& graph, const Node& node, const std::vector<ValueState>& states,
               std::int64_t members) {
  auto local = localize(node);
  Call call{std::move(local.node), members, {}, {}};
  for (const auto id : local.operands) {
    const auto index = static_cast<std::size_t>(id);
    call.operands.push_back({concrete(graph.values[index]), states[index].mapped, {}});
  }
  for (const auto id : node.results) {
    call.results.push_back(id >= 0 ? concrete(graph.values[static_cast<std::size_t>(id)]) : ConcreteType{});
  }
  return call;
}

Plan make_plan(const Graph& graph, const std::vector<ValueState>& inputs, std::int64_t members,
               const StrategyChoice& choice) {
  return Planner(graph, inputs, members, choice).run();
}

std::string print(const Graph& graph, const Plan& plan) {
  std::string text = "graph \"" + graph.name + "\"\n";
  for (std::size_t i = 0; i < graph.nodes.size(); ++i) {
    const auto& node = plan.nodes[i];
    text += print(graph, graph.nodes[i]) + "\n    # " + node.strategy;
    if (!node.primitive.empty()) text += " of " + node.primitive;
    const auto local = localize(graph.nodes[i]);
    for (std::size_t k = 0; k < local.operands.size(); ++k) {
      const auto& value = plan.values[static_cast<std::size_t>(local.operands[k])];
      text += std::string(k ? ", " : "; ") + std::string(name(value.layout));
      if (value.layout != node.offer.operands[k]) text += "->" + std::string(name(node.offer.operands[k]));
    }
    for (std::size_t k = 0; k < node.offer.results.size(); ++k) {
      text += std::string(k ? ", " : " => ") + std::string(name(node.offer.results[k]));
    }
    text += "\n";
  }
  return text;
}

}  // namespace wide
