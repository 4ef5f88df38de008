// What can be done with the graph: fit, fold, colour, go from one find to the next, export.
#include <algorithm>

#include "gui/icons.h"
#include "gui/panels/graph_panel.h"

namespace wide::gui {
namespace {

// The level that is shown: of the deepest folded module where no level was asked for.
int level_of(const GraphPanel& panel, const ModelView& model) {
  if (panel.level >= 0) return panel.level;
  if (panel.folded.empty()) return module_levels(model);
  const auto& path = *panel.folded.begin();
  return static_cast<int>(std::count(path.begin(), path.end(), '.'));
}

void add_levels(GraphPanel& panel, Workbench& bench) {
  const auto step = [&panel, &bench](int by) {
    const auto& model = *bench.session.model;
    panel.level = std::clamp(level_of(panel, model) + by, 0, module_levels(model));
    panel.folded = fold_to(model, panel.level);
  };
  const auto refusal = [&panel, &bench](bool deeper) {
    if (!bench.session.model) return "no model is open";
    const auto& model = *bench.session.model;
    const int level = level_of(panel, model);
    if (module_levels(model) == 0) return "no module has two operations";
    if (deeper) return level >= module_levels(model) ? "all modules are open" : "";
    return level <= 0 ? "only the outermost modules are shown" : "";
  };
  bench.commands.add({.id = "graph.deeper",
                      .title = "Open all modules of the graph by one level",
                      .menu = "View",
                      .icon = icon::kPlus,
                      .run = [step](const std::string&) { step(1); },
                      .refuse = [refusal] { return refusal(true); }});
  bench.commands.add({.id = "graph.shallower",
                      .title = "Fold all modules of the graph by one level",
                      .menu = "View",
                      .run = [step](const std::string&) { step(-1); },
                      .refuse = [refusal] { return refusal(false); }});
}

void add_colours(GraphPanel& panel, Workbench& bench) {
  bench.commands.add({.id = "graph.heat",
                      .title = "Colour the graph by time",
                      .menu = "View",
                      .words = "heat map",
                      .run =
                          [&panel, &bench](const std::string&) {
                            const bool on = panel.colour == GraphColour::kTime;
                            panel.colour = on ? GraphColour::kStrategy : GraphColour::kTime;
                            panel.text = false;
                            bench.show("graph");
                          },
                      .refuse = [&bench] { return bench.session.model ? "" : "no model is open"; },
                      .checked = [&panel] { return panel.colour == GraphColour::kTime; }});
  // The try before the one that is chosen now.
  const auto other = [&bench]() -> const Try* {
    const auto& tries = bench.session.tries;
    const auto found = std::find_if(tries.rbegin(), tries.rend(),
                                    [&](const Try& one) { return !(one.wish == bench.session.wish); });
    return found == tries.rend() ? nullptr : &*found;
  };
  bench.commands.add(
      {.id = "graph.compare",
       .title = "Show in the graph what the last other try does otherwise",
       .menu = "View",
       .words = "diff of two plans",
       .run =
           [&panel, &bench, other](const std::string&) {
             panel.colour = GraphColour::kPlan, panel.other = other()->wish;
             panel.text = false;
             bench.show("graph");
           },
       .refuse = [other] { return other() ? "" : "only one choice of strategies was tried"; }});
}

// The selection goes from one operation that is found to the next, round and round.
void go_to_next(GraphPanel& panel, Workbench& bench) {
  const auto& model = *bench.session.model;
  std::vector<std::string> found;
  for (const auto& box : panel.picture.boxes) {
    if (!box.nodes.empty() && matches(box, model, panel.filter))
      found.push_back(model.graph[box.nodes.front()].name);
  }
  if (found.empty()) return;
  const auto now = std::find(found.begin(), found.end(), bench.selection.node);
  const bool last = now == found.end() || now + 1 == found.end();
  bench.selection.choose_node(last ? found.front() : *(now + 1));
}

}  // namespace

void add_commands(GraphPanel& panel, Workbench& bench) {
  const auto no_model = [&bench] { return bench.session.model ? "" : "no model is open"; };
  bench.commands.add({.id = "graph.fit",
                      .title = "Fit the graph into its panel",
                      .menu = "View",
                      .icon = icon::kFit,
                      .run = [&panel](const std::string&) { panel.fit = true; },
                      .refuse = no_model});
  bench.commands.add({.id = "graph.fold",
                      .title = "Fold all modules of the graph",
                      .run =
                          [&panel, &bench](const std::string&) {
                            panel.folded = fold_all(*bench.session.model);
                            panel.level = -1;
                          },
                      .refuse =
                          [&bench] {
                            if (!bench.session.model) return "no model is open";
                            return modules_of(*bench.session.model).empty() ? "no module has two operations"
                                                                            : "";
                          }});
  bench.commands.add({.id = "graph.unfold",
                      .title = "Unfold all modules of the graph",
                      .run =
                          [&panel, &bench](const std::string&) {
                            panel.folded.clear();
                            panel.level = module_levels(*bench.session.model);
                          },
                      .refuse = [&panel] { return panel.folded.empty() ? "no module is folded" : ""; }});
  add_levels(panel, bench);
  add_colours(panel, bench);
  bench.commands.add({.id = "graph.next",
                      .title = "Go to the next operation that the graph's filter finds",
                      .run = [&panel, &bench](const std::string&) { go_to_next(panel, bench); },
                      .refuse =
                          [&panel, &bench] {
                            if (!bench.session.model) return "no model is open";
                            return panel.filter.empty() ? "the graph has no filter" : "";
                          }});
  bench.commands.add({.id = "graph.export_png",
                      .title = "Export the graph as PNG…",
                      .icon = icon::kExport,
                      .run =
                          [&panel, &bench](const std::string& path) {
                            const auto take = [&panel, &bench](const std::filesystem::path& file) {
                              panel.text = false;
                              bench.show("graph");
                              panel.snapshot.want(file);
                            };
                            if (!path.empty()) return take(path);
                            bench.save.open_here("Where to write it", "graph.png", take);
                          },
                      .refuse = no_model});
  bench.commands.add({.id = "graph.text",
                      .title = "Show the graph as text",
                      .menu = "View",
                      .run = [&panel](const std::string&) { panel.text = !panel.text; },
                      .refuse = no_model,
                      .checked = [&panel] { return panel.text; }});
}

}  // namespace wide::gui
