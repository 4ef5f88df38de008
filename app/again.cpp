#include "app/again.h"

#include "app/model_hash.h"
#include "app/sweep_job.h"
#include "formats/error.h"
#include "results/table.h"

namespace wide::app {

std::vector<presets::CaseSpec> specs_of(const results::RunRecord& run) {
  const auto cases = run.settings.is_object() ? run.settings.find("cases") : run.settings.end();
  if (!run.settings.is_object() || cases == run.settings.end() || !cases->is_array() || cases->empty()) {
    throw Error("runs",
                "run " + results::printable(run.uid) +
                    " does not say how its cases were measured; only a sweep of ours can be repeated");
  }
  std::vector<presets::CaseSpec> specs;
  const auto names_files = [](const nlohmann::json& entry) {
    return entry.is_object() &&
           (entry.contains("model") || entry.contains("weights") || entry.contains("inputs") ||
            entry.contains("expect") || entry.value("kind", nlohmann::json()) == "model");
  };
  for (const auto& entry : *cases) {
    if (run.origin != "measured" && names_files(entry)) {
      throw Error("runs",
                  "the imported run names files of a model; no path is taken from a report: measure the "
                  "model with `widebench benchmark --model` and compare");
    }
    specs.push_back(presets::spec_from_json(entry, "settings of the run"));
  }
  return specs;
}

std::string cannot_go_on(const results::RunRecord& run, const profiler::Facts& machine) {
  const auto name = "run " + std::to_string(run.id);
  if (run.status == results::RunStatus::kDone) return name + " is done: there is nothing left to measure";
  if (run.origin != "measured") return name + " was imported, not measured here";
  if (run.parent != 0) return name + " measured alerts of another run again; measure that run once more";
  if (profiler::key(run.machine) != profiler::key(machine)) {
    return name +
           " was measured on another machine, or with other libraries; its cases would not be comparable";
  }
  return "";
}

std::vector<presets::CaseSpec> with_keys(std::vector<presets::CaseSpec> specs,
                                         const std::set<std::string>& keys) {
  std::erase_if(specs, [&](const auto& spec) { return !keys.contains(spec.key()); });
  return specs;
}

std::optional<results::Imported> measure_once(const std::vector<presets::CaseSpec>& specs,
                                              const results::RunRecord& run, const Measurer& measurer) {
  results::Imported result{run, {}};
  result.run.id = 0;
  result.run.uid.clear();
  result.run.started = results::utc_now();
  result.run.origin = "measured";
  result.run.status = results::RunStatus::kDone;
  auto options = measurer.options;
  if (!measurer.program.empty()) options.worker = {measurer.program, "worker"};
  ModelHashes hashes;
  std::string model;
  presets::Sink sink;
  sink.starting = [&](const presets::CaseSpec& spec, std::size_t) {
    model = hashes.of(spec);
    if (measurer.starting) measurer.starting(spec);
  };
  sink.finished = [&](const presets::CaseSpec&, const results::CaseRecord& record, std::size_t) {
    result.cases.push_back(with_conditions(record));
    result.cases.back().model_hash = model;
  };
  sink.waiting = measurer.waiting;
  if (presets::run_sweep(specs, options, sink) != presets::SweepEnd::kDone) return std::nullopt;
  return result;
}

std::optional<Turns> measure_in_turns(const results::Imported& first, const Measurer& first_measurer,
                                      const results::Imported& second, const Measurer& second_measurer,
                                      const std::vector<presets::CaseSpec>& first_specs,
                                      const std::vector<presets::CaseSpec>& second_specs, int repeats) {
  Turns turns;
  for (int repeat = 0; repeat < repeats; ++repeat) {
    for (int turn = 0; turn < 2; ++turn) {
      const bool is_first = (repeat + turn) % 2 == 0;
      auto run = is_first ? measure_once(first_specs, first.run, first_measurer)
                          : measure_once(second_specs, second.run, second_measurer);
      if (!run) return std::nullopt;
      (is_first ? turns.first : turns.second).runs.push_back(std::move(*run));
    }
  }
  return turns;
}

}  // namespace wide::app
