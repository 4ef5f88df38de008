#pragma once
// From how many members on wide is faster: where a speed-up that was measured at some N passes through 1.

#include <cstdint>
#include <span>
#include <vector>

#include "profiler/statistics.h"

namespace wide::profiler {

/// What was measured at one N.
struct CrossoverPoint {
  std::int64_t n = 0;
  /// [rival][round]: time of the rival over that of wide. Wide beats the rivals when the least of the rivals'
  /// medians is above 1.
  std::vector<std::vector<double>> ratios;
};

/// Ends of a crossover that is not within what was measured.
inline constexpr double kBelowSmallest = 0;  ///< wide is faster at every N that was measured
inline constexpr double kNever = std::numeric_limits<double>::infinity();  ///< not at the largest N measured

/// The N from which on, up to the largest measured, wide is faster: interpolated linearly in log N and log
/// speed-up. value, low and high are an N, kBelowSmallest or kNever. The interval is a bootstrap over rounds.
/// `points` in ascending order of N; all unknown when there are fewer than two, or one has no rounds.
Interval crossover(std::span<const CrossoverPoint> points, std::uint64_t seed, int resamples = 500);

}  // namespace wide::profiler
