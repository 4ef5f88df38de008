#pragma once
// verify: the invariants that every stage keeps.

#include "core/ir/graph.h"

namespace wide {

/// Throws std::logic_error naming `stage` and the node when the graph is not SSA in order: every use defined
/// before it, every value defined once, names unique, operators known with as many arguments as their schema,
/// outputs defined. A fault here is ours, never the user's.
void verify(const Graph& graph, std::string_view stage);

}  // namespace wide
