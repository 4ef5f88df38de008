#pragma once
// A group: several pointwise operators run as one, tile by tile, so that what passes between them stays in
// the cache. In graphs it is wide.group([operands…]) {body}: the body is the graph of its operators, and its
// meaning.

#include <optional>
#include <string_view>
#include <vector>

#include "core/eager/higher_order.h"  // kGroup
#include "core/ir/graph.h"
#include "core/strategy/candidates.h"
#include "core/strategy/strategy_choice.h"

namespace wide {

/// One step of a group: a function of up to three tiles.
struct GroupStep {
  std::string_view function;       ///< "add", as kernels/tile_functions.h names it
  std::vector<Argument> operands;  ///< values and numbers
};

/// The step that `node`, of `graph`, would be; nothing where it cannot be one: another operator, or not in
/// float32 (with masks of bool). Sizes must be known.
std::optional<GroupStep> group_step(const Graph& graph, const Node& node);

/// Whether a group may bear what `choice` says of `node`: no strategy for the node, or one of groups, which
/// is then the strategy of the group that ends there, under the node's name.
bool leaves_to_groups(const StrategyChoice& choice, const Graph& graph, const Node& node);

/// Whether `node` may be a step of a group: its one result is each member's own and of each pass, and
/// `choice` leaves it to groups. `states` by value of `graph`.
bool may_join_group(const Graph& graph, const std::vector<ValueState>& states, const StrategyChoice& choice,
                    const Node& node);

}  // namespace wide
