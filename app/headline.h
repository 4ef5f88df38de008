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
  std::map<profiler::Effect, int>
      against_best_rival;  ///< the measured cases, each judged by its own noise floor
};

/// Of all cases, or of those of one `strategy`.
Headline headline(const std::vector<results::CaseRecord>& cases, const std::string& strategy = {});

/// Several lines, each ending in a newline; how many cases have which verdict is the table's last line.
std::string text(const Headline& headline);
nlohmann::json to_json(const Headline& headline);

/// kExitWrongNumbers when a case failed; else kExitCannotMeasure when a case ended in error, oom or timeout,
/// or none passed; else kExitDone. Skipped cases, which carry their reason, count as done.
int exit_code(const Headline& headline);

}  // namespace wide::app
