#include "app/cli/measuring.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <memory>
#include <nlohmann/json.hpp>
#include <set>

#include "app/cli/existing_file.h"
#include "app/cli/progress.h"
#include "app/cli/run_choice.h"
#include "app/cli/signals.h"
#include "app/cli/values.h"
#include "app/exit_code.h"
#include "app/headline.h"
#include "app/peer_process.h"
#include "app/run_lock.h"
#include "app/summary.h"
#include "app/sweep_job.h"
#include "app/temporary_folder.h"
#include "presets/case_fields.h"
#include "results/escape.h"
#include "results/report.h"
#include "results/run_names.h"
#include "results/store.h"
#include "results/table.h"

namespace wide::cli {
namespace {

using results::CaseRecord;

constexpr std::uint64_t kMebibyte = 1 << 20;
// More for a case whose Python rivals compile N models from cold.
constexpr double kPeersSeconds = 1200;

std::vector<std::string> read_by(const std::vector<presets::CaseSpec>& specs, const MeasuringOptions& options,
                                 const std::filesystem::path& database) {
  auto files = options.read;
  files.push_back(database.string());
  std::error_code none;
  if (std::filesystem::is_regular_file(options.gating.baseline, none))
    files.push_back(options.gating.baseline);
  for (const auto& spec : specs) {
    files.insert(files.end(), {spec.model, spec.inputs, spec.expect});
    files.insert(files.end(), spec.weights.begin(), spec.weights.end());
  }
  return files;
}

std::vector<std::string> files_written(const MeasuringOptions& options) {
  std::vector<std::string> files;
  if (options.report != "-") files.push_back(options.report);
  std::error_code none;  // what is appended may go to a terminal or a pipe
  const auto& summary = options.gating.summary;
  if (!std::filesystem::is_character_file(summary, none) && !std::filesystem::is_fifo(summary, none))
    files.push_back(summary);
  return files;
}

bool any_python_rivals(const std::vector<presets::CaseSpec>& specs) {
  return std::ranges::any_of(specs, presets::has_python_rivals);
}

// They were asked for, so that a sweep without them is not what the user wants: says so before it begins.
void check_python_rivals(const std::vector<presets::CaseSpec>& specs) {
  std::set<std::string> devices;
  for (const auto& spec : specs) {
    if (presets::has_python_rivals(spec)) devices.insert(spec.device);
  }
  for (const auto& device : devices) app::check_peers(device);
}

app::SweepJob make_job(const Context& context, const MeasuringOptions& options, const presets::Preset& preset,
                       const SignalWatch& signals) {
  app::SweepJob job;
  job.preset = preset.name;
  job.command_line = context.command_line;
  job.label = options.label;
  job.specs = preset.cases;
  const double more = any_python_rivals(preset.cases) ? kPeersSeconds : 0;
  job.options.timeout_seconds = options.timeout_seconds.value_or(preset.timeout_seconds + more);
  job.options.memory_limit_bytes = options.memory_limit_mib * kMebibyte;
  job.options.stop = &signals.signal();
  job.resume = options.resume;
  job.run = options.run;
  return job;
}

app::SweepProgress to_progress(Progress& bar) {
  return {.began = [&bar](std::int64_t run, std::size_t stored,
                          std::size_t total) { bar.began(run, stored, total); },
          .starting = [&bar](const presets::CaseSpec& spec) { bar.starting(spec); },
          .finished = [&bar](const CaseRecord& record) { bar.finished(record); },
          .waiting = [&bar] { bar.waiting(); }};
}

// Best first; cases without a speed-up last.
std::vector<CaseRecord> best(std::vector<CaseRecord> cases, int top) {
  const auto gain = [](const CaseRecord& record) {
    return record.speedup.known() ? record.speedup.value : -1.0;
  };
  std::stable_sort(cases.begin(), cases.end(),
                   [&](const auto& a, const auto& b) { return gain(a) > gain(b); });
  if (cases.size() > static_cast<std::size_t>(top)) cases.resize(static_cast<std::size_t>(top));
  return cases;
}

void note_unfinished(const Context& context, const app::SweepJob& job, const results::Store& store) {
  if (job.run > 0) return;
  const auto facts = app::machine_facts(context.engine);
  const auto unfinished = store.unfinished_run(app::settings_of(job), facts);
  if (job.resume && !unfinished) {
    context.log(LogLevel::kWarn, "nothing to resume: no unfinished run has these settings; a new run begins");
  } else if (!job.resume && unfinished &&
             app::status_now(store, *unfinished, results::RunStatus::kRunning) !=
                 results::RunStatus::kRunning) {
    context.log(LogLevel::kWarn,
                fmt::format("run {} with these settings is unfinished; --resume measures the rest of it",
                            *unfinished));
  }
}

// The temporary folder of all workers while it lives: what killed ones were writing for the Python rivals
// goes with it.
class Scratch {
 public:
  Scratch() : folder_("widebench") {
    if (const char* before = std::getenv(kVariable)) before_ = before;
    ::setenv(kVariable, folder_.path().c_str(), /*overwrite=*/1);
  }
  ~Scratch() { before_ ? ::setenv(kVariable, before_->c_str(), 1) : ::unsetenv(kVariable); }
  Scratch(const Scratch&) = delete;
  Scratch& operator=(const Scratch&) = delete;

 private:
  static constexpr const char* kVariable = "TMPDIR";
  app::TemporaryFolder folder_;
  std::optional<std::string> before_;
};

/// The report of a run, with what its gate decided where that is known.
void write_report(Context& context, const MeasuringOptions& options, const results::RunRecord& run,
                  const std::vector<results::CaseRecord>& cases,
                  const results::GateOutcome* decided = nullptr) {
  nlohmann::json gate;
  if (decided != nullptr) {
    gate = to_json(*decided);
    gate["baseline"] = results::printable(options.gating.baseline, 4096);
  }
  if (options.report == "-") {
    context.out << app::full_report(run, cases, gate).dump(2) << '\n' << std::flush;
    return;
  }
  results::write_text(options.report, app::full_report_text(run, cases, gate));
  if (decided == nullptr) context.human() << "report in " << results::printable(options.report, 4096) << '\n';
}

int finish(Context& context, const MeasuringOptions& options, const results::Store& store, std::int64_t run) {
  const auto cases = store.cases(run);
  const auto summary = app::summarize(cases);
  auto& human = context.human();
  const auto shown = options.top > 0 ? best(cases, options.top) : cases;
  human << '\n';
  if (shown.size() < cases.size())
    human << "the best " << shown.size() << " of " << cases.size() << " cases:\n";
  human << results::table(shown) << '\n' << app::text(summary);
  human << "stored as run " << run << " in " << results::printable(store.path().string(), 4096) << '\n';
  // Standard output has one document, once the gate has decided.
  const bool now = options.report == "-" ? options.gating.baseline.empty() : !options.report.empty();
  if (now) write_report(context, options, store.run(run), cases);
  human << std::flush;
  return app::exit_code(summary.headline);
}

int stopped(Context& context, const results::Store& store, std::int64_t run, int signal) {
  const auto database = results::database_flag(store.path());
  context.err
      << (store.run(run).status == results::RunStatus::kDone
              ? fmt::format("stopped; run {} is whole, but its gate or baseline is not decided: give the "
                            "command once more\n",
                            run)
              : fmt::format("stopped; run {} keeps its {} finished cases, `widebench runs resume {}{}` "
                            "measures the rest\n",
                            run, store.finished_cases(run).size(), run, database))
      << std::flush;
  return app::kExitSignal + signal;
}

void not_saved(const Context& context, const MeasuringOptions& options, const std::string& why) {
  context.log(LogLevel::kError, fmt::format("the baseline {} is not saved: {}",
                                            results::printable(options.save_baseline), why));
}

/// Names the runs, and what their unsteady cases need beyond them; none of it when a case computed wrong
/// numbers or none passed. The exit code that measuring again deserves; nothing: stopped.
std::optional<int> save_baseline(Context& context, const MeasuringOptions& options, const app::SweepJob& job,
                                 results::Store& store, std::vector<std::int64_t> runs) {
  const auto more = steady_baseline(context, options.baseline_repeats, job, store, runs);
  if (!more) return std::nullopt;
  int code = app::kExitDone;
  for (const auto run : *more) {
    runs.push_back(run);
    code = app::worst(code, app::exit_code(app::headline(store.cases(run, false))));
  }
  results::Side side;
  for (const auto run : runs) side.runs.push_back({store.run(run), store.cases(run, false)});
  for (std::size_t i = 0; i < runs.size(); ++i) {
    const auto* wrong = results::wrong_case(side.runs[i].cases);
    if (wrong == nullptr) continue;
    not_saved(
        context, options,
        fmt::format("run {} computed wrong numbers in {}", runs[i], results::printable(wrong->key, 150)));
    return app::kExitWrongNumbers;
  }
  if (!results::any_passed(side)) {
    not_saved(context, options, "no case passed");
    return app::worst(code, app::kExitCannotMeasure);
  }
  store.set_baseline(options.save_baseline, runs);
  return code;
}

void check_repeats(const MeasuringOptions& options) {
  if (options.repeat > 1 && options.resume) throw Error("usage", "give --repeat or --resume, not both");
  if (options.repeat > 1 && !options.report.empty())
    throw Error("usage", "a report holds one run; with --repeat use `widebench runs export`");
  if (!options.save_baseline.empty()) results::check_baseline_name(options.save_baseline);
}

}  // namespace

void add_measuring_options(CLI::App& command, MeasuringOptions& options) {
  constexpr const char* kGroup = "Measuring";
  command.add_option("--device", options.devices, "cpu, cuda, or auto (default): cuda where one is usable")
      ->delimiter(',')
      ->allow_extra_args(false)
      ->check(CLI::IsMember(presets::kDevices))
      ->type_name("DEVICE,…")
      ->group(kGroup);
  command.add_option("--db", options.database, "Database; default $XDG_DATA_HOME/widebench/results.db")
      ->type_name("FILE")
      ->group(kGroup);
  command.add_flag("--resume", options.resume, "Resume the newest unfinished run of equal settings")
      ->group(kGroup);
  command
      .add_option("--timeout", options.timeout_seconds,
                  "A case that takes longer is killed; default by preset")
      ->check(between(0.1, 86400.0))
      ->type_name("SECONDS")
      ->group(kGroup);
  command.add_option("--threads", options.threads, "CPU threads of a case; 0: as the library chooses")
      ->check(between(0, 4096))
      ->type_name("COUNT")
      ->group(kGroup);
  command.add_option("--seed", options.seed, "Of weights, inputs and the order of contenders")
      ->check(between(std::uint64_t{0}, std::uint64_t{INT64_MAX}))
      ->type_name("NUMBER")
      ->group(kGroup);
  command
      .add_option("--memory-limit", options.memory_limit_mib,
                  "Address space of a case; 0 (default): no limit")
      ->check(between(std::uint64_t{0}, std::uint64_t{1} << 40))
      ->type_name("MIB")
      ->group(kGroup);
  command.add_option("--label", options.label, "A name for the run in the history")
      ->type_name("TEXT")
      ->group(kGroup);
  command.add_option("--repeat", options.repeat, "Measure everything so many times, a run each")
      ->check(between(1, 1000))
      ->type_name("COUNT")
      ->group(kGroup);
  auto* baseline = command
                       .add_option("--save-baseline", options.save_baseline,
                                   "Name what is measured as a baseline; best with --repeat 4")
                       ->type_name("NAME")
                       ->group(kGroup);
  command
      .add_option("--baseline-repeats", options.baseline_repeats,
                  "How often its cases that differ much between processes are measured, at most; default 16")
      ->needs(baseline)
      ->check(between(1, 1000))
      ->type_name("COUNT")
      ->group(kGroup);
  add_gating_options(command, options.gating);
}

presets::PresetChanges changes(const MeasuringOptions& options) {
  presets::PresetChanges result;
  result.devices = options.devices;
  result.threads = options.threads;
  result.seed = options.seed;
  return result;
}

int measure(Context& context, const MeasuringOptions& options, const presets::Preset& preset) {
  SignalWatch signals;
  auto job = make_job(context, options, preset, signals);
  app::resolve_devices(job.specs, context.engine);
  app::check_cases(job.specs, context.engine);
  if (job.specs.empty())
    throw app::CannotMeasure("preset", "no case is left to measure; name other subjects");
  if (options.report != "-") check_place("report", options.report);
  if (!options.gating.baseline.empty()) check_place("report", summary_file(options.gating));
  check_repeats(options);
  check_python_rivals(job.specs);
  const auto path = database_path(options.database);
  check_not_read(files_written(options), read_by(job.specs, options, path));
  const auto baseline = read_baseline(path, options.gating, job, context.engine);
  auto store = results::Store::open(path, results::OpenMode::kReadWrite);
  note_unfinished(context, job, store);
  std::optional<Scratch> scratch;
  if (any_python_rivals(job.specs)) scratch.emplace();
  std::vector<std::int64_t> runs;
  int code = app::kExitDone;
  for (int repeat = 0; repeat < options.repeat; ++repeat) {
    app::SweepOutcome outcome;
    {
      Progress bar(context);
      outcome = app::run_sweep_job(job, context.engine, store, to_progress(bar));
    }
    if (outcome.end == presets::SweepEnd::kStopped)
      return stopped(context, store, outcome.run, signals.signal());
    if (!outcome.backup_fault.empty()) context.log(LogLevel::kWarn, outcome.backup_fault);
    runs.push_back(outcome.run);
    code = app::worst(code, finish(context, options, store, outcome.run));
  }
  std::vector<std::unique_ptr<app::RunLock>> held;  // nobody deletes them before all is decided
  if (baseline || !options.save_baseline.empty())
    for (const auto run : runs) held.push_back(std::make_unique<app::RunLock>(path, run));
  const auto save = [&] {
    if (options.save_baseline.empty()) return code;
    const auto saved = save_baseline(context, options, job, store, runs);
    return saved ? app::worst(code, *saved) : stopped(context, store, runs.back(), signals.signal());
  };
  if (!baseline) return save();
  const auto decided = run_gate(context, options.gating, *baseline, job, store, runs.back());
  const auto report_with_gate = [&] {
    if (!options.report.empty())
      write_report(context, options, store.run(runs.back()), store.cases(runs.back()), &decided);
  };
  if (decided.verdict == results::GateVerdict::kStopped) {
    report_with_gate();
    return stopped(context, store, runs.back(), signals.signal());
  }
  code = gated_exit_code(code, decided, options.gating);
  try {
    report_with_gate();
    append_summary(options.gating, decided);
  } catch (const Error& error) {
    if (code == app::kExitDone) throw;
    context.log(LogLevel::kError, error.what());  // the verdict is worth more
  }
  if (decided.verdict == results::GateVerdict::kPassed) return save();
  // What did not pass is nothing to hold the next run against.
  if (!options.save_baseline.empty())
    not_saved(context, options, "the gate says " + std::string(results::name(decided.verdict)));
  return code;
}

}  // namespace wide::cli
