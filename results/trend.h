#pragma once
// How a subject fared over time: its cases run by run, where they changed, which strategy won at which N.

#include <iosfwd>
#include <string>
#include <vector>

#include "results/store.h"

namespace wide::results {

struct TrendSeries {
  /// Points of one series have all of these in common: another number of threads, other rivals or another
  /// model would look like a change.
  std::string machine_key, key, model_hash, rivals;
  int threads = 0;
  std::int64_t n = 0;
  std::vector<TrendPoint> points;    ///< oldest first
  std::vector<std::size_t> changes;  ///< index of the first point after a change point
};

/// The strategy with the largest speed-up over eager among the newest measurements on one machine.
struct Winner {
  std::string machine_key, device, dtype, mode, shape;
  std::int64_t n = 0;
  std::string strategy;
  Interval speedup;
  std::string runner_up;  ///< empty: there was no other
  Interval runner_up_speedup;
};

struct Trend {
  std::string subject;
  std::vector<TrendSeries> series;
  std::vector<Winner> winners;
};

/// `points` as Store::trend gives them.
Trend trend(const std::string& subject, std::vector<TrendPoint> points);

/// Where the level of `values` (log speed-ups, in time) changes: index of the first value of the new level.
/// Binary segmentation; a change needs three values on either side, a shift of at least 3 % and significance
/// at 1 % after counting all places of the series.
std::vector<std::size_t> change_points(const std::vector<double>& values);

/// One JSON object, a series a line.
void write_json(std::ostream& out, const Trend& trend);
std::string text(const Trend& trend);
/// What the points of a series have in common, less the machine: case, threads, rivals and model.
std::string title(const TrendSeries& series);

}  // namespace wide::results
