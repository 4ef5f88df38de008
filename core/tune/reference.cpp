#include "core/tune/reference.h"

#include <algorithm>
#include <cmath>
#include <vector>

namespace wide {
namespace {

// They are one part in so many of all members, and at least one.
constexpr std::int64_t kParts = 16;

}  // namespace

Reference::Reference(const PlanRequest& request, Examples& examples, MemoryPool& pool)
    : examples_(examples), pool_(pool) {
  const auto& all = request.parts;
  Execution::Parts parts{request.unfolded,  all.inputs,  all.constants, all.members,
                         all.static_memory, all.stacked, all.device};
  parts.members = std::max<std::int64_t>(1, request.parts.members / kParts);
  turns_ = request.parts.members / parts.members;
  const std::vector<ValueState> inputs(parts.inputs.begin(), parts.inputs.end());
  execution_.emplace(Execution(parts, Schedule{1, 1, 0}, plan_alone(parts.graph, inputs), nullptr));
}

std::function<void()> Reference::passes() {
  return [pass = examples_.passes(execution_, pool_), turns = turns_] {
    for (std::int64_t i = 0; i < turns; ++i) pass();
  };
}

double Reference::in_first_moment(double time, double own) {
  if (!std::isfinite(own)) return time;
  if (first_ == 0) first_ = own;
  return time * first_ / own;
}

}  // namespace wide
