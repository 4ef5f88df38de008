#pragma once
// Inputs that passes are timed on.

#include <functional>
#include <optional>
#include <vector>

#include "core/run/execution.h"
#include "core/tune/auto_plan.h"

namespace wide {

/// What a caller gives lies elsewhere than what it gave before, and was just written: passes on one and the
/// same memory would find each part of it in the cache of the thread that reads it. So there are several
/// sets, which passes take in turn, and large ones are written anew.
class Examples {
 public:
  explicit Examples(const PlanRequest& request);

  /// A pass with each call. `execution` is there when it is called; this, it and `pool` outlive the function.
  std::function<void()> passes(const std::optional<Execution>& execution, MemoryPool& pool);
  /// Writes what the next pass reads, by this thread alone; nothing where it is small.
  void renew();

 private:
  std::vector<std::vector<WideTensor>> sets_;
  std::vector<std::size_t> given_;  ///< inputs that are not there from the build on
  std::size_t turn_ = 0;
  bool is_small_ = true;
};

}  // namespace wide
