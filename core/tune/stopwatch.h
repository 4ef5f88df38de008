#pragma once
// Times of short functions, taken in turns so that a slow moment of the machine hits all of them.

#include <c10/core/Device.h>

#include <functional>
#include <limits>
#include <span>
#include <vector>

namespace wide {

struct StopwatchOptions {
  int rounds = 15;             ///< of every function, in turns
  double sample_us = 60;       ///< a function is repeated until a sample is this long
  double seconds_each = 0.03;  ///< a function is not run for longer in all, but `least_rounds` times
  int least_rounds = 5;
  double hopeless = 1.5;  ///< after `least_rounds`, one this much slower than the best is given up
  double patience = 0;    ///< seconds; before, only what is twice as slow is given up, and no race is decided
  /// Seconds; a function whose first call takes longer is not called again, and that is its time.
  double enough = std::numeric_limits<double>::infinity();
  std::function<void()> before = {};  ///< called before each sample, outside of it
  std::function<double()> now = {};   ///< nanoseconds; the steady clock where none is given
  at::Device device = at::kCPU;  ///< what the functions gave it to do is waited for before the clock is read
};

/// Nanoseconds of a call of each; infinity for one that throws. That of the best is the lower quartile of its
/// samples, the others' are relative to it, by the median of the ratios within rounds: the machine's slow
/// moments cancel out. Moods that slow down some functions only, such as those with several threads, do not
/// cancel out, but pass: `patience` outlasts them. One that was given up is looked at once more when the
/// others are done.
std::vector<double> time_in_turns(std::span<const std::function<void()>> functions,
                                  const StopwatchOptions& options = {});

}  // namespace wide
