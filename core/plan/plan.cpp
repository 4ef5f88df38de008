#include "core/plan/plan.h"

#include <algorithm>
#include <map>

#include "core/ir/text.h"
#include "core/strategy/sequential.h"
#include "core/strategy/strategy_text.h"
#include "formats/error.h"

namespace wide {
namespace {

constexpr std::string_view kPlanStage = "plan";
// Of the cost of a pass: a node that takes less decides nothing, a plan that costs more does not come near.
constexpr double kMuchOfPass = 0.2, kNearInCost = 1.3;

NodePlan fixed(const NodeCandidates& node, std::string_view strategy) {
  NodePlan plan;
  plan.primitive = node.primitive;
  plan.strategy = strategy;
  plan.offer.operands.assign(node.call.operands.size(), Layout::kShared);
  plan.offer.results.assign(node.call.results.size(), Layout::kShared);
  return plan;
}

NodePlan chosen(const NodeCandidates& node, std::size_t index) {
  if (node.kind == NodeKind::kConstant) return fixed(node, kConstantStrategy);
  if (node.kind == NodeKind::kShared) return fixed(node, kSharedStrategy);
  const auto& candidate = node.candidates[index];
  NodePlan plan{
      node.primitive, std::string(candidate.strategy->name), candidate.offer, candidate.measured, {},
      node.refusals};
  for (std::size_t i = 0; i < node.candidates.size(); ++i) {
    const auto& other = node.candidates[i];
    if (i == index) continue;
    plan.alternatives.push_back({std::string(other.strategy->name), other.offer.operands, other.offer.results,
                                 other.offer.cost, other.measured});
  }
  return plan;
}

Plan assemble(const std::vector<ValueState>& states, const std::vector<NodeCandidates>& nodes,
              std::int64_t members, const LayoutChoice& choice) {
  Plan plan{members, {}, states, choice.conversions, choice.cost, choice.exact};
  for (std::size_t i = 0; i < nodes.size(); ++i) plan.nodes.push_back(chosen(nodes[i], choice.candidates[i]));
  for (std::size_t id = 0; id < states.size(); ++id) plan.values[id].layout = choice.layouts[id];
  return plan;
}

// Adds to the best choice those near it that take another candidate for one node, the cheapest first.
void add_near(const Graph& graph, const std::vector<ValueState>& states,
              const std::vector<NodeCandidates>& nodes, const ConversionCost& conversion,
              std::vector<LayoutChoice>& choices) {
  const auto best = choices.front();
  for (std::size_t i = 0; i < nodes.size(); ++i) {
    const auto& all = nodes[i].candidates;
    const auto own = best.candidates[i];
    if (nodes[i].kind != NodeKind::kMapped || all[own].offer.cost < kMuchOfPass * best.cost) continue;
    for (std::size_t other = 0; other < all.size(); ++other) {
      if (other == own) continue;
      auto candidates = best.candidates;
      candidates[i] = other;
      auto choice = follow(graph, states, nodes, conversion, std::move(candidates));
      if (choice.cost < kNearInCost * best.cost) choices.push_back(std::move(choice));
    }
  }
  std::sort(choices.begin() + 1, choices.end(),
            [](const LayoutChoice& a, const LayoutChoice& b) { return a.cost < b.cost; });
}

std::string layouts_text(const std::vector<Layout>& layouts) {
  std::string text;
  for (const auto layout : layouts) text.append(text.empty() ? "" : ", ").append(name(layout));
  return text;
}

std::string first_result(const Graph& graph, const Node& node) {
  for (const auto id : node.results) {
    if (id >= 0) return graph.values[static_cast<std::size_t>(id)].name;
  }
  return {};
}

std::string time_text(double nanoseconds) {
  char text[32];
  std::snprintf(text, sizeof text, nanoseconds < 1e6 ? "%.1f us" : "%.2f ms",
                nanoseconds < 1e6 ? nanoseconds / 1e3 : nanoseconds / 1e6);
  return text;
}

// The candidate that `choice` means; none is an error that says why.
std::size_t find_candidate(const Graph& graph, const Node& node, const NodeCandidates& candidates,
                           const NodeChoice& choice) {
  for (std::size_t i = 0; i < candidates.candidates.size(); ++i) {
    const auto& one = candidates.candidates[i];
    if (one.strategy->name == choice.strategy && one.offer.operands == choice.operands &&
        one.offer.results == choice.results)
      return i;
  }
  std::string reason =
      "it does not offer these layouts; perhaps the plan was made with one input for all members and is run "
      "with one for each, or the other way round (widebench plan --inputs FILE)";
  for (const auto& refusal : candidates.refusals) {
    if (refusal.strategy == choice.strategy) reason = refusal.reason;
  }
  throw Error(std::string(kPlanStage), describe(graph, node) + ": the stored plan's strategy '" +
                                           choice.strategy + "' cannot run it: " + reason +
                                           "; make a new plan");
}

// Another strategy for the node, in the same layouts, which needs nothing made first: the cheapest by
// estimate.
const Strategy* stand_in(const Call& call, const NodeChoice& choice) {
  const Strategy* best = nullptr;
  double least = 0;
  for (const auto& strategy : find_primitive(call.node.op)->strategies) {
    if (strategy.source || strategy.on_request) continue;
    for (const auto& offer : strategy.ask(call).offers) {
      if (offer.operands != choice.operands || offer.results != choice.results) continue;
      if (best == nullptr || offer.cost < least) best = &strategy, least = offer.cost;
    }
  }
  return best;
}

// Where the code of a node's strategy cannot be had, as there is no compiler, another one takes its place.
// The reason is kept by node.
std::vector<NodeChoice> choices_here(const Graph& graph, const std::vector<ValueState>& states,
                                     std::int64_t members, const std::vector<NodeChoice>& stored,
                                     std::map<std::size_t, Refusal>& refusals) {
  auto choices = stored;
  for (std::size_t i = 0; i < choices.size(); ++i) {
    const auto* primitive = find_primitive(graph.nodes[i].op);
    if (primitive == nullptr) continue;
    const auto strategy = std::ranges::find(primitive->strategies, choices[i].strategy, &Strategy::name);
    if (strategy == primitive->strategies.end() || !strategy->source) continue;
    const auto call = make_call(graph, graph.nodes[i], states, members);
    const auto* other = stand_in(call, choices[i]);  // only layouts that fit the call
    if (other == nullptr) continue;
    auto reason = missing_code(*strategy, call, {choices[i].operands, choices[i].results}, true);
    if (reason.empty()) continue;
    refusals[i] = {choices[i].strategy, std::move(reason)};
    choices[i].strategy = other->name;
  }
  return choices;
}

// The candidates of the strategies that a stored plan names.
std::vector<NodeCandidates> ask_for(const Graph& graph, const std::vector<ValueState>& states,
                                    std::int64_t members, const std::vector<NodeChoice>& choices) {
  StrategyChoice wanted;
  for (const auto& choice : choices) wanted.by_value["%" + choice.value] = choice.strategy;
  try {
    return ask_strategies(graph, states, members, wanted);
  } catch (const Error& error) {
    throw Error(std::string(kPlanStage), std::string(error.what()).append("; make a new plan"));
  }
}

// Whether "conv", "conv2d" or "%conv2d_1" names this node.
bool is_named(const Graph& graph, const Node& node, const std::string& primitive, const std::string& by) {
  if (!by.starts_with('%')) return by == primitive || by == operator_kind(node.op);
  return std::ranges::any_of(node.results, [&](ValueId id) {
    return id >= 0 && by.compare(1, by.npos, graph.values[static_cast<std::size_t>(id)].name) == 0;
  });
}

// Of one text: "xsmm", "conv=grouped" or "%x=sequential".
std::string objection_to_one(const Graph& graph, const std::vector<NodePlan>& nodes,
                             const std::string& text) {
  const auto name = strategy_name(text);
  const auto by = text.size() > name.size() ? text.substr(0, text.size() - name.size() - 1) : std::string();
  if (name == kAuto || name == kWide || (name == kSequential.name && by.empty())) return "";
  std::string refusal;
  for (std::size_t i = 0; i < nodes.size(); ++i) {
    if (!by.empty() && !is_named(graph, graph.nodes[i], nodes[i].primitive, by)) continue;
    const std::string_view own = nodes[i].strategy;
    if (own == name || (own == kAloneStrategy && name == kSequential.name)) return "";
    const auto found = std::ranges::find(nodes[i].refusals, name, &Refusal::strategy);
    if (found != nodes[i].refusals.end() && refusal.empty()) refusal = ": " + found->reason;
  }
  return "no operation here runs by the strategy " + text + refusal;
}

}  // namespace

bool Plan::at_build(const Node& node) const {
  return !node.results.empty() && std::all_of(node.results.begin(), node.results.end(), [&](ValueId id) {
    return id < 0 || values[static_cast<std::size_t>(id)].constant;
  });
}

std::int64_t Plan::copying_conversions() const {
  return std::count_if(conversions.begin(), conversions.end(),
                       [](const Conversion& one) { return one.copies; });
}

std::string Plan::objection_to(const Graph& graph, std::span<const std::string> strategies) const {
  for (const auto& given : strategies) {
    for (const auto& text : strategies_in(given)) {
      if (auto objection = objection_to_one(graph, nodes, text); !objection.empty()) return objection;
    }
  }
  return "";
}

Plan make_plan(const Graph& graph, const std::vector<ValueState>& inputs, std::int64_t members,
               const StrategyChoice& choice, Costs& costs) {
  return std::move(make_plans(graph, inputs, members, choice, costs, 1).front());
}

std::vector<Plan> make_plans(const Graph& graph, const std::vector<ValueState>& inputs, std::int64_t members,
                             const StrategyChoice& choice, Costs& costs, std::size_t most) {
  check_values(choice, graph);
  const auto states = spread_states(graph, inputs);
  auto nodes = ask_strategies(graph, states, members, choice);
  for (auto& node : nodes) costs.settle(node, states);
  const ConversionCost conversion = [&](const ConcreteType& type, Layout from, Layout to) {
    return costs.conversion(type, from, to, members);
  };
  std::vector<LayoutChoice> choices{search_layouts(graph, states, nodes, conversion)};
  if (most > 1) add_near(graph, states, nodes, conversion, choices);
  if (choices.size() > most) choices.resize(most);
  std::vector<Plan> plans;
  for (const auto& one : choices) plans.push_back(assemble(states, nodes, members, one));
  return plans;
}

Plan plan_alone(const Graph& graph, const std::vector<ValueState>& inputs) {
  auto alone = inputs;
  for (auto& state : alone) state.mapped = false;
  Plan plan;
  plan.alone = true;
  plan.values = spread_states(graph, alone);
  for (auto& state : plan.values) state.mapped = false, state.layout = Layout::kShared;
  for (const auto& node : graph.nodes) {
    NodeCandidates one;
    one.call = make_call(graph, node, plan.values, 1);
    if (const auto* primitive = find_primitive(node.op)) one.primitive = primitive->name;
    const bool constant =
        !node.results.empty() && std::all_of(node.results.begin(), node.results.end(), [&](ValueId id) {
          return id < 0 || plan.values[static_cast<std::size_t>(id)].constant;
        });
    plan.nodes.push_back(fixed(one, constant ? kConstantStrategy : kAloneStrategy));
  }
  return plan;
}

Plan plan_from_candidates(const Graph& graph, const std::vector<ValueState>& states,
                          const std::vector<NodeCandidates>& nodes, const ConversionCost& conversion,
                          std::vector<std::size_t> candidates) {
  const auto members = nodes.empty() ? 1 : nodes[0].call.members;
  return assemble(states, nodes, members, follow(graph, states, nodes, conversion, std::move(candidates)));
}

std::vector<NodeChoice> choices_of(const Graph& graph, const Plan& plan) {
  std::vector<NodeChoice> choices;
  for (std::size_t i = 0; i < plan.nodes.size(); ++i) {
    const auto& node = plan.nodes[i];
    choices.push_back(
        {first_result(graph, graph.nodes[i]), node.strategy, node.offer.operands, node.offer.results});
  }
  return choices;
}

Plan plan_from(const Graph& graph, const std::vector<ValueState>& inputs, std::int64_t members,
               const std::vector<NodeChoice>& stored) {
  if (stored.size() != graph.nodes.size()) {
    throw Error(std::string(kPlanStage),
                "the stored plan has " + std::to_string(stored.size()) + " operations, the model has " +
                    std::to_string(graph.nodes.size()) +
                    "; it is another model's, of another --mode or of another version, make a new plan");
  }
  const auto states = spread_states(graph, inputs);
  std::map<std::size_t, Refusal> refusals;
  const auto choices = choices_here(graph, states, members, stored, refusals);
  const auto nodes = ask_for(graph, states, members, choices);
  std::vector<std::size_t> candidates(nodes.size());
  for (std::size_t i = 0; i < nodes.size(); ++i) {
    if (const auto result = first_result(graph, graph.nodes[i]); result != choices[i].value) {
      throw Error(std::string(kPlanStage),
                  describe(graph, graph.nodes[i]) + ": the stored plan has %" + choices[i].value +
                      " here; it is another model's or of another version, make a new plan");
    }
    if (nodes[i].kind == NodeKind::kMapped)
      candidates[i] = find_candidate(graph, graph.nodes[i], nodes[i], choices[i]);
  }
  const ConversionCost conversion = [&](const ConcreteType& type, Layout from, Layout to) {
    return from == to ? 0.0
                      : 1.0 + (is_free(from, to, type, members) ? 0 : static_cast<double>(type.bytes()));
  };
  auto plan = plan_from_candidates(graph, states, nodes, conversion, std::move(candidates));
  for (auto& [node, refusal] : refusals) plan.nodes[node].refusals.push_back(std::move(refusal));
  return plan;
}

std::string print(const Graph& graph, const Plan& plan) {
  std::string text = "graph \"" + graph.name + "\"\n";
  std::size_t next = 0;
  const auto print_conversions = [&](std::size_t node) {
    for (; next < plan.conversions.size() && plan.conversions[next].node == node; ++next) {
      const auto& one = plan.conversions[next];
      text.append("    # %").append(graph.values[static_cast<std::size_t>(one.value)].name);
      text.append(" ").append(name(one.from)).append("->").append(name(one.to));
      text.append(one.copies ? ", a copy, " : ", a view, ").append(time_text(one.cost)).append("\n");
    }
  };
  for (std::size_t i = 0; i < graph.nodes.size(); ++i) {
    const auto& node = plan.nodes[i];
    print_conversions(i);
    text.append(print(graph, graph.nodes[i])).append("\n    # ");
    if (plan.at_build(graph.nodes[i])) text.append("once, at build: ");
    text.append(node.strategy);
    if (!node.primitive.empty()) text.append(" of ").append(node.primitive);
    text.append("; ").append(layouts_text(node.offer.operands));
    text.append(" => ").append(layouts_text(node.offer.results));
    if (node.offer.cost > 0) {
      text.append("; ").append(time_text(node.offer.cost));
      text.append(node.measured ? " measured" : " estimated");
    }
    text.append("\n");
  }
  print_conversions(graph.nodes.size());
  return text;
}

}  // namespace wide
