#pragma once
// plan: a strategy and layouts for every node of a canonical graph.

#include <map>
#include <string>
#include <vector>

#include "core/graph.h"
#include "core/primitive.h"

namespace wide {

/// How a value varies over the members, and what is known of it.
struct ValueState {
  bool mapped = false;
  bool constant = false;  ///< the same in every forward pass
  Layout layout = Layout::kShared;
};

/// Marks every value mapped or shared, constant or not. `inputs` describes Graph::inputs in order (layout
/// ignored).
std::vector<ValueState> spread_states(const Graph& graph, const std::vector<ValueState>& inputs);

/// A strategy that was asked and said no.
struct Refusal {
  std::string strategy;
  std::string reason;
};

struct NodePlan {
  std::string primitive;  ///< "" when no primitive owns the operator
  std::string strategy;   ///< of the primitive, or "shared", "constant", "sequential"
  Offer offer;
  std::vector<Refusal> refusals;
};

/// A value that must change its layout before a use.
struct Conversion {
  ValueId value;
  Layout from, to;
  bool copies;  ///< false: a view
};

struct Plan {
  std::vector<NodePlan> nodes;          ///< by index into Graph::nodes
  std::vector<ValueState> values;       ///< by value id, with the layout in which each is made
  std::vector<Conversion> conversions;  ///< at run time; those of constants happen at build

  /// Tensor-computing nodes that run one member after the other.
  std::int64_t sequential() const;
  std::int64_t copying_conversions() const;
};

/// The user's choice: "grouped" for all that have such a strategy, or per primitive ("conv" -> "sequential")
/// or operator ("conv2d" -> "grouped").
struct StrategyChoice {
  std::string all = "auto";
  std::map<std::string, std::string> by_primitive;
};

/// Throws wide::Error ("plan") listing what there is, when a primitive, operator or strategy of `choice` does
/// not exist.
void check_choice(const StrategyChoice& choice);

/// Everything plan() needs of a call, from a node and what is known of its operands.
Call make_call(const Graph& graph, const Node& node, const std::vector<ValueState>& states,
               std::int64_t members);

/// Chooses by estimated cost, conversions included. Throws wide::Error ("plan") when a strategy that the user
/// named is unknown or refuses.
Plan make_plan(const Graph& graph, const std::vector<ValueState>& inputs, std::int64_t members,
               const StrategyChoice& choice);

/// The graph with strategy, layouts and conversions beside each node.
std::string print(const Graph& graph, const Plan& plan);

}  // namespace wide
