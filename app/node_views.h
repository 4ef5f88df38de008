#pragma once
// The nodes of a built graph as the window sees them.

#include <cstddef>
#include <string>
#include <vector>

#include "app/bench.h"
#include "core/ir/graph.h"
#include "core/plan/plan.h"

namespace wide::app {

/// Of its first result that is used, without its sign.
std::string node_name(const Graph& graph, std::size_t index);
std::vector<gui::NodeView> node_views(const Graph& graph, const Plan& plan);

}  // namespace wide::app
