// Jobs that read, compare and change the history.
#include <algorithm>

#include "formats/error.h"
#include "gui/panels/history/history_panel.h"

namespace wide::gui {
namespace {

using Shared = std::shared_ptr<HistoryPanel>;
using results::OpenMode;
using results::Store;

// Runs that are gone are no longer chosen.
void show_runs(HistoryPanel& panel, Selection& selection, std::shared_ptr<HistoryData> data) {
  data->table.filter(panel.runs.filter);
  panel.data = std::move(data);
  const auto before = selection.runs.size();
  std::erase_if(selection.runs,
                [&](std::int64_t run) { return panel.data->row_of(run) == panel.data->runs.size(); });
  if (selection.runs.size() != before) ++selection.revision;
  if (panel.run && panel.data->row_of(panel.run->run.id) == panel.data->runs.size()) panel.run.reset();
}

// What is shown of a run may have changed: it went on, it has another tag.
void read_again(const Shared& panel, Workbench& bench, std::int64_t run) {
  const auto database = panel->records->database;
  bench.jobs.start(Lane::kFiles, "Reading run " + std::to_string(run),
                   [panel, database, run](const JobContext&) -> Apply {
                     auto data = std::make_shared<RunData>(read_run(database, run));
                     return [panel, data] {
                       if (!panel->run || panel->run->run.id != data->run.id) return;
                       data->table.filter(panel->cases.filter);
                       panel->run = data;
                     };
                   });
}

}  // namespace

void read_runs(const Shared& panel, Workbench& bench) {
  panel->asked = true;
  panel->read = panel->records->revision;
  if (panel->records->database.empty()) return;
  const auto database = panel->records->database;
  panel->reading = bench.jobs.start(Lane::kFiles, "Reading the history",
                                    [panel, &bench, database](const JobContext&) -> Apply {
                                      // The panel says it, and goes on saying it.
                                      try {
                                        auto data = std::make_shared<HistoryData>(read_history(database));
                                        return [panel, &bench, data] {
                                          panel->fault.clear();
                                          show_runs(*panel, bench.selection, data);
                                          if (panel->run) read_again(panel, bench, panel->run->run.id);
                                        };
                                      } catch (const Error& error) {
                                        return [panel, fault = std::string(error.what())] {
                                          panel->fault = fault;
                                          panel->data.reset();
                                        };
                                      }
                                    });
}

void look_at(const Shared& panel, Workbench& bench, std::int64_t run) {
  const auto database = panel->records->database;
  bench.jobs.start(Lane::kFiles, "Reading run " + std::to_string(run),
                   [panel, database, run](const JobContext&) -> Apply {
                     auto data = std::make_shared<RunData>(read_run(database, run));
                     return [panel, data] {
                       data->table.filter(panel->cases.filter);
                       panel->run = data;
                       panel->raise = HistoryTab::kRun;
                     };
                   });
}

void compare_chosen(const Shared& panel, Workbench& bench) {
  const auto database = panel->records->database;
  const auto runs = bench.selection.runs;
  const bool across = panel->across_machines;
  bench.jobs.start(Lane::kFiles, "Comparing", [panel, database, runs, across](const JobContext&) -> Apply {
    auto all = std::make_shared<std::vector<CompareData>>(compare_runs(database, runs, across));
    return [panel, runs, all] {
      panel->comparisons = std::move(*all);
      panel->forest_of = nullptr;
      panel->compared = runs;
      panel->comparison = 0;
      for (auto& comparison : panel->comparisons) comparison.table.filter(panel->changes.filter);
      panel->raise = HistoryTab::kCompare;
    };
  });
}

void lay_over(const Shared& panel, Workbench& bench) {
  auto runs = bench.selection.runs;
  if (runs.empty() && panel->run) runs = {panel->run->run.id};
  panel->laid_over_of = runs;
  const auto database = panel->records->database;
  bench.jobs.start(Lane::kFiles, "Reading runs", [panel, database, runs](const JobContext& context) -> Apply {
    std::vector<std::shared_ptr<RunData>> read;
    for (const auto run : runs) {
      context.check();
      read.push_back(std::make_shared<RunData>(read_run(database, run)));
    }
    return [panel, runs, read] {
      if (panel->laid_over_of != runs) return;  // others were chosen meanwhile
      panel->laid_over = read;
      plot_laid_over(*panel);
    };
  });
}

void plot_laid_over(HistoryPanel& panel) {
  std::vector<RunCurves> curves;
  for (const auto& run : panel.laid_over)
    curves.push_back({"run " + std::to_string(run->run.id), run->cases, panel.laid_over_subject});
  take_curves(panel.over_n, curves);
  panel.over_n.fit = true;
}

void read_dashboard(const Shared& panel, Workbench& bench) {
  const auto database = panel->records->database;
  panel->pinned_read = panel->records->revision;
  panel->pinned_of = bench.settings.pinned;
  std::erase_if(panel->pinned, [&](const PinnedSubject& card) {
    return std::find(panel->pinned_of.begin(), panel->pinned_of.end(), card.subject) ==
           panel->pinned_of.end();
  });
  if (panel->pinned_of.empty() || database.empty()) return;
  bench.jobs.start(Lane::kFiles, "Reading pinned subjects",
                   [panel, database, subjects = panel->pinned_of](const JobContext&) -> Apply {
                     auto cards =
                         std::make_shared<std::vector<PinnedSubject>>(read_pinned(database, subjects));
                     return [panel, subjects, cards] {
                       if (panel->pinned_of == subjects) panel->pinned = std::move(*cards);
                     };
                   });
}

void show_trend(const Shared& panel, Workbench& bench, const std::string& subject) {
  const auto database = panel->records->database;
  bench.jobs.start(
      Lane::kFiles, "Following " + subject, [panel, database, subject](const JobContext&) -> Apply {
        const auto store = Store::open(database, OpenMode::kReadOnly);
        auto trend = std::make_shared<results::Trend>(results::trend(subject, store.trend(subject)));
        return [panel, subject, trend] {
          panel->trend = std::move(*trend);
          panel->subject = subject;
          panel->series = 0;
          panel->raise = HistoryTab::kTrend;
        };
      });
}

void change(const Shared& panel, Workbench& bench, const std::string& title,
            std::function<void(Store&)> act) {
  auto* selection = &bench.selection;
  const auto database = panel->records->database;
  const auto looked_at = panel->run ? panel->run->run.id : 0;
  bench.jobs.start(Lane::kFiles, title, [=, act = std::move(act)](const JobContext&) -> Apply {
    {
      auto store = Store::open(database, OpenMode::kReadWrite);
      act(store);
    }
    auto data = std::make_shared<HistoryData>(read_history(database));
    std::shared_ptr<RunData> run;
    if (looked_at != 0 && data->row_of(looked_at) < data->runs.size())
      run = std::make_shared<RunData>(read_run(database, looked_at));
    return [panel, selection, data, run] {
      ++panel->records->revision;
      show_runs(*panel, *selection, data);
      if (!run) return;
      run->table.filter(panel->cases.filter);
      panel->run = run;
    };
  });
}

}  // namespace wide::gui
