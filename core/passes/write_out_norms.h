#pragma once
// write_out_norms: a batch norm beside pointwise operators becomes two of them, which may join their group.

#include <vector>

#include "core/ir/graph.h"
#include "core/strategy/candidates.h"
#include "core/strategy/strategy_choice.h"

namespace wide {

/// Each batch norm in evaluation, in float32 and with constant weights and statistics, whose result only a
/// step of a group reads, or that alone reads what such a step gives, becomes x · scale + shift under its own
/// name; scale and shift are made once, at build. Norms that `choice` names a strategy for stay. `inputs` as
/// for spread_states().
Graph write_out_norms(const Graph& graph, const std::vector<ValueState>& inputs,
                      const StrategyChoice& choice);

}  // namespace wide
