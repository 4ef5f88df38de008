#pragma once
// What a run says beyond its cases: means, which strategy won how often, and the N from which wide pays.

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "app/headline.h"
#include "results/report.h"

namespace wide::app {

/// How one strategy did.
struct StrategySummary {
  std::string strategy;
  int contests = 0;  ///< places where it and another named strategy passed; see Note [Wins]
  int fastest = 0;   ///< of these, where it gained most over the N eager runs of its case
  int clearly = 0;   ///< of these, where its interval lies above the next one's
  Headline headline;
};

/// From which N on one strategy pays for one subject; see profiler::crossover.
struct CrossoverSummary {
  results::CaseRecord
      like;  ///< what all its cases have in common: subject, shape, device, dtype, mode, strategy
  std::vector<std::int64_t> n;  ///< measured, ascending, at least two
  profiler::Interval over_eager, over_best_rival;
};

struct Summary {
  Headline headline;
  std::vector<StrategySummary> strategies;   ///< first seen first
  std::vector<CrossoverSummary> crossovers;  ///< first seen first
  /// What was asked for and could not be done: rivals left out, checks that could not be made; at most 20.
  std::vector<std::string> remarks;
};

/// `cases` with their samples: without, there are no crossovers.
Summary summarize(const std::vector<results::CaseRecord>& cases);

/// Several lines, each ending in a newline.
std::string text(const Summary& summary);
nlohmann::json to_json(const Summary& summary);

/// results::report() with the summary in it, and what a gate decided if that is not null.
nlohmann::json full_report(const results::RunRecord& run, const std::vector<results::CaseRecord>& cases,
                           const nlohmann::json& gate = nullptr);
/// Its text in one line, as it is written to files.
std::string full_report_text(const results::RunRecord& run, const std::vector<results::CaseRecord>& cases,
                             const nlohmann::json& gate = nullptr);

}  // namespace wide::app
