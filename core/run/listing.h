#pragma once
// What the kernel of one node is made of, for people to read.

#include <cstddef>
#include <string>

#include "core/ir/graph.h"
#include "core/plan/plan.h"

namespace wide {

/// Empty where the node's strategy has nothing to say.
std::string listing(const Graph& graph, const Plan& plan, std::size_t node);

}  // namespace wide
