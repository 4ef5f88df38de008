#pragma once
// What a user asks for: a strategy for everything, for a kind of operator, or for one node.

#include <cstdint>
#include <limits>
#include <map>
#include <string>
#include <string_view>

#include "core/ir/graph.h"
#include "core/strategy/mode.h"
#include "core/strategy/primitive.h"

namespace wide {

/// Every node its best strategy, by cost.
inline constexpr std::string_view kAuto = "auto";
/// Every node its best strategy but `sequential`, all members in one program.
inline constexpr std::string_view kWide = "wide";

/// The narrowest that names a node holds: by value, then by kind, then `all`.
struct StrategyChoice {
  /// auto, wide, sequential, or a strategy's name for every node that can run by it; the others choose
  /// freely.
  std::string all = std::string(kAuto);
  /// By primitive ("conv" -> "sequential") or operator ("conv2d" -> "grouped").
  std::map<std::string, std::string> by_kind;
  /// By a result's name in the canonical graph, with its sign ("%conv2d" -> "grouped").
  std::map<std::string, std::string> by_value;
  /// Strategies of later modes are chosen where they are named only (Strategy::least_mode).
  Mode mode = Mode::kEager;
  /// Bytes that a member's packed weights may take beyond plain ones, in all nodes whose strategy is not
  /// named.
  std::int64_t spare = std::numeric_limits<std::int64_t>::max();

  /// Nothing is asked for.
  bool free() const { return all == kAuto && by_kind.empty() && by_value.empty(); }
};

/// "grouped", "conv2d=grouped" or "%conv2d_1=grouped", added to `choice`; several with "+" between them.
void add_choice(StrategyChoice& choice, const std::string& text);

/// Throws wide::Error ("plan") listing what there is, when a primitive, operator or strategy of `choice` does
/// not exist. Names of values are checked against a graph by check_values().
void check_choice(const StrategyChoice& choice);
/// Throws wide::Error ("plan") when `choice` names a value that no node of `graph` makes.
void check_values(const StrategyChoice& choice, const Graph& graph);

/// What holds for one node.
struct WantedStrategy {
  std::string name = std::string(kAuto);
  bool must = false;  ///< the user named this very node or its kind: a refusal is an error
};
WantedStrategy wanted_strategy(const StrategyChoice& choice, const Graph& graph, const Node& node,
                               const Primitive* primitive);

/// "aten.conv2d.default", "wide.conv2d_activation.default" -> "conv2d".
std::string operator_kind(std::string_view op);

}  // namespace wide
