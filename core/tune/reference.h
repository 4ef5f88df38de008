#pragma once
// What contenders are compared by that are not all there at a time.

#include <cstdint>
#include <functional>
#include <optional>

#include "core/plan/plan.h"
#include "core/run/execution.h"
#include "core/run/memory_pool.h"
#include "core/tune/examples.h"

namespace wide {

/// Few members apart, timed beside each contender: what they take says how the machine's moments compare.
/// They run as the model was given, so that nothing is made of their weights.
class Reference {
 public:
  Reference(const PlanRequest& request, Examples& examples, MemoryPool& pool);
  Reference(const Reference&) = delete;
  Reference& operator=(const Reference&) = delete;

  /// A pass of each of as many members as there are, about: the few run again and again.
  std::function<void()> passes();
  /// `time` of a contender, beside which passes() took `own`, as it would be in the moment of the first.
  double in_first_moment(double time, double own);

 private:
  Examples& examples_;
  MemoryPool& pool_;
  std::int64_t turns_;
  std::optional<Execution> execution_;
  double first_ = 0;
};

}  // namespace wide
