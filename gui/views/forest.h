#pragma once
// A comparison as a forest plot: a row a case, its ratio with the interval, and what it says in a word.

#include <string>
#include <vector>

#include "gui/views/history_data.h"

namespace wide::gui {

struct ForestRow {
  std::size_t row = 0;        ///< in the comparison's table
  std::string title;          ///< "resblock, N = 4"
  profiler::Interval ratio;   ///< cost of the second over the first; not known: nothing is drawn
  std::string word;           ///< "faster", "slower", "same", "inconclusive", "not comparable", "missing"
  bool on_the_whole = false;  ///< the geometric mean of all cases, which has no verdict
};

/// The rows that the table shows, in its order; last the cases on the whole, where that is known.
std::vector<ForestRow> forest_rows(const CompareData& data);

/// Logarithmic scale of a forest plot. What is decided is in sight; an interval that is much wider is cut
/// off.
struct ForestScale {
  double low = 0.5, high = 2;  ///< above 0; 1 lies between them

  /// Place in [0, 1], the edge for what lies beyond.
  double at(double ratio) const;
  /// Whether an interval goes beyond what is in sight.
  bool cut_low(const profiler::Interval& ratio) const { return ratio.known() && ratio.low < low; }
  bool cut_high(const profiler::Interval& ratio) const { return ratio.known() && ratio.high > high; }
};
ForestScale forest_scale(const std::vector<ForestRow>& rows);

/// A document by itself, in the light palette; the word stands beside each colour.
std::string forest_svg(const std::vector<ForestRow>& rows, const std::string& title);

}  // namespace wide::gui
