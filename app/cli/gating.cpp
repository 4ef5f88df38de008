#include "app/cli/gating.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <fstream>

#include "app/again.h"
#include "app/cli/progress.h"
#include "app/cli/run_choice.h"
#include "app/cli/values.h"
#include "app/exit_code.h"
#include "results/baseline.h"
#include "results/store.h"
#include "results/table.h"

namespace wide::cli {
namespace {

results::GateOptions gate_options(const GatingOptions& options) {
  results::GateOptions result;
  result.compare.minimum_effect = options.minimum_effect_percent / 100;
  result.compare.minimum_us = options.minimum_us;
  result.compare.across_machines = options.across_machines;
  result.repeats = options.repeats;
  result.fail_inconclusive = options.fail_inconclusive;
  return result;
}

std::int64_t store_again(results::Store& store, const results::Imported& fresh, std::int64_t parent,
                         const std::string& what) {
  auto record = fresh.run;
  record.parent = parent;
  record.label = fmt::format("{} of run {} measured again", what, parent);
  const auto id = store.begin_run(record);
  for (const auto& entry : fresh.cases) store.add_case(id, entry);
  return id;
}

}  // namespace

std::string summary_file(const GatingOptions& options) {
  const char* github = std::getenv("GITHUB_STEP_SUMMARY");
  return !options.summary.empty() ? options.summary : github == nullptr ? "" : github;
}

void append_summary(const GatingOptions& options, const results::GateOutcome& outcome) {
  const auto path = summary_file(options);
  if (path.empty()) return;
  std::ofstream file(path, std::ios::app | std::ios::binary);
  file << markdown(outcome) << '\n';
  file.flush();
  if (!file)
    throw Error("report", path + (options.summary.empty() ? ", which GITHUB_STEP_SUMMARY names" : "") +
                              ": the summary cannot be written; check folder, permissions and free space");
}

void add_gating_options(CLI::App& command, GatingOptions& options) {
  constexpr const char* kGroup = "Gate";
  auto* baseline = command
                       .add_option("--baseline", options.baseline,
                                   "Fail with code 1 when slower than this run, baseline or report file")
                       ->type_name("RUN")
                       ->group(kGroup);
  const auto with_baseline = [&](CLI::Option* option) { option->needs(baseline)->group(kGroup); };
  with_baseline(command
                    .add_option("--min-effect", options.minimum_effect_percent,
                                "Smaller slow-downs do not count; default 5")
                    ->check(between(0.1, 1000.0))
                    ->type_name("PERCENT"));
  with_baseline(command
                    .add_option("--min-us", options.minimum_us,
                                "Nor do those of fewer microseconds of wide's time; default 0")
                    ->check(between(0.0, 1e12))
                    ->type_name("US"));
  with_baseline(
      command
          .add_option("--gate-repeats", options.repeats,
                      "How often an alert is measured again at most; default 24, 0: it stays undecided")
          ->check(between(0, 1000))
          ->type_name("COUNT"));
  with_baseline(command
                    .add_option("--baseline-program", options.baseline_program,
                                "The baseline's own widebench: measures alerts in turns with this one")
                    ->check(program())
                    ->type_name("FILE"));
  with_baseline(
      command.add_flag("--fail-inconclusive", options.fail_inconclusive, "Undecided cases end with code 4"));
  with_baseline(command.add_flag("--across-machines", options.across_machines,
                                 "Allow a baseline of another machine, library or number of threads"));
  with_baseline(command
                    .add_option("--summary", options.summary,
                                "Append the verdict as Markdown; default $GITHUB_STEP_SUMMARY where set")
                    ->type_name("FILE"));
}

std::optional<results::Side> read_baseline(const std::filesystem::path& database,
                                           const GatingOptions& options, const app::SweepJob& job,
                                           const app::Engine& engine) {
  if (options.baseline.empty()) return std::nullopt;
  auto side = read_side(database, options.baseline);
  results::require_usable(side);
  results::CompareOptions how;
  how.across_machines = options.across_machines;
  const auto seen = results::compare(side, {"this run", {{app::run_of(job, engine), {}}}}, how);
  if (!seen.barriers.empty() && !options.across_machines) {
    throw Error("gate",
                "the baseline cannot be compared with what is measured here: " + seen.barriers.front() +
                    "; measure a baseline here, or allow it with --across-machines");
  }
  return side;
}

// Plans by times that are taken anew: a bad one in the cost book is no fault of the program. What is measured
// then does not count: in a process that has just planned, rivals take other times. The cases that did not
// pass; nothing: stopped.
std::optional<std::vector<results::CaseRecord>> plan_anew(const std::vector<presets::CaseSpec>& specs,
                                                          const results::RunRecord& facts,
                                                          app::Measurer measurer) {
  measurer.options.worker.push_back("--anew");
  auto planned = app::measure_once(specs, facts, measurer);
  if (!planned) return std::nullopt;
  std::erase_if(planned->cases, [](const auto& record) {
    return record.verdict == results::Verdict::kPass || record.verdict == results::Verdict::kSkipped;
  });
  return std::move(planned->cases);
}

// It may be no widebench, or one that cannot run here; each case would be tried as often as an alert may be.
void check_baseline_program(const std::string& program, const results::Imported& theirs,
                            const results::Imported& ours) {
  const auto passed = [](const auto& record) { return record.verdict == results::Verdict::kPass; };
  if (theirs.cases.empty() || std::ranges::any_of(theirs.cases, passed) ||
      std::ranges::none_of(ours.cases, passed))
    return;
  throw app::CannotMeasure("gate", results::printable(program, 4096) +
                                       ": --baseline-program measured no case that this program measured (" +
                                       results::printable(theirs.cases.front().reason, 200) +
                                       "); give the widebench that measured the baseline");
}

// These stand in place of what came of them afterwards.
void put(const std::vector<results::CaseRecord>& records, results::Imported& run) {
  for (const auto& record : records) {
    const auto same = std::ranges::find(run.cases, record.key, &results::CaseRecord::key);
    if (same != run.cases.end()) *same = record;
  }
}

results::GateOutcome run_gate(Context& context, const GatingOptions& options, const results::Side& baseline,
                              const app::SweepJob& job, results::Store& store, std::int64_t run) {
  const results::Side measured{fmt::format("run {}", run), {{store.run(run), store.cases(run, false)}}};
  const auto again = [&](const std::set<std::string>& keys, int repeat) -> std::optional<results::Fresh> {
    const auto specs = app::with_keys(job.specs, keys);
    if (repeat == 0)
      context.err << fmt::format("{} alerts are measured again, up to {} times\n", keys.size(),
                                 options.repeats)
                  << std::flush;
    const app::Measurer own{.options = job.options, .program = {}, .waiting = {}, .starting = {}};
    app::Measurer other = own;
    other.program = options.baseline_program;
    const auto facts = measured.runs.front().run;
    std::optional<std::vector<results::CaseRecord>> troubles{std::in_place};
    if (repeat == 0) troubles = plan_anew(specs, facts, own);
    if (!troubles) return std::nullopt;
    results::Fresh fresh;
    for (int turn = 0; turn < 2; ++turn) {
      const bool is_own = (turn + repeat) % 2 == 0;
      if (!is_own && other.program.empty()) continue;
      auto result =
          app::measure_once(specs, is_own ? facts : baseline.runs.front().run, is_own ? own : other);
      if (!result) return std::nullopt;
      if (is_own) {
        fresh.run = std::move(*result);
        put(*troubles, fresh.run);
        store_again(store, fresh.run, run, "alerts");
      } else {
        if (repeat == 0) check_baseline_program(other.program, *result, fresh.run);
        fresh.baseline = std::move(*result);
      }
    }
    return fresh;
  };
  auto outcome = results::gate(baseline, measured, gate_options(options), again);
  context.human() << '\n' << text(outcome) << std::flush;
  return outcome;
}

std::optional<std::vector<std::int64_t>> steady_baseline(Context& context, int most, const app::SweepJob& job,
                                                         results::Store& store,
                                                         const std::vector<std::int64_t>& runs) {
  results::BaselineOptions options;
  options.most = most;
  results::Side side{"baseline", {}};
  for (const auto id : runs) side.runs.push_back({store.run(id), store.cases(id, false)});
  std::vector<std::int64_t> ids;
  const auto has_wrong = [](const results::Imported& run) {
    return results::wrong_case(run.cases) != nullptr;
  };
  const app::Measurer measurer{.options = job.options, .program = {}, .waiting = {}, .starting = {}};
  for (;;) {
    const auto keys = results::unsteady_cases(side, options);
    if (keys.empty() || std::any_of(side.runs.begin(), side.runs.end(), has_wrong)) return ids;
    if (ids.empty()) {
      context.err << fmt::format(
                         "{} cases differ much between processes; they are measured again, up to {} times\n",
                         keys.size(), most)
                  << std::flush;
    }
    auto fresh = app::measure_once(app::with_keys(job.specs, keys), side.runs.front().run, measurer);
    if (!fresh) return std::nullopt;
    ids.push_back(store_again(store, *fresh, runs.back(), "unsteady cases"));
    side.runs.push_back(std::move(*fresh));
  }
}

int gated_exit_code(int sweep_code, const results::GateOutcome& outcome, const GatingOptions& options) {
  if (sweep_code == app::kExitWrongNumbers || outcome.verdict == results::GateVerdict::kWrongNumbers)
    return app::kExitWrongNumbers;
  if (outcome.verdict == results::GateVerdict::kRegressed) return app::kExitRegression;
  if (sweep_code != app::kExitDone) return sweep_code;
  if (!outcome.broken.empty()) return app::kExitCannotMeasure;
  if (outcome.verdict == results::GateVerdict::kInconclusive && options.fail_inconclusive)
    return app::kExitInconclusive;
  return app::kExitDone;
}

}  // namespace wide::cli
