#pragma once
// What was measured over N as curves: of one run, or of several laid over one another.

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "gui/views/table.h"
#include "results/record.h"

namespace wide::gui {

enum class OverN : std::uint8_t {
  kOverEager,
  kOverBestRival,
  kTime,  ///< of a pass: all members answer at its end, so it is the latency of each
  kThroughput,
  kWeights,
  kActivations,
  kMemory  ///< peak of the process
};
inline constexpr int kOverNKinds = 7;

/// "over N eager runs", "time of a pass", …
const char* name(OverN what);
bool is_speedup(OverN what);
bool is_memory(OverN what);
/// With its unit and interval: "1.38× [1.35, 1.41]", "1.52 ms", "2,630 members/s", "38.0 MB".
std::string show(OverN what, const profiler::Interval& value);

/// Of a tick: without zeros behind the point.
std::string tick_text(OverN what, double value);

/// Cases that differ in N only.
struct Series {
  std::string title;                        ///< "resblock": as much as tells it from the others
  std::vector<double> n, value, low, high;  ///< by ascending n; low and high equal value where not known
  std::vector<bool> unreliable;             ///< of each n: its times allow no verdict
  std::vector<double> broken;               ///< N of cases that did not pass
};

/// One of the runs that are laid over one another; its name tells its curves from the others'.
struct RunCurves {
  std::string name;
  std::span<const results::CaseRecord> cases;
  std::string subject = {};  ///< the only one that is wanted; empty: all
};

/// At most `most` series, those with most points first, equal subjects beside one another.
std::vector<Series> series_over_n(std::span<const RunCurves> runs, OverN what, std::size_t most = 12);
std::vector<Series> series_over_n(std::span<const results::CaseRecord> cases, OverN what,
                                  std::size_t most = 12);

/// N at which a curve of speed-up passes 1, on a straight line between logarithms of two N that were
/// measured; none next to what is unreliable.
std::vector<double> crossings(const Series& series);

/// Places for ticks in [low, high] of a logarithmic axis: powers of two or simple parts of them for
/// speed-ups, else 1, 2 and 5 times a power of ten; `most` or a few more. Both bounds above 0.
std::vector<double> value_ticks(OverN what, double low, double high, std::size_t most);

/// What is in sight of the plot: bounds with a margin, above 0. 1 is always in sight of a speed-up.
struct OverNBounds {
  double n_low = 1, n_high = 2, low = 1, high = 1;
};
OverNBounds bounds(const std::vector<Series>& series, OverN what);

/// The plot as a document by itself, in the light palette.
std::string over_n_svg(const std::vector<Series>& series, OverN what);
/// The points, a row each: curve, n, value, whether it is unreliable.
Table points_table(const std::vector<Series>& series, OverN what);

}  // namespace wide::gui
