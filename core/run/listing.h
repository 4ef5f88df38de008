#pragma once
// What the kernels of a plan are made of: for people to read, and as text to compile.

#include <cstddef>
#include <string>
#include <vector>

#include "core/ir/graph.h"
#include "core/native/source.h"
#include "core/plan/plan.h"

namespace wide {

/// Empty where the node's strategy has nothing to say.
std::string listing(const Graph& graph, const Plan& plan, std::size_t node);

/// What is compiled for the plan.
std::vector<native::Source> sources(const Graph& graph, const Plan& plan);

}  // namespace wide
