#pragma once
// Captures in the database: the trace of each way to run the members, packed, with the case that was
// captured.

#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <span>
#include <string>
#include <vector>

#include "presets/case.h"
#include "profiler/trace/trace.h"
#include "results/export.h"
#include "results/store.h"

namespace wide::app {

/// Stores `traces` with a case of its own in a run of its own, which begins and ends here; gives the run's
/// id. The case is "skipped": nothing of it was measured, and no time of a capture becomes a sample.
std::int64_t keep_captures(results::Store& store, const results::RunRecord& run,
                           const presets::CaseSpec& spec, std::span<const profiler::Trace> traces);

/// A case with captures.
struct CapturedCase {
  std::int64_t run = 0;
  std::string key;
  std::vector<results::TraceInfo> traces;  ///< by name: "eager", "wide"
};

/// Those of a run, in the order they were stored.
std::vector<CapturedCase> captured_cases(const results::Store& store, std::int64_t run);

/// True when nothing of a run was measured: all its cases are captures only.
bool only_captured(const results::Store& store, const results::RunSummary& run);

/// Wide first, then its rivals by name. Throws wide::Error when a trace is damaged.
std::vector<profiler::Trace> read_captures(const results::Store& store, const CapturedCase& captured);

/// Which operations hold the speed-up of a run's captured cases back; damaged captures are left out.
std::vector<results::CaseLimits> limits_of(const results::Store& store, std::int64_t run);

/// Adds to each case of a report the names of its captures. The captures themselves are in no report.
void name_captures(nlohmann::json& report, const results::Store& store, std::int64_t run);

}  // namespace wide::app
