#pragma once
// plan: a strategy and layouts for every node of a canonical graph.

#include <span>
#include <string>
#include <vector>

#include "core/plan/costs.h"
#include "core/plan/layout_search.h"
#include "core/strategy/candidates.h"
#include "core/strategy/strategy_choice.h"

namespace wide {

/// Strategies of a plan that no primitive has.
inline constexpr std::string_view kConstantStrategy = "constant", kSharedStrategy = "shared",
                                  kAloneStrategy = "alone";

/// What else a node could have been run by.
struct Alternative {
  std::string strategy;
  std::vector<Layout> operands, results;
  double cost = 0;  ///< nanoseconds
  bool measured = false;
};

struct NodePlan {
  std::string primitive;  ///< "" when no primitive owns the operator
  std::string strategy;   ///< of the primitive, or "shared", "constant", "alone", "sequential"
  Offer offer;
  bool measured = false;  ///< offer.cost was timed, not estimated
  std::vector<Alternative> alternatives;
  std::vector<Refusal> refusals;
};

struct Plan {
  std::int64_t members = 1;
  std::vector<NodePlan> nodes;          ///< by index into Graph::nodes
  std::vector<ValueState> values;       ///< by value id, with the layout in which each is made
  std::vector<Conversion> conversions;  ///< at run time; those of constants happen at build
  double cost = 0;                      ///< nanoseconds of a pass, as far as costs are known
  bool exact = true;                    ///< the layouts are the best for these costs
  bool alone = false;  ///< of plan_alone(): values are one member's, with no dimension of members

  /// Whether a node is computed once, at build: nothing that it reads changes between passes.
  bool at_build(const Node& node) const;
  std::int64_t copying_conversions() const;
  /// Why the plan of `graph` is not what these named strategies ("xsmm", "conv=grouped", "%x=sequential") are
  /// to show: no operation that one of them names runs by it. Empty where some operation does, for each.
  std::string objection_to(const Graph& graph, std::span<const std::string> strategies) const;
};

/// Chooses strategies and layouts of all nodes together. `inputs` as for spread_states(). Throws wide::Error
/// ("plan") when a strategy that the user named is unknown or refuses.
Plan make_plan(const Graph& graph, const std::vector<ValueState>& inputs, std::int64_t members,
               const StrategyChoice& choice, Costs& costs);

/// make_plan()'s first; then, at most `most` in all, plans that by their costs come near it and differ from
/// it in one node that takes much of the pass. The costs are those of nodes run alone: which of two is the
/// faster one between other nodes, or beside another thread, only a whole pass can tell.
std::vector<Plan> make_plans(const Graph& graph, const std::vector<ValueState>& inputs, std::int64_t members,
                             const StrategyChoice& choice, Costs& costs, std::size_t most);

/// The plan of one member alone: every node as the graph says it.
Plan plan_alone(const Graph& graph, const std::vector<ValueState>& inputs);

/// The plan that takes these candidates of nodes that ask_strategies() gave.
Plan plan_from_candidates(const Graph& graph, const std::vector<ValueState>& states,
                          const std::vector<NodeCandidates>& nodes, const ConversionCost& conversion,
                          std::vector<std::size_t> candidates);

/// A strategy and layouts by name, as a stored plan has them.
struct NodeChoice {
  std::string value;  ///< name of the node's first used result
  std::string strategy;
  std::vector<Layout> operands, results;
  bool operator==(const NodeChoice&) const = default;
};
std::vector<NodeChoice> choices_of(const Graph& graph, const Plan& plan);
/// The plan that these choices make. Throws wide::Error ("plan") naming the node where they do not fit
/// `graph`: another graph, or a strategy that is gone or refuses. Where the code that one needs
/// cannot be had (Strategy::source), another runs in its place, and its reason is among the node's refusals.
Plan plan_from(const Graph& graph, const std::vector<ValueState>& inputs, std::int64_t members,
               const std::vector<NodeChoice>& stored);

/// The graph with strategy, layouts, costs and conversions beside each node.
std::string print(const Graph& graph, const Plan& plan);

}  // namespace wide
