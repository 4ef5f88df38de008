#pragma once
// All that could run a node, to choose from: in the table of strategies and in the inspector.

#include <map>
#include <string>

#include "app/bench.h"

namespace wide::gui {

/// Rows of a drop-down or popup that is open: AUTO, what offers to run the node with its time, what refuses
/// with the reason. `now` is what is chosen. Returns what was clicked; empty: nothing.
std::string strategy_rows(const NodeView& offers, const std::string& now);

/// Keeps a choice; "auto" takes it back.
void set_choice(std::map<std::string, std::string>& choices, const std::string& what,
                const std::string& strategy);

}  // namespace wide::gui
