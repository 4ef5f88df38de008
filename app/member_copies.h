#pragma once
// Members made from others, where there are fewer checkpoints than members.

#include <cstdint>
#include <functional>
#include <vector>

#include "core/frontend/members.h"
#include "core/ir/graph.h"

namespace wide::app {

/// `count` members of the same architecture with weights of their own: floats are scaled a little,
/// differently for each; the names are "NAME#1", "NAME#2", …. `before_each` is called before each; what it
/// throws ends that.
std::vector<Member> copies_of(const Graph& graph, const Member& member, std::int64_t count,
                              const std::function<void()>& before_each = {});

/// Adds such copies of `members`, in turns, until there are `count`: "a", "b", "a#2", "b#2", "a#3". Leaves
/// them as they are where there are enough.
void fill_up(const Graph& graph, std::vector<Member>& members, std::int64_t count);

}  // namespace wide::app
