#include "app/activation_bytes.h"

#include <algorithm>
#include <vector>

namespace wide::app {

std::int64_t activation_bytes(const Graph& graph, const Plan& plan) {
  std::vector<std::size_t> last(graph.values.size(), 0);
  for (std::size_t i = 0; i < graph.nodes.size(); ++i) {
    for_each_use(graph.nodes[i], [&](ValueId id) { last[static_cast<std::size_t>(id)] = i; });
  }
  for (const auto& output : graph.outputs) {
    if (const auto* ref = output.value.ref()) last[static_cast<std::size_t>(ref->id)] = graph.nodes.size();
  }
  const auto bytes = [&](ValueId id) -> std::int64_t {
    const auto at = static_cast<std::size_t>(id);
    if (!graph.values[at].tensor || !graph.values[at].type) return 0;
    return concrete(graph.values[at]).bytes() * (plan.values[at].mapped ? plan.members : 1);
  };
  std::int64_t alive = 0, most = 0;
  std::vector<std::vector<ValueId>> ends(graph.nodes.size() + 1);
  const auto born = [&](ValueId id) {
    alive += bytes(id);
    ends[last[static_cast<std::size_t>(id)]].push_back(id);
  };
  for (const auto& input : graph.inputs) {
    if (input.kind == InputKind::kUser) born(input.value);
  }
  for (std::size_t i = 0; i < graph.nodes.size(); ++i) {
    for (const auto id : graph.nodes[i].results) {
      if (id >= 0) born(id);
    }
    most = std::max(most, alive);
    for (const auto id : ends[i]) alive -= bytes(id);
  }
  return most;
}

}  // namespace wide::app
