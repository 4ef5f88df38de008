#include "gui/panels/shared/results_panels.h"

#include "formats/error.h"
#include "gui/icons.h"
#include "gui/views/samples.h"

namespace wide::gui {
namespace {

template <typename State>
void add(Workbench& bench, const std::shared_ptr<State>& state, const char* id, const char* title,
         const char* icon) {
  add_commands(state, bench);
  bench.add_panel({.id = id, .title = title, .icon = icon, .draw = [state, &bench](const Ui& ui) {
                     draw(*state, bench, ui);
                   }});
}

std::filesystem::path default_database() {
  try {
    return results::default_path();
  } catch (const Error&) {
    return {};  // without a home nothing can be kept; the panels say so
  }
}

// What demo mode shows.
void show_samples(ResultsPanels& panels) {
  show_run(*panels.sweep, std::make_shared<RunData>(sample_run_data()));
  show_profile(*panels.profile, std::make_shared<ProfileData>(sample_profile()));
  auto& history = *panels.history;
  history.data = std::make_shared<HistoryData>(sample_history());
  history.run = std::make_shared<RunData>(sample_run_data());
  history.comparisons = sample_comparison();
  history.compared = {1, 9};
  history.trend = sample_trend();
  history.subject = history.trend.subject;
  for (const double times : {1.0, 1.18}) {
    auto run = std::make_shared<RunData>(sample_run_data());
    run->run.id = times == 1.0 ? 1 : 9;
    for (auto& one : run->cases) {
      for (auto* value : {&one.speedup.value, &one.speedup.low, &one.speedup.high}) *value *= times;
    }
    history.laid_over.push_back(std::move(run));
  }
  plot_laid_over(history);
  history.asked = true;
  panels.sweep->asked = true;
}

}  // namespace

void add_results_panels(Workbench& bench) {
  bench.results = std::make_shared<ResultsPanels>();
  auto& panels = *bench.results;
  if (!bench.demo)
    panels.records->database =
        bench.host.database.empty() ? default_database() : std::filesystem::path(bench.host.database);
  panels.sweep->records = panels.history->records = panels.profile->records = panels.records;
  add(bench, panels.sweep, "sweep", "Sweep", icon::kSweep);
  add(bench, panels.profile, "profile", "Profile", icon::kProfile);
  add(bench, panels.history, "history", "History", icon::kHistory);
  if (bench.demo) show_samples(panels);
}

}  // namespace wide::gui
