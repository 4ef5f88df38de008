#include "app/stored_captures.h"

#include <algorithm>
#include <array>
#include <nlohmann/json.hpp>
#include <optional>

#include "app/model_hash.h"
#include "app/sweep_job.h"
#include "formats/error.h"
#include "presets/sweep.h"
#include "profiler/trace/chrome_export.h"
#include "profiler/trace/chrome_import.h"
#include "profiler/trace/gzip.h"

namespace wide::app {
namespace {

constexpr std::string_view kWide = "wide";
constexpr const char* kReason = "captured, not measured";

}  // namespace

std::int64_t keep_captures(results::Store& store, const results::RunRecord& run,
                           const presets::CaseSpec& spec, std::span<const profiler::Trace> traces) {
  auto record = with_conditions(presets::record_of(spec));
  record.verdict = results::Verdict::kSkipped, record.reason = kReason;
  record.started = results::utc_now();
  record.model_hash = ModelHashes().of(spec);
  // Packed before the run begins, so that a run without its captures is never seen for long.
  std::vector<std::string> packed;
  for (const auto& trace : traces)
    packed.push_back(profiler::gzip(profiler::chrome_json(std::array<const profiler::Trace*, 1>{&trace})));
  const auto id = store.begin_run(run);
  store.add_case(id, record);
  for (std::size_t i = 0; i < traces.size(); ++i)
    store.add_trace(id, record.key, traces[i].contender, packed[i]);
  store.finish_run(id, results::RunStatus::kDone);
  return id;
}

std::vector<CapturedCase> captured_cases(const results::Store& store, std::int64_t run) {
  std::vector<CapturedCase> found;
  for (const auto& key : store.traced_cases(run)) found.push_back({run, key, store.traces(run, key)});
  return found;
}

bool only_captured(const results::Store& store, const results::RunSummary& run) {
  if (run.cases == 0 || run.passed > 0) return false;
  if (store.traced_cases(run.id).size() != static_cast<std::size_t>(run.cases)) return false;
  const auto cases = store.cases(run.id, /*with_samples=*/false);
  return std::all_of(cases.begin(), cases.end(), [](const results::CaseRecord& record) {
    return record.verdict == results::Verdict::kSkipped;
  });
}

std::vector<profiler::Trace> read_captures(const results::Store& store, const CapturedCase& captured) {
  std::vector<profiler::Trace> traces;
  for (const auto& info : captured.traces) {
    const auto bytes = store.read_trace(captured.run, captured.key, info.name);
    for (auto& trace : profiler::read_chrome(bytes, info.name)) traces.push_back(std::move(trace));
  }
  std::stable_partition(traces.begin(), traces.end(),
                        [](const profiler::Trace& trace) { return trace.contender == kWide; });
  return traces;
}

std::vector<results::CaseLimits> limits_of(const results::Store& store, std::int64_t run) {
  std::vector<results::CaseLimits> all;
  for (const auto& captured : captured_cases(store, run)) {
    try {
      const auto traces = read_captures(store, captured);
      const auto& wide = traces.at(0);
      if (wide.contender != "wide") continue;
      const auto structure = profiler::structure(wide);
      std::optional<profiler::Comparison> comparison;
      for (std::size_t i = 1; i < traces.size() && !comparison; ++i) {
        const auto theirs = profiler::structure(traces[i]);
        if (theirs.has_passes && structure.has_passes)
          comparison = profiler::compare(wide, structure, traces[i], theirs);
      }
      std::optional<profiler::Roofline> roofline;
      const auto peaks = wide.facts.find(profiler::kPeaksFact), dtype = wide.facts.find("dtype");
      if (peaks != wide.facts.end()) {
        roofline = profiler::roofline(wide, structure, profiler::peaks_from_text(peaks->second),
                                      dtype == wide.facts.end() ? "" : dtype->second);
      }
      all.push_back({captured.key, profiler::limits(wide, structure, comparison ? &*comparison : nullptr,
                                                    roofline ? &*roofline : nullptr)});
    } catch (const Error&) {
      continue;  // a report of the rest is better than none
    }
  }
  return all;
}

void name_captures(nlohmann::json& report, const results::Store& store, std::int64_t run) {
  for (auto& entry : report.at("cases")) {
    auto names = nlohmann::json::array();
    for (const auto& trace : store.traces(run, entry.at("key").get<std::string>()))
      names.push_back(trace.name);
    if (!names.empty()) entry["captures"] = std::move(names);
  }
}

}  // namespace wide::app
