#pragma once
// What can be chosen from: every node's strategies asked, their offers and refusals kept.

#include <string>
#include <vector>

#include "core/ir/graph.h"
#include "core/strategy/primitive.h"
#include "core/strategy/strategy_choice.h"

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

/// One way to run a node. Its cost is an estimate until it is measured.
struct Candidate {
  const Strategy* strategy = nullptr;
  Offer offer;
  bool measured = false;
};

enum class NodeKind : std::uint8_t {
  kConstant,  ///< computed once, at build
  kShared,    ///< the same for all members: computed once a pass
  kMapped,    ///< differs per member: a candidate is chosen
};

struct NodeCandidates {
  NodeKind kind = NodeKind::kMapped;
  Call call;
  std::vector<ValueId> operands;  ///< of the call, as values of the graph
  std::string primitive;          ///< "" when none owns the operator
  std::vector<Candidate> candidates;
  std::vector<Refusal> refusals;
};

/// Everything a strategy is told of a node: types, and which operands are mapped.
Call make_call(const Graph& graph, const Node& node, const std::vector<ValueState>& states,
               std::int64_t members);

/// Asks the strategies that `choice` leaves open. At least one candidate for every mapped node: `sequential`
/// refuses nothing. Throws wide::Error ("plan") when a strategy that the user named for a node refuses it.
std::vector<NodeCandidates> ask_strategies(const Graph& graph, const std::vector<ValueState>& states,
                                           std::int64_t members, const StrategyChoice& choice);

}  // namespace wide
