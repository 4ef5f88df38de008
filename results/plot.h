#pragma once
// Plots of cases as SVG: no script, no font, no picture from elsewhere. Colours follow the page's
// (currentColor).

#include <string>
#include <vector>

#include "results/trend.h"

namespace wide::results {

/// Cases of one subject, shape, device, type, mode and strategy: they differ in N only.
struct CaseGroup {
  std::string title;
  std::vector<const CaseRecord*> cases;  ///< by N
};

/// In the order they are first seen. The pointers are into `cases`.
std::vector<CaseGroup> group_by_n(const std::vector<CaseRecord>& cases);

/// Speed-up over N (both axes base-2 logarithms) over eager and over the best rival, with bands of 95 %.
std::string speedup_plot(const CaseGroup& group);
/// Speed-up of every round, a row an N: what lies behind the intervals. Empty without samples.
std::string rounds_plot(const CaseGroup& group);
/// Speed-up run by run, with bands; change points are marked.
std::string history_plot(const TrendSeries& series);

}  // namespace wide::results
