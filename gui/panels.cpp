// The panels that the window has, in the order of the work.
#include "gui/icons.h"
#include "gui/panels/first_steps_panel.h"
#include "gui/panels/graph_panel.h"
#include "gui/panels/inspector_panel.h"
#include "gui/panels/jobs_panel.h"
#include "gui/panels/models_panel.h"
#include "gui/panels/shared/results_panels.h"
#include "gui/panels/strategies_panel.h"
#include "gui/workbench.h"

namespace wide::gui {

void add_panels(Workbench& bench) {
  const auto models = std::make_shared<ModelsPanel>();
  bench.add_panel({"models", "Models", icon::kModels, Place::kLeft,
                   [models, &bench](const Ui& ui) { draw(*models, bench, ui); }});
  const auto graph = bench.graph_panel = std::make_shared<GraphPanel>();
  add_commands(*graph, bench);
  bench.add_panel({"graph", "Graph", icon::kGraph, Place::kMiddle,
                   [graph, &bench](const Ui& ui) { draw(*graph, bench, ui); }});
  const auto strategies = std::make_shared<StrategiesPanel>();
  add_commands(*strategies, bench);
  bench.add_panel({"strategies", "Strategies", icon::kStrategies, Place::kMiddle,
                   [strategies, &bench](const Ui& ui) { draw(*strategies, bench, ui); }});
  add_results_panels(bench);
  const auto inspector = std::make_shared<InspectorPanel>();
  add_commands(*inspector, bench);
  bench.add_panel({"inspector", "Inspector", icon::kInspector, Place::kRight,
                   [inspector, &bench](const Ui& ui) { draw(*inspector, bench, ui); }});
  const auto jobs = std::make_shared<JobsPanel>();
  bench.add_panel(
      {"jobs", "Jobs", icon::kJobs, Place::kLeftBelow, [jobs](const Ui& ui) { draw(*jobs, ui); }});
  const auto log = std::make_shared<LogPanel>();
  bench.add_panel({"log", "Log", icon::kLog, Place::kBelow, [log](const Ui& ui) { draw(*log, ui); }});
  const auto first_steps = std::make_shared<FirstStepsPanel>();
  bench.add_panel({.id = "first_steps",
                   .title = "First steps",
                   .icon = icon::kInfo,
                   .place = Place::kRight,
                   .draw = [first_steps, &bench](const Ui& ui) { draw(*first_steps, bench, ui); },
                   .open = bench.settings.first_steps && !bench.demo,
                   .always = false});
}

}  // namespace wide::gui
