#pragma once
// How much memory the values of a pass take.

#include <cstdint>

#include "core/plan/plan.h"

namespace wide::app {

/// The largest sum of values alive at once, by the order of the nodes, all members; weights are not counted.
std::int64_t activation_bytes(const Graph& graph, const Plan& plan);

}  // namespace wide::app
