// What can be done with the history.
#include <imgui.h>

#include <algorithm>
#include <charconv>
#include <nlohmann/json.hpp>

#include "app/again.h"
#include "gui/icons.h"
#include "gui/panels/history/history_panel.h"
#include "gui/panels/shared/plot_export.h"
#include "gui/views/forest.h"
#include "gui/views/quantity.h"
#include "results/plot.h"
#include "results/report.h"

namespace wide::gui {
namespace {

using Shared = std::shared_ptr<HistoryPanel>;
using results::Store;

std::int64_t number_of(const std::string& text) {
  std::int64_t value = 0;
  std::from_chars(text.data(), text.data() + text.size(), value);
  return value;
}

std::string no_run(const Shared& panel) {
  return panel->run ? "" : "look at a run first: click one in the history";
}

// The baseline of that name where it holds other runs than the one that is looked at; null: there is none.
const results::Baseline* baseline_of_others(const HistoryPanel& panel, const std::string& name) {
  if (!panel.data) return nullptr;
  for (const auto& one : panel.data->baselines) {
    const bool alone = one.runs.size() == 1 && one.runs.front() == panel.run->run.id;
    if (one.name == name && !alone) return &one;
  }
  return nullptr;
}

std::string none_chosen(const Workbench& bench) {
  return bench.selection.runs.empty() ? "no run is chosen" : "";
}

void add_reading(const Shared& panel, Workbench& bench) {
  bench.commands.add({.id = "history.refresh",
                      .title = "Read the history anew",
                      .icon = icon::kReset,
                      .run = [panel, &bench](const std::string&) { read_runs(panel, bench); }});
  bench.commands.add(
      {.id = "history.look", .title = "Look at a run", .run = [panel, &bench](const std::string& run) {
         const auto id =
             run.empty() && !bench.selection.runs.empty() ? bench.selection.runs.front() : number_of(run);
         look_at(panel, bench, id);
       }});
  bench.commands.add({.id = "history.compare",
                      .title = "Compare the chosen runs",
                      .menu = "Run",
                      .icon = icon::kProve,
                      .run = [panel, &bench](const std::string&) { compare_chosen(panel, bench); },
                      .refuse =
                          [&bench] {
                            return bench.selection.runs.size() < 2
                                       ? "choose two runs or more with Ctrl+click; the first is what the "
                                         "others are compared with"
                                       : "";
                          }});
  bench.commands.add(
      {.id = "history.copy_command",
       .title = "Copy the comparison as command line",
       .icon = icon::kTerminal,
       .run =
           [panel, &bench](const std::string&) {
             const auto line =
                 compare_command(panel->records->database, panel->compared, panel->across_machines);
             ImGui::SetClipboardText(line.c_str());
             bench.notices.post(Level::kInfo, "Copied", line);
           },
       .refuse = [panel] { return panel->comparisons.empty() ? "nothing is compared yet" : ""; }});
  bench.commands.add({.id = "history.follow",
                      .title = "Follow a subject over time",
                      .run = [panel, &bench](const std::string& subject) {
                        if (!subject.empty()) show_trend(panel, bench, subject);
                      }});
  bench.commands.add({.id = "history.show_in_sweep",
                      .title = "Plot the run in the sweep panel",
                      .icon = icon::kSweep,
                      .run =
                          [panel, &bench](const std::string&) {
                            bench.show("sweep");
                            bench.commands.run("sweep.show_run", std::to_string(panel->run->run.id));
                          },
                      .refuse = [panel] { return no_run(panel); }});
  bench.commands.add({.id = "history.open_captures",
                      .title = "Open the run's captures in the profile panel",
                      .icon = icon::kProfile,
                      .run =
                          [panel, &bench](const std::string&) {
                            bench.show("profile");
                            bench.commands.run("profile.open_run", std::to_string(panel->run->run.id));
                          },
                      .refuse =
                          [panel] {
                            if (!panel->run) return no_run(panel);
                            return std::string(panel->run->captured.empty() ? "the run has no captures" : "");
                          }});
}

void add_dashboard(const Shared& panel, Workbench& bench) {
  bench.commands.add({.id = "history.dashboard",
                      .title = "Dashboard of pinned subjects",
                      .menu = "View",
                      .icon = icon::kPin,
                      .run = [panel, &bench](const std::string&) {
                        bench.show("history");
                        panel->raise = HistoryTab::kDashboard;
                      }});
  bench.commands.add({.id = "history.read_dashboard",
                      .title = "Read the pinned subjects anew",
                      .run = [panel, &bench](const std::string&) { read_dashboard(panel, bench); }});
  bench.commands.add({.id = "history.pin_subject",
                      .title = "Pin the followed subject to the dashboard, or take it off",
                      .icon = icon::kPin,
                      .run = [panel, &bench](const std::string& wanted) {
                        const auto subject = wanted.empty() ? panel->subject : wanted;
                        if (subject.empty()) return;
                        constexpr std::size_t kMost = 24;
                        auto& pinned = bench.settings.pinned;
                        if (std::erase(pinned, subject) == 0) pinned.push_back(subject);
                        if (pinned.size() > kMost) pinned.erase(pinned.begin());
                        bench.apply_settings();
                      }});
}

void add_resuming(const Shared& panel, Workbench& bench) {
  bench.commands.add({.id = "history.resume",
                      .title = "Resume this run",
                      .icon = icon::kRun,
                      .run =
                          [panel, &bench](const std::string&) {
                            bench.show("sweep");
                            bench.commands.run("sweep.go_on", std::to_string(panel->run->run.id));
                          },
                      .refuse =
                          [panel, &bench] {
                            if (!panel->run) return no_run(panel);
                            const auto reason = bench.commands.refusal("sweep.go_on");
                            return reason.empty() ? app::cannot_go_on(panel->run->run, bench.machine())
                                                  : reason;
                          }});
}

void add_changing(const Shared& panel, Workbench& bench) {
  const auto add = [&](const char* id, const char* title, const char* icon, auto act) {
    bench.commands.add({.id = id,
                        .title = title,
                        .icon = icon,
                        .run =
                            [panel, &bench, title, act](const std::string& argument) {
                              const auto run = panel->run->run.id;
                              change(panel, bench, title,
                                     [act, run, argument](Store& store) { act(store, run, argument); });
                            },
                        .refuse = [panel] { return no_run(panel); }});
  };
  add("history.tag", "Tag the run", icon::kTag, [](Store& store, std::int64_t run, const std::string& tag) {
    if (!tag.empty()) store.add_tag(run, tag);
  });
  add("history.untag", "Take a tag off the run", "",
      [](Store& store, std::int64_t run, const std::string& tag) { store.remove_tag(run, tag); });
  add("history.note", "Write a note to the run", "",
      [](Store& store, std::int64_t run, const std::string& text) {
        if (!text.empty()) store.add_note(run, text);
      });
  add("history.pin", "Pin the run, which keeps it from being deleted, or unpin it", icon::kPin,
      [](Store& store, std::int64_t run, const std::string&) {
        for (const auto& one : store.runs()) {
          if (one.id == run) store.set_pinned(run, !one.pinned);
        }
      });
  add("history.set_baseline", "Make the run the only one of a baseline", "",
      [](Store& store, std::int64_t run, const std::string& name) {
        store.set_baseline(name.empty() ? "main" : name, {run});
      });
  add("history.add_to_baseline", "Add the run to a baseline", "",
      [](Store& store, std::int64_t run, const std::string& wanted) {
        const auto name = wanted.empty() ? "main" : wanted;
        std::vector<std::int64_t> runs;
        for (const auto& baseline : store.baselines()) {
          if (baseline.name == name) runs = baseline.runs;
        }
        if (std::find(runs.begin(), runs.end(), run) == runs.end()) runs.push_back(run);
        store.set_baseline(name, runs);
      });
  add("history.leave_baseline", "Take the run out of a baseline", "",
      [](Store& store, std::int64_t run, const std::string& name) {
        for (auto& baseline : store.baselines()) {
          if (baseline.name != name) continue;
          std::erase(baseline.runs, run);
          if (baseline.runs.empty()) {
            store.remove_baseline(name);
          } else {
            store.set_baseline(name, baseline.runs);
          }
        }
      });
  // A baseline of several runs took an hour to measure: it is not replaced unasked.
  bench.commands.add({.id = "history.baseline",
                      .title = "Make the run the baseline",
                      .run =
                          [panel, &bench](const std::string& wanted) {
                            const auto name = wanted.empty() ? std::string("main") : wanted;
                            const auto* known = baseline_of_others(*panel, name);
                            if (known == nullptr) {
                              bench.commands.run("history.set_baseline", name);
                              return;
                            }
                            panel->replacing = name;
                          },
                      .refuse = [panel] { return no_run(panel); }});
  bench.commands.add({.id = "history.delete",
                      .title = "Delete the chosen runs…",
                      .icon = icon::kTrash,
                      .run =
                          [panel, &bench](const std::string& answer) {
                            if (answer != "yes") {
                              panel->deleting = true;
                              return;
                            }
                            change(panel, bench, "Deleting runs",
                                   [runs = bench.selection.runs](Store& store) {
                                     for (const auto run : runs) store.delete_run(run);
                                   });
                          },
                      .refuse = [&bench] { return none_chosen(bench); }});
  bench.commands.add({.id = "history.import",
                      .title = "Import a report…",
                      .menu = "File",
                      .icon = icon::kImport,
                      .run = [panel, &bench](const std::string& path) {
                        const auto import = [panel, &bench](const std::string& file) {
                          change(panel, bench, "Importing a report", [file](Store& store) {
                            auto report = results::read_report(file);
                            store.import_run(std::move(report.run), report.cases);
                          });
                        };
                        if (!path.empty()) return import(path);
                        bench.files.open("A report that widebench wrote", {".json"},
                                         [import](const auto& files) { import(files.front()); });
                      }});
}

void add_exports(const Shared& panel, Workbench& bench) {
  const auto add_run = [&](const char* id, const char* title, const char* format, const char* ending) {
    bench.commands.add({.id = id,
                        .title = title,
                        .icon = icon::kExport,
                        .run =
                            [panel, &bench, format, ending](const std::string& path) {
                              const auto run = panel->run->run.id;
                              const auto name = "run-" + std::to_string(run) + ending;
                              bench.save.open(
                                  bench.ui(), "Where to write the run", name,
                                  [database = panel->records->database, run, format](const auto& file) {
                                    export_run(database, run, format, file);
                                  },
                                  path);
                            },
                        .refuse = [panel] { return no_run(panel); }});
  };
  add_run("history.export_json", "Export the run as JSON…", "json", ".json");
  add_run("history.export_csv", "Export the run as CSV…", "csv", ".csv");
  add_run("history.export_html", "Export the run as HTML…", "html", ".html");
  add_run("history.export_svg", "Export the run's plots as SVG…", "svg", ".svg");
  const auto add_text = [&](const char* id, const char* title, const char* name, auto text, auto refuse) {
    bench.commands.add({.id = id,
                        .title = title,
                        .icon = icon::kExport,
                        .run =
                            [panel, &bench, name, text](const std::string& path) {
                              bench.save.open(
                                  bench.ui(), "Where to write it", name,
                                  [written = text(*panel)](const auto& file) { write_file(file, written); },
                                  path);
                            },
                        .refuse = [panel, refuse] { return std::string(refuse(*panel)); }});
  };
  const auto compared = [](const HistoryPanel& p) {
    return p.comparisons.empty() ? "nothing is compared yet" : "";
  };
  add_text(
      "history.export_compare_csv", "Export the comparison as CSV…", "comparison.csv",
      [](const HistoryPanel& p) { return to_csv(p.comparisons[p.comparison].table); }, compared);
  add_text(
      "history.export_compare_json", "Export the comparison as JSON…", "comparison.json",
      [](const HistoryPanel& p) { return to_json(p.comparisons[p.comparison].comparison).dump(2) + "\n"; },
      compared);
}

Table trend_table(const results::TrendSeries& series) {
  Table table({{"run", "run", CellKind::kNumber, show_count},
               {"started", "started"},
               {"speedup", "over eager", CellKind::kInterval, show_ratio},
               {"wide", "wide", CellKind::kNumber, show_time, "us"},
               {"commit", "commit"}});
  for (const auto& point : series.points) {
    const auto row = table.add_row();
    table.set(row, 0, static_cast<double>(point.run));
    table.set(row, 1, point.started);
    table.set(row, 2, point.speedup);
    table.set(row, 3, point.wide_us);
    table.set(row, 4, point.git_commit);
  }
  table.refresh();
  return table;
}

void add_plots(const Shared& panel, Workbench& bench) {
  bench.commands.add(
      {.id = "history.over_n",
       .title = "Lay the chosen runs over one another",
       .icon = icon::kSweep,
       .run =
           [panel, &bench](const std::string&) {
             panel->raise = HistoryTab::kOverN;
             lay_over(panel, bench);
           },
       .refuse = [panel, &bench] { return bench.selection.runs.empty() ? no_run(panel) : std::string(); }});
  add_plot_exports(
      bench, {.id = "history.over_n",
              .what = "the chosen runs over N",
              .file = "runs-over-n",
              .svg = [panel] { return over_n_svg(panel->over_n.series, panel->over_n.what); },
              .csv = [panel] { return to_csv(points_table(panel->over_n.series, panel->over_n.what)); },
              .picture = &panel->over_n.picture,
              .refuse = [panel] { return panel->over_n.series.empty() ? "no runs are plotted yet" : ""; }});
  add_plot_exports(
      bench, {.id = "history.forest",
              .what = "the forest plot",
              .file = "forest",
              .svg =
                  [panel] {
                    const auto& data = panel->comparisons[panel->comparison];
                    return forest_svg(forest_rows(data),
                                      data.comparison.first + " to " + data.comparison.second);
                  },
              .csv = [panel] { return to_csv(panel->comparisons[panel->comparison].table); },
              .picture = &panel->forest_picture,
              .refuse = [panel] { return panel->comparisons.empty() ? "nothing is compared yet" : ""; }});
  add_plot_exports(
      bench, {.id = "history.trend",
              .what = "the trend",
              .file = "trend",
              .svg = [panel] { return results::history_plot(panel->trend.series[panel->series]); },
              .csv = [panel] { return to_csv(trend_table(panel->trend.series[panel->series])); },
              .picture = &panel->trend_picture,
              .refuse = [panel] { return panel->trend.series.empty() ? "no subject is followed" : ""; }});
}

}  // namespace

void add_commands(const Shared& panel, Workbench& bench) {
  add_reading(panel, bench);
  add_dashboard(panel, bench);
  add_resuming(panel, bench);
  add_changing(panel, bench);
  add_exports(panel, bench);
  add_plots(panel, bench);
}

}  // namespace wide::gui
