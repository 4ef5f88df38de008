// What can be done with sweeps.
#include <imgui.h>

#include <charconv>
#include <nlohmann/json.hpp>

#include "app/again.h"
#include "gui/icons.h"
#include "gui/panels/shared/plot_export.h"
#include "gui/panels/sweep/sweep_panel.h"
#include "presets/preset.h"

namespace wide::gui {
namespace {

using Shared = std::shared_ptr<SweepPanel>;

bool running(const SweepPanel& panel, const Workbench& bench) {
  const auto job = bench.jobs.find(panel.job);
  return job && job->state < JobState::kDone;
}

std::string cannot_start(const Shared& panel, const Workbench& bench) {
  const auto reason = cannot_measure(*panel, bench);
  return reason.empty() ? panel->fault : reason;
}

// The line measures the same from a shell.
void copy_command(const Shared& panel, Workbench& bench) {
  const auto line = command_text(arguments(form_of(*panel, bench)));
  ImGui::SetClipboardText(line.c_str());
  bench.notices.post(Level::kInfo, "Copied", line);
}

std::string nothing_measured(const Shared& panel) {
  return panel->run ? "" : "nothing is measured yet";
}

void add_running(const Shared& panel, Workbench& bench) {
  bench.commands.add({.id = "sweep.start",
                      .title = "Start the sweep",
                      .menu = "Run",
                      .icon = icon::kSweep,
                      .chord = ImGuiKey_F5,
                      .run =
                          [panel, &bench](const std::string&) {
                            bench.show("sweep");
                            start_sweep(panel, bench);
                          },
                      .refuse = [panel, &bench] { return cannot_start(panel, bench); }});
  bench.commands.add({.id = "sweep.gate",
                      .title = "Gate: hold a sweep against a baseline…",
                      .menu = "Run",
                      .icon = icon::kProve,
                      .run = [panel, &bench](const std::string& baseline) {
                        if (!baseline.empty()) panel->form.gate.baseline = baseline;
                        panel->open_gate = true;
                        bench.show("sweep");
                      }});
  bench.commands.add({.id = "sweep.start_small",
                      .title = "Measure the small sweep (preset ci)",
                      .run =
                          [panel, &bench](const std::string&) {
                            panel->form = {.preset = "ci"};
                            panel->counts.clear();
                            panel->open_model = false;
                            start_sweep(panel, bench);
                          },
                      .refuse = [panel, &bench] { return cannot_measure(*panel, bench); }});
  bench.commands.add(
      {.id = "sweep.resume",
       .title = "Resume the interrupted sweep",
       .menu = "Run",
       .run = [panel, &bench](const std::string&) { resume_sweep(panel, bench, panel->run->run.id); },
       .refuse =
           [panel, &bench] {
             const auto reason = cannot_measure(*panel, bench);
             if (!reason.empty()) return reason;
             if (!panel->run) return std::string("nothing is measured yet");
             return app::cannot_go_on(panel->run->run, bench.machine());
           }});
  bench.commands.add({.id = "sweep.go_on",
                      .title = "Resume a run of the history, by its number",
                      .run =
                          [panel, &bench](const std::string& text) {
                            std::int64_t run = 0;
                            std::from_chars(text.data(), text.data() + text.size(), run);
                            if (run > 0) resume_sweep(panel, bench, run);
                          },
                      .refuse = [panel, &bench] { return cannot_measure(*panel, bench); }});
  bench.commands.add({.id = "sweep.cancel",
                      .title = "Cancel the sweep",
                      .menu = "Run",
                      .icon = icon::kStop,
                      .run = [panel, &bench](const std::string&) { bench.jobs.cancel(panel->job); },
                      .refuse =
                          [panel, &bench] {
                            return running(*panel, bench) ? std::string()
                                                          : std::string("no sweep is running");
                          }});
  bench.commands.add({.id = "sweep.copy_command",
                      .title = "Copy the sweep as command line",
                      .icon = icon::kTerminal,
                      .run = [panel, &bench](const std::string&) { copy_command(panel, bench); },
                      .refuse = [panel] { return panel->fault; }});
  bench.commands.add({.id = "sweep.take_command",
                      .title = "Fill in the sweep from a command line",
                      .run = [panel, &bench](const std::string& line) {
                        const char* clipboard = line.empty() ? ImGui::GetClipboardText() : nullptr;
                        const auto fault = take_command(*panel, clipboard != nullptr ? clipboard : line);
                        if (!fault.empty())
                          bench.notices.post(Level::kWarning, "The line could not be read", fault);
                      }});
  bench.commands.add({.id = "sweep.show_run",
                      .title = "Show the newest run",
                      .run = [panel, &bench](const std::string& text) {
                        std::int64_t run = 0;
                        std::from_chars(text.data(), text.data() + text.size(), run);
                        load_run(panel, bench, run);
                      }});
  bench.commands.add(
      {.id = "sweep.look_again",
       .title = "Look whether the run that is shown was deleted",
       .run = [panel, &bench](const std::string&) { look_again(panel, bench); },
       .refuse = [panel] { return panel->run && panel->run->run.id > 0 ? "" : "no run is shown"; }});
}

void add_exports(const Shared& panel, Workbench& bench) {
  const auto add = [&](const char* id, const char* title, const char* name, auto write) {
    bench.commands.add({.id = id,
                        .title = title,
                        .icon = icon::kExport,
                        .run =
                            [panel, &bench, name, write](const std::string& path) {
                              bench.save.open(bench.ui(), "Where to write it", name, write(*panel), path);
                            },
                        .refuse = [panel] { return nothing_measured(panel); }});
  };
  const auto text_writer = [](std::string text) -> Write {
    return [text = std::move(text)](const std::filesystem::path& file) { write_file(file, text); };
  };
  add("sweep.export_csv", "Export the sweep's table as CSV…", "sweep.csv",
      [=](const SweepPanel& p) { return text_writer(to_csv(p.run->table)); });
  add("sweep.export_json", "Export the sweep's table as JSON…", "sweep.json",
      [=](const SweepPanel& p) { return text_writer(to_json(p.run->table).dump(2) + "\n"); });
  add_plot_exports(bench,
                   {.id = "sweep.plot",
                    .what = "the plot over N",
                    .file = "over-n",
                    .svg = [panel] { return over_n_svg(panel->plot.series, panel->plot.what); },
                    .csv = [panel] { return to_csv(points_table(panel->plot.series, panel->plot.what)); },
                    .picture = &panel->plot.picture,
                    .refuse = [panel] { return nothing_measured(panel); }});
}

}  // namespace

std::string cannot_measure(const SweepPanel& panel, const Workbench& bench) {
  if (running(panel, bench)) return "a sweep is running";
  if (bench.host.program.empty()) return "this window was not started by the program that measures";
  if (panel.records->database.empty()) return "there is no place to keep results; set HOME";
  return "";
}

void add_commands(const Shared& panel, Workbench& bench) {
  if (bench.host.engine.subjects) panel->subjects = bench.host.engine.subjects();
  for (const auto& file : presets::known_presets())
    panel->presets.push_back({file.stem().string(), file.string()});
  add_running(panel, bench);
  add_exports(panel, bench);
}

}  // namespace wide::gui
