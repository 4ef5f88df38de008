#pragma once
// join_attention: attention that a model writes out becomes one operator.

#include <vector>

#include "core/ir/graph.h"
#include "core/strategy/candidates.h"
#include "core/strategy/strategy_choice.h"

namespace wide {

/// softmax(q · keys) · v along the last axis, each step read by the next one alone, becomes one
/// wide.written_attention (core/strategy/written_attention.h) under the name of its result; between product
/// and softmax, in this order, may be a factor, an addition, and what is masked. float32 on the CPU, of at
/// least three axes, none of which broadcasts between q, keys and v. What is the same for all members, or in
/// every pass, stays, and so does what `choice` names. `inputs` as for spread_states().
Graph join_attention(const Graph& graph, const std::vector<ValueState>& inputs, const StrategyChoice& choice);

}  // namespace wide
