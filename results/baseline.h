#pragma once
// Which cases of a baseline must be measured more often before it can be compared with. See Note [Baselines].

#include <set>
#include <string>

#include "results/compare.h"

namespace wide::results {

struct BaselineOptions {
  int most = 16;               ///< runs of one case
  double target_error = 0.01;  ///< standard error of a case's log cost over its runs that is small enough
};

/// Keys of the cases that passed in every run, fewer than `most` times, and whose middle has a larger
/// standard error than the target. None for a baseline of one run, which does not show how much runs differ.
std::set<std::string> unsteady_cases(const Side& baseline, const BaselineOptions& options = {});

}  // namespace wide::results
