#include "core/model/every_plan.h"

#include <ATen/Parallel.h>

#include <algorithm>

namespace wide {
namespace {

bool costs_nothing(const NodeCandidates& node, const std::vector<ValueState>& states) {
  return std::all_of(node.operands.begin(), node.operands.end(),
                     [&](ValueId id) { return states[static_cast<std::size_t>(id)].constant; });
}

// Odometer over the candidates of all nodes.
class Combinations {
 public:
  Combinations(const std::vector<NodeCandidates>& nodes, const std::vector<ValueState>& states)
      : digits_(nodes.size()), sizes_(nodes.size(), 1) {
    for (std::size_t i = 0; i < nodes.size(); ++i) {
      if (nodes[i].kind == NodeKind::kMapped && !costs_nothing(nodes[i], states))
        sizes_[i] = nodes[i].candidates.size();
    }
  }
  const std::vector<std::size_t>& digits() const { return digits_; }
  bool next() {
    for (std::size_t i = 0; i < digits_.size(); ++i) {
      if (++digits_[i] < sizes_[i]) return true;
      digits_[i] = 0;
    }
    return false;
  }

 private:
  std::vector<std::size_t> digits_, sizes_;
};

}  // namespace

EveryPlan every_plan(const Build& build, std::int64_t members, const StrategyChoice& choice,
                     std::size_t most) {
  const auto& graph = build.optimized;
  const auto& inputs = build.inputs;
  EveryPlan all;
  const ConversionCost none = [](const ConcreteType&, Layout, Layout) { return 0.0; };
  for (const auto& schedule : possible_schedules(members, at::get_num_threads(), graph.device)) {
    if (members % schedule.chunk != 0) continue;  // a last program of fewer would need plans of its own
    if (schedule.chunk == 1 && members > 1) {
      all.plans.push_back({members, schedule, choices_of(graph, plan_alone(graph, inputs)), {}});
      continue;
    }
    const auto states = spread_states(graph, inputs);
    const auto nodes = ask_strategies(graph, states, schedule.chunk, choice);
    Combinations combinations(nodes, states);
    do {
      if (all.plans.size() == most) {
        all.complete = false;
        return all;
      }
      const auto plan = plan_from_candidates(graph, states, nodes, none, combinations.digits());
      all.plans.push_back({members, schedule, choices_of(graph, plan), {}});
    } while (combinations.next());
  }
  return all;
}

}  // namespace wide
