#include "results/report.h"

#include <cmath>
#include <set>

#include "formats/error.h"
#include "results/in_parts.h"
#include "results/json_fields.h"
#include "results/table.h"
#include "results/text.h"

namespace wide::results {
namespace {

using nlohmann::json;

/// [low, high], or null when neither is known.
json limits(const Interval& interval) {
  if (!std::isfinite(interval.low) && !std::isfinite(interval.high)) return nullptr;
  return json::array({finite(interval.low), finite(interval.high)});
}

json time_json(const Summary& summary, double first_run_us) {
  return {{"median_us", finite(summary.median_us)},
          {"ci95_us", limits(summary.ci95)},
          {"min_us", finite(summary.min_us)},
          {"iqr_us", finite(summary.iqr_us)},
          {"mad_us", finite(summary.mad_us)},
          {"outliers", summary.outliers},
          {"samples", summary.samples},
          {"first_run_us", finite(first_run_us)}};
}

json rivals_json(const CaseRecord& record) {
  json rivals = json::object();
  for (const Rival& rival : record.rivals) {
    json entry = time_json(rival.time, rival.first_run_us);
    entry["speedup"] = finite(rival.speedup.value);
    entry["speedup_ci95"] = limits(rival.speedup);
    const std::string name = valid_utf8(rival.name);
    if (!rivals.emplace(name, std::move(entry)).second) {
      throw Error("report",
                  "case '" + printable(record.key) + "' has two rivals named '" + printable(name) + "'");
    }
  }
  return rivals;
}

/// Names in the order of Sample::contender; this is also what keeps the order of the rivals.
json contenders_json(const CaseRecord& record) {
  json names = json::array({"wide"});
  for (const Rival& rival : record.rivals) names.push_back(valid_utf8(rival.name));
  names.push_back("wide'");
  return names;
}

json checks_json(const CaseRecord& record) {
  json checks = json::array();
  for (const Check& check : record.checks) {
    checks.push_back({{"what", valid_utf8(check.what)},
                      {"member", valid_utf8(check.member)},
                      {"max_abs_err", finite(check.max_abs_err)},
                      {"max_rel_err", finite(check.max_rel_err)},
                      {"tolerance", finite(check.tolerance)},
                      {"passed", check.passed},
                      {"text", valid_utf8(check.text)}});
  }
  return checks;
}

/// Columns rather than rows: a tenth of the size.
json samples_json(const CaseRecord& record) {
  json contender = json::array(), round = json::array(), position = json::array(), iterations = json::array(),
       microseconds = json::array();
  for (const profiler::Sample& sample : record.samples) {
    contender.push_back(sample.contender);
    round.push_back(sample.round);
    position.push_back(sample.position);
    iterations.push_back(sample.iterations);
    microseconds.push_back(finite(sample.microseconds));
  }
  return {{"contender", std::move(contender)},
          {"round", std::move(round)},
          {"position", std::move(position)},
          {"iterations", std::move(iterations)},
          {"microseconds", std::move(microseconds)}};
}

json tags_json(const RunRecord& run) {
  json tags = json::array();
  for (const std::string& tag : run.tags) tags.push_back(valid_utf8(tag));
  return tags;
}

json notes_json(const RunRecord& run) {
  json notes = json::array();
  for (const Note& note : run.notes)
    notes.push_back({{"created", valid_utf8(note.created)}, {"text", valid_utf8(note.text)}});
  return notes;
}

/// `value` of a caller as it can be written: text made valid, numbers made finite.
json cleaned(const json& value) {
  return json::parse(dump(value));
}

}  // namespace

json reproduce_json(const RunRecord& run) {
  std::set<std::uint64_t> seeds;
  if (run.settings.is_object() && run.settings.contains("cases") && run.settings["cases"].is_array()) {
    for (const json& spec : run.settings["cases"]) {
      const auto seed = spec.is_object() ? spec.find("seed") : spec.end();
      if (spec.is_object() && seed != spec.end() && seed->is_number_unsigned())
        seeds.insert(seed->get<std::uint64_t>());
    }
  }
  return {{"command", valid_utf8(run.command_line)},
          {"again", "widebench reproduce " + valid_utf8(run.uid.empty() ? "REPORT.json" : run.uid)},
          {"seeds", seeds},
          {"threads", run.threads},
          {"environment", environment_json(run.environment)},
          {"tool", valid_utf8(run.tool_version)},
          {"git_commit", valid_utf8(run.git_commit)}};
}

json case_json(const CaseRecord& record, Samples samples) {
  json result = {
      {"key", valid_utf8(record.key)},
      {"subject", valid_utf8(record.subject)},
      {"kind", valid_utf8(record.kind)},
      {"n", record.n},
      {"shape", cleaned(record.shape)},
      {"device", valid_utf8(record.device)},
      {"dtype", valid_utf8(record.dtype)},
      {"mode", valid_utf8(record.mode)},
      {"strategy", valid_utf8(record.strategy)},
      {"verdict", name(record.verdict)},
      {"reason", valid_utf8(record.reason)},
      {"max_abs_err", finite(max_abs_err(record))},
      {"checks", checks_json(record)},
      {"wide", time_json(record.wide, record.first_run_us)},
      {"rivals", rivals_json(record)},
      {"contenders", contenders_json(record)},
      {"speedup", finite(record.speedup.value)},
      {"speedup_ci95", limits(record.speedup)},
      {"speedup_best_rival", finite(record.speedup_best_rival.value)},
      {"speedup_best_rival_ci95", limits(record.speedup_best_rival)},
      {"best_rival", valid_utf8(record.best_rival)},
      {"noise_floor", {{"ratio", finite(record.noise_floor.value)}, {"ci95", limits(record.noise_floor)}}},
      {"rounds", record.rounds},
      {"stop_reason", valid_utf8(record.stop_reason)},
      {"compile_us", finite(record.compile_us)},
      {"peak_memory_bytes", record.peak_memory_bytes ? json(*record.peak_memory_bytes) : json(nullptr)},
      {"plan", cleaned(record.plan)},
      {"started", valid_utf8(record.started)},
      {"seconds", finite(record.seconds)},
      {"seed", record.seed},
      {"load_1min", finite(record.load_1min)},
      {"cpu_mhz", finite(record.cpu_mhz)},
      {"model_hash", valid_utf8(record.model_hash)},
      {"circumstances", to_json(record.circumstances)}};
  if (samples == Samples::kInclude) result["samples"] = samples_json(record);
  return result;
}

json report(const RunRecord& run, const std::vector<CaseRecord>& cases, Samples samples) {
  json machine = facts_json(run.machine);
  machine["key"] = profiler::key(run.machine);
  json entries = json::array();
  for (const CaseRecord& record : cases) entries.push_back(case_json(record, samples));
  return {{"schema_version", kReportSchemaVersion},
          {"tool",
           {{"name", "widebench"},
            {"version", valid_utf8(run.tool_version)},
            {"git_commit", valid_utf8(run.git_commit)},
            {"statistics_version", run.statistics_version}}},
          {"run",
           {{"uid", valid_utf8(run.uid)},
            {"started", valid_utf8(run.started)},
            {"command_line", valid_utf8(run.command_line)},
            {"preset", valid_utf8(run.preset)},
            {"device", valid_utf8(run.device)},
            {"threads", run.threads},
            {"label", valid_utf8(run.label)},
            {"origin", valid_utf8(run.origin)},
            {"status", name(run.status)},
            {"environment", environment_json(run.environment)},
            {"tags", tags_json(run)},
            {"notes", notes_json(run)}}},
          {"reproduce", reproduce_json(run)},
          {"machine", std::move(machine)},
          {"settings", cleaned(run.settings)},
          {"cases", std::move(entries)}};
}

std::string report_text(const RunRecord& run, const std::vector<CaseRecord>& cases, const json& more) {
  json frame = report(run, {});
  frame.update(more);
  frame.erase("cases");  // the first by name, so that it can stand before all others
  std::string text = R"({"cases":[)";
  for (const std::string& part : in_parts(cases.size(), [&](std::size_t first, std::size_t last) {
         std::string written;
         for (std::size_t i = first; i < last; ++i)
           written.append(i > 0 ? "," : "").append(dump(case_json(cases[i])));
         return written;
       }))
    text += part;
  return text.append("],").append(dump(frame), 1);
}

}  // namespace wide::results
