// widebench gate: the gate's self-test. The gate itself is --baseline of a sweep, see gating.h.
#include <fmt/format.h>

#include <algorithm>
#include <memory>
#include <nlohmann/json.hpp>
#include <stop_token>
#include <thread>
#include <vector>

#include "app/again.h"
#include "app/cli/context.h"
#include "app/cli/run_choice.h"
#include "app/cli/signals.h"
#include "app/cli/values.h"
#include "app/exit_code.h"
#include "app/sweep_job.h"
#include "presets/preset.h"
#include "results/gate_self_test.h"
#include "results/table.h"

namespace wide::cli {
namespace {

struct GateArguments {
  bool self_test = false;
  std::string preset, database;
  std::vector<std::string> runs;
  double minimum_effect_percent = 5;
  int busy_loops = 0;  ///< beside a second series of measurements
  results::SelfTestOptions test;
};

/// Measures the preset as often as the self-test needs, whole sweeps one after the other. Nothing: stopped.
std::optional<std::vector<results::Imported>> measure_runs(Context& context, const GateArguments& options,
                                                           const SignalWatch& signals) {
  const auto preset = presets::read_preset(presets::find_preset(options.preset));
  app::SweepJob job;
  job.preset = preset.name;
  job.specs = preset.cases;
  app::resolve_devices(job.specs, context.engine);
  app::check_cases(job.specs, context.engine);
  app::Measurer measurer;
  measurer.options.timeout_seconds = preset.timeout_seconds;
  measurer.options.stop = &signals.signal();
  const auto record = app::run_of(job, context.engine);
  const int needed = std::min(results::runs_of_a_trial(options.test), results::kRunsToDrawFrom);
  std::vector<results::Imported> runs;
  for (int i = 0; i < needed; ++i) {
    context.err << fmt::format("measuring {} cases, {} of {}\n", job.specs.size(), i + 1, needed)
                << std::flush;
    auto run = app::measure_once(job.specs, record, measurer);
    if (!run) return std::nullopt;
    runs.push_back(std::move(*run));
  }
  return runs;
}

// Threads that do nothing, as fast as they can, for as long as this lives.
class BusyLoops {
 public:
  explicit BusyLoops(int count) {
    for (int i = 0; i < count; ++i)
      loops_.emplace_back([](const std::stop_token& stop) {
        while (!stop.stop_requested()) {
        }
      });
  }

 private:
  std::vector<std::jthread> loops_;
};

int report(const Context& context, const std::string& what, const results::SelfTestResult& result, bool busy,
           nlohmann::json& document) {
  context.human() << what << '\n' << text(result) << std::flush;
  document[what] = to_json(result);
  if (busy ? results::false_alarms_are_rare(result) : results::trustworthy(result)) return app::kExitDone;
  context.human()
      << (busy ? "not to be trusted here: false alarms must be at most 1 %, busy or not\n"
               : "not to be trusted here: false alarms must be at most 1 %, 10 % found in at least "
                 "95 %; take more baseline runs or repeats, or a quieter machine\n");
  return app::kExitCannotMeasure;
}

int report_replayed(const Context& context, const std::string& what, const GateArguments& options,
                    const std::vector<results::Imported>& runs, bool busy, nlohmann::json& document) {
  for (const auto& run : runs) {
    const auto* wrong = results::wrong_case(run.cases);
    if (wrong == nullptr) continue;
    context.log(LogLevel::kError, "there is nothing to test with: wrong numbers were computed in " +
                                      results::printable(wrong->key, 150));
    return app::kExitWrongNumbers;
  }
  const int needed = results::runs_of_a_trial(options.test);
  if (std::ssize(runs) < needed)
    context.human() << fmt::format("{} runs, drawn with replacement for the {} that a trial may need\n",
                                   runs.size(), needed);
  const auto replayed = results::replayed_self_test(runs, options.test);
  if (options.test.stopped()) return app::kExitDone;  // the caller says so
  return report(context, what, replayed, busy, document);
}

int self_test(Context& context, GateArguments& options) {
  if (!options.self_test)
    throw Error("usage", "give --self-test; the gate itself is `widebench --preset ci --baseline NAME`");
  options.test.gate.compare.minimum_effect = options.minimum_effect_percent / 100;
  const SignalWatch signals;
  options.test.stopped = [&signals] { return signals.signal() != 0; };
  auto document = nlohmann::json::object();
  const auto simulated = results::simulated_self_test(options.test);
  if (options.test.stopped()) return app::kExitSignal + signals.signal();
  int code = report(context, "simulated noise", simulated, false, document);
  const auto add = [&](const std::string& what, const std::vector<results::Imported>& runs, bool busy) {
    const int next = report_replayed(context, what, options, runs, busy, document);
    if (code == app::kExitDone || next == app::kExitWrongNumbers) code = next;
  };
  std::vector<results::Imported> stored;
  for (const auto& choice : options.runs) {
    auto side = read_side(database_path(options.database), choice);
    for (auto& run : side.runs) stored.push_back(std::move(run));
  }
  if (!stored.empty()) add("real measurements", stored, false);
  for (const bool busy : {false, true}) {
    if (options.preset.empty() || (busy && options.busy_loops == 0)) continue;
    const BusyLoops loops(busy ? options.busy_loops : 0);
    const auto measured = measure_runs(context, options, signals);
    if (!measured) return app::kExitSignal + signals.signal();
    add(busy ? fmt::format("real measurements beside {} busy loops", options.busy_loops)
             : "real measurements",
        *measured, busy);
    if (code == app::kExitWrongNumbers) return code;
  }
  if (options.test.stopped()) return app::kExitSignal + signals.signal();
  if (context.json) context.out << document.dump(2) << '\n';
  return code;
}

}  // namespace

void add_gate_command(CLI::App& app, Context& context) {
  const auto options = std::make_shared<GateArguments>();
  auto& command = *app.add_subcommand("gate", "How far the gate (--baseline) can be trusted on this machine");
  command.add_flag("--self-test", options->self_test,
                   "Plant slow-downs of 2, 5, 10 and 20 %; print false alarms and power with intervals");
  command.add_option("--trials", options->test.trials, "Default 40")
      ->check(between(1, 100'000))
      ->type_name("COUNT");
  command.add_option("--cases", options->test.cases, "Simulated cases of a trial; default 24")
      ->check(between(8, 10'000))
      ->type_name("COUNT");
  command
      .add_option("--baseline-runs", options->test.baseline_runs, "Runs that make the baseline; default 4")
      ->check(between(1, 1000))
      ->type_name("COUNT");
  command
      .add_option(
          "--baseline-repeats", options->test.baseline.most,
          "How often a baseline measures cases that differ much between processes, at most; default 16")
      ->check(between(1, 1000))
      ->type_name("COUNT");
  command
      .add_option("--gate-repeats", options->test.gate.repeats,
                  "How often an alert is measured again at most; default 24")
      ->check(between(0, 1000))
      ->type_name("COUNT");
  command
      .add_option("--min-effect", options->minimum_effect_percent,
                  "Smaller slow-downs do not count; default 5")
      ->check(between(0.1, 1000.0))
      ->type_name("PERCENT");
  command
      .add_option("--noise", options->test.process_spread, "Simulated spread between processes; default 0.02")
      ->check(between(0.0, 1.0))
      ->type_name("SHARE");
  command.add_option("--seed", options->test.seed, "Of the simulation and the draws")
      ->check(decimal())
      ->type_name("NUMBER");
  auto* preset =
      command.add_option("--preset", options->preset, "Also on real measurements of this preset, made now")
          ->type_name("NAME|FILE");
  command
      .add_option("--busy", options->busy_loops,
                  "And once more with so many busy loops beside it, where false alarms alone count")
      ->check(between(1, 1024))
      ->needs(preset)
      ->type_name("COUNT");
  command.add_option("--runs", options->runs, "Also on these stored runs of one preset")
      ->excludes(preset)
      ->type_name("RUN…");
  command.add_option("--db", options->database, "Database; default $XDG_DATA_HOME/widebench/results.db")
      ->type_name("FILE");
  add_common_options(command, context);
  command.footer(examples({"widebench gate --self-test", "widebench gate --self-test --preset ci --busy 2",
                           "widebench gate --self-test --runs 1 2 3 4 5 6 7 8 9 10 11 12 13"}) +
                 "\n\nExit codes: 0 to be trusted, 3 too noisy for that, 5 a case computed wrong numbers");
  set_action(command, context, [&context, options] { return self_test(context, *options); });
}

}  // namespace wide::cli
