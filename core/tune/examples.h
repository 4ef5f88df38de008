#pragma once
// Inputs that passes are timed on.

#include <functional>
#include <optional>
#include <vector>

#include "core/run/execution.h"
#include "core/tune/auto_plan.h"

namespace wide {

/// What a caller gives lies elsewhere than what it gave before: passes on one and the same memory would find
/// it in caches where no caller's pass does. So there are several sets, which passes take in turn.
class Examples {
 public:
  explicit Examples(const PlanRequest& request);

  /// A pass with each call. `execution` is there when it is called; this, it and `pool` outlive the function.
  std::function<void()> passes(const std::optional<Execution>& execution, MemoryPool& pool) const;

 private:
  std::vector<std::vector<WideTensor>> sets_;
};

}  // namespace wide
