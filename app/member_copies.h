#pragma once
// Members made from one, where a model comes without checkpoints.

#include <cstdint>
#include <vector>

#include "core/graph.h"
#include "core/members.h"

namespace wide::app {

/// `count` members of the same architecture with weights of their own: floats are scaled a little,
/// differently for each; the names are "NAME#1", "NAME#2", ….
std::vector<Member> copies_of(const Graph& graph, const Member& member, std::int64_t count);

}  // namespace wide::app
