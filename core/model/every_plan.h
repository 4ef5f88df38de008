#pragma once
// All plans of a small graph, to find out how good AUTO's is.

#include <cstddef>
#include <vector>

#include "core/model/wide_model.h"

namespace wide {

/// Every combination of strategy, layouts and schedule that a build of `members` members could have by
/// `choice`: nodes that depend on weights only keep their first candidate, since they cost nothing in a pass.
/// Stops after `most` plans, the plainest schedules first; then `complete` is false.
struct EveryPlan {
  std::vector<StoredPlan> plans;
  bool complete = true;
};
EveryPlan every_plan(const Build& build, std::int64_t members, const StrategyChoice& choice,
                     std::size_t most);

}  // namespace wide
