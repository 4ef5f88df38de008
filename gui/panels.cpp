// The panels that the window has, in the order of the work.
#include "gui/icons.h"
#include "gui/panels/first_steps_panel.h"
#include "gui/panels/graph_panel.h"
#include "gui/panels/shared/results_panels.h"
#include "gui/panels/strategies_panel.h"
#include "gui/workbench.h"

namespace wide::gui {

// Each in a file of its own name.
void add_models_panel(Workbench& bench);
void add_inspector_panel(Workbench& bench);
void add_jobs_panel(Workbench& bench);
void add_log_panel(Workbench& bench);

void add_panels(Workbench& bench) {
  add_models_panel(bench);
  const auto graph = bench.graph_panel = std::make_shared<GraphPanel>();
  add_commands(*graph, bench);
  bench.add_panel({"graph", "Graph", icon::kGraph, Place::kMiddle,
                   [graph, &bench](const Ui& ui) { draw(*graph, bench, ui); }});
  const auto strategies = std::make_shared<StrategiesPanel>();
  add_commands(*strategies, bench);
  bench.add_panel({"strategies", "Strategies", icon::kStrategies, Place::kMiddle,
                   [strategies, &bench](const Ui& ui) { draw(*strategies, bench, ui); }});
  add_results_panels(bench);
  add_inspector_panel(bench);
  add_jobs_panel(bench);
  add_log_panel(bench);
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
