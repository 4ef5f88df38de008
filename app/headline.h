#pragma once
// A run in a few lines: how many cases passed, and by what factor wide is faster, never without an interval.

#include <map>
#include <string>
#include <vector>

#include "profiler/statistics.h"
#include "results/record.h"

namespace wide::app {

struct Headline {
  std::map<results::Verdict, int> verdicts;
  int measured = 0;               ///< passed cases that have both speed-ups with intervals
  profiler::Interval over_eager;  ///< geometric mean over the measured cases, see Note [Mean of speed-ups]
  profiler::Interval over_best_rival;
  /// Where the rival "apart" was measured: wide over it, and it over eager.
  profiler::Interval by_width, by_kernels;
  /// The measured cases and the disturbed ones, judged together: see results::effects.
  std::map<profiler::Effect, int> against_best_rival;
  int disturbed = 0;  ///< passed cases whose times say nothing: in no mean
};

/// Of all cases, or of those of one `strategy`.
Headline headline(const std::vector<results::CaseRecord>& cases, const std::string& strategy = {});

/// Several lines, each ending in a newline; how many cases have which verdict is the table's last line.
std::string text(const Headline& headline);
nlohmann::json to_json(const Headline& headline);

/// kExitWrongNumbers when a case failed; else kExitCannotMeasure when a case ended in error, oom or timeout,
/// or none passed; else kExitDone. Skipped cases, which carry their reason, count as done.
int exit_code(const Headline& headline);

/// Of two such codes: wrong numbers before what could not be measured.
int worst(int a, int b);

}  // namespace wide::app
