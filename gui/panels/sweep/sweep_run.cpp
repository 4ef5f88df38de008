// The child process that measures, and the reading of what it stores.
#include <algorithm>
#include <chrono>

#include "formats/error.h"
#include "gui/panels/sweep/sweep_panel.h"
#include "gui/views/child.h"
#include "results/reliability.h"

namespace wide::gui {
namespace {

using Clock = std::chrono::steady_clock;
using Shared = std::shared_ptr<SweepPanel>;

constexpr double kReadSeconds =
    1;  // at most once a second, since reading takes processor time from what is measured
constexpr int kDone = 0, kRegression = 1, kInconclusive = 4, kWrongNumbers = 5;  // exit codes of the program

// What the job needs, apart from the panel: it belongs to the window's thread.
struct Sweep {
  std::string title;
  std::function<std::vector<std::string>()> arguments;  ///< on the job: it may write a preset
  std::string program;
  std::filesystem::path database;
};

std::shared_ptr<RunData> read_quietly(const std::filesystem::path& database, std::int64_t run) {
  try {
    return std::make_shared<RunData>(read_run(database, run));
  } catch (const Error&) {
    return nullptr;  // the child holds a lock, or has not stored yet: the next reading will do
  }
}

Apply measure(const Sweep& sweep, const Shared& panel, Notices* notices, const JobContext& context) {
  auto words = sweep.arguments();
  context.post([notices, line = command_text(words)] { notices->log(Level::kDebug, line); });
  words.insert(words.begin(), sweep.program);
  SweepProgress progress;
  Clock::time_point last_read{};
  ChildTask task{.argv = std::move(words)};
  task.cancelled = [&context] { return context.cancelled(); };
  task.line = [&](const std::string& line) {
    if (!take_line(line, progress)) return;
    context.progress(progress.fraction(), progress.text());
    context.post([panel, progress] { panel->progress = progress; });
    if (std::chrono::duration<double>(Clock::now() - last_read).count() < kReadSeconds) return;
    last_read = Clock::now();
    if (auto run = read_quietly(sweep.database, progress.run))
      context.post([panel, run] { show_run(*panel, run); });
  };
  const auto end = run_child(task);
  const auto run = progress.run > 0 ? read_quietly(sweep.database, progress.run) : nullptr;
  const bool verdict = end.code == kRegression || end.code == kInconclusive || end.code == kWrongNumbers;
  const bool failed = !end.cancelled && end.code != kDone && (!verdict || progress.run == 0);
  auto said = read_gate(end.output);
  said.run = progress.run;
  context.post([panel, run, said, cancelled = end.cancelled] {
    ++panel->records->revision;
    // What the history has, where it has this one no longer, or what was measured before.
    if (!run && (cancelled || said.run > 0)) panel->asked = false;
    panel->gate = said;
    if (run) show_run(*panel, run);
  });
  if (end.cancelled) throw JobCancelled();
  if (failed) throw Error("sweep", complaint(end));
  return [] {};
}

void start(const Shared& panel, Workbench& bench, Sweep sweep) {
  panel->progress = {};
  panel->fold = true;
  panel->gate = {};
  panel->gated_against = panel->form.gate.baseline;
  auto* notices = &bench.notices;
  auto title = sweep.title;
  panel->job =
      bench.jobs.start(Lane::kMeasure, std::move(title),
                       [sweep = std::move(sweep), panel, notices](const JobContext& context) {
                         auto apply = measure(sweep, panel, notices, context);
                         return [panel, notices, apply] {
                           if (apply) apply();
                           if (!panel->run) return;
                           auto text = totals(panel->run->cases);
                           if (!panel->gate.verdict.empty()) text += "; gate: " + panel->gate.verdict;
                           if (panel->gate.verdict == "regressed") {
                             notices->post(Level::kError, "Slower than the baseline", text);
                           } else if (panel->broken > 0) {
                             notices->post(Level::kError, "Cases failed: they have no speed-up", text);
                           } else {
                             notices->post(Level::kInfo, "The sweep is done", text);
                           }
                         };
                       });
}

}  // namespace

void show_run(SweepPanel& panel, std::shared_ptr<RunData> run) {
  run->table.filter(panel.view.filter);
  panel.plot.fit = panel.plot.fit || !panel.run || panel.run->run.id != run->run.id ||
                   panel.run->cases.size() != run->cases.size();
  panel.run = std::move(run);
  panel.counted_verdicts = totals(panel.run->cases);
  panel.broken = panel.unreliable = 0;
  for (const auto& record : panel.run->cases) {
    if (meaning(results::name(record.verdict)) == Meaning::kBroken) ++panel.broken;
    if (!results::unreliable(record).empty()) ++panel.unreliable;
  }
  plot_run(panel);
}

void plot_run(SweepPanel& panel) {
  std::vector<RunCurves> curves;
  if (panel.run) curves.push_back({.name = "", .cases = panel.run->cases});
  take_curves(panel.plot, curves);
}

void start_sweep(const Shared& panel, Workbench& bench) {
  const auto arguments_of = [form = form_of(*panel, bench)] { return arguments(form); };
  panel->run.reset();  // what is shown from here on is of this sweep
  start(panel, bench, {"Sweep", arguments_of, bench.host.program, panel->records->database});
}

void resume_sweep(const Shared& panel, Workbench& bench, std::int64_t run) {
  const auto& database = panel->records->database;
  const std::vector<std::string> words{"runs", "resume", std::to_string(run), "--db", database.string()};
  start(panel, bench,
        {"Resuming run " + std::to_string(run), [words] { return words; }, bench.host.program, database});
}

bool shows(const SweepPanel& panel, const std::string& subject, bool built_in) {
  return panel.run &&
         std::any_of(panel.run->cases.begin(), panel.run->cases.end(),
                     [&](const results::CaseRecord& one) { return is_of(one, subject, built_in); });
}

void load_run(const Shared& panel, Workbench& bench, std::int64_t run) {
  const auto database = panel->records->database;
  std::error_code failed;
  if (database.empty() || !std::filesystem::exists(database, failed)) return;
  const auto subject = panel->subject;
  const bool built_in = panel->built_in;
  panel->reading = bench.jobs.start(
      Lane::kFiles, run == 0 ? "Reading the last sweep" : "Reading run " + std::to_string(run),
      [panel, database, run, subject, built_in, before = panel->run](const JobContext&) -> Apply {
        if (run != 0) {
          auto read = std::make_shared<RunData>(read_run(database, run));
          return [panel, read] { show_run(*panel, read); };
        }
        // Nobody asked for the newest one: History says what is wrong with a database.
        try {
          auto read = newest_run(database, subject, built_in);
          if (!read) return [] {};
          return [panel, subject, built_in, before, read = std::make_shared<RunData>(std::move(*read))] {
            if (panel->run == before && panel->subject == subject && panel->built_in == built_in)
              show_run(*panel, read);
          };
        } catch (const Error&) {
          return [] {};
        }
      });
}

void look_again(const Shared& panel, Workbench& bench) {
  bench.jobs.start(
      Lane::kFiles, "Looking whether the run that is shown was deleted",
      [panel, database = panel->records->database, shown = panel->run](const JobContext&) -> Apply {
        try {
          const auto runs = results::Store::open(database, results::OpenMode::kReadOnly).runs();
          const auto there = [&](const results::RunSummary& run) { return run.id == shown->run.id; };
          if (std::any_of(runs.begin(), runs.end(), there)) return [] {};
        } catch (const Error&) {
          return [] {};  // History says what is wrong with a database
        }
        return [panel, shown] {
          if (panel->run != shown) return;
          panel->run.reset();
          panel->asked = false;
        };
      });
}

}  // namespace wide::gui
