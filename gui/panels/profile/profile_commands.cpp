// What can be done with profiles.
#include <imgui.h>

#include <charconv>
#include <nlohmann/json.hpp>

#include "gui/icons.h"
#include "gui/panels/profile/profile_panel.h"
#include "gui/views/sweep_form.h"
#include "presets/preset.h"
#include "profiler/trace/chrome_export.h"

namespace wide::gui {
namespace {

using Shared = std::shared_ptr<ProfilePanel>;

bool running(const ProfilePanel& panel, const Workbench& bench) {
  const auto job = bench.jobs.find(panel.job);
  return job && job->state < JobState::kDone;
}

std::string no_profile(const Shared& panel) {
  return panel->data ? "" : "no profile is open";
}

void add_running(const Shared& panel, Workbench& bench) {
  bench.commands.add({.id = "profile.start",
                      .title = "Profile: what runs, and why",
                      .menu = "Run",
                      .icon = icon::kProfile,
                      .chord = ImGuiKey_F6,
                      .run =
                          [panel, &bench](const std::string&) {
                            bench.show("profile");
                            start_profile(panel, bench);
                          },
                      .refuse =
                          [panel, &bench] {
                            if (running(*panel, bench)) return "a profile is being taken";
                            return bench.host.program.empty()
                                       ? "this window was not started by the program that captures"
                                       : "";
                          }});
  bench.commands.add({.id = "profile.measure_peaks",
                      .title = "Profile, and measure the machine's peaks again",
                      .menu = "Run",
                      .icon = icon::kClock,
                      .run =
                          [panel, &bench](const std::string&) {
                            panel->form.measure_peaks = true;
                            start_profile(panel, bench);
                            panel->form.measure_peaks = false;
                          },
                      .refuse = [&bench] { return bench.commands.refusal("profile.start"); }});
  bench.commands.add(
      {.id = "profile.cancel",
       .title = "Cancel the profile",
       .menu = "Run",
       .icon = icon::kStop,
       .run = [panel, &bench](const std::string&) { bench.jobs.cancel(panel->job); },
       .refuse = [panel, &bench] { return running(*panel, bench) ? "" : "no profile is being taken"; }});
  bench.commands.add({.id = "profile.open",
                      .title = "Open a trace…",
                      .menu = "File",
                      .icon = icon::kFolderOpen,
                      .run = [panel, &bench](const std::string& path) {
                        const auto open = [panel, &bench](const std::string& file) {
                          bench.show("profile");
                          load_profile(panel, bench, file);
                        };
                        if (!path.empty()) return open(path);
                        bench.files.open("A trace of ours or of torch.profiler", {".json", ".gz"},
                                         [open](const auto& files) { open(files.front()); });
                      }});
  bench.commands.add({.id = "profile.open_run",
                      .title = "Open the captures of a run",
                      .icon = icon::kFolderOpen,
                      .run = [panel, &bench](const std::string& text) {
                        std::int64_t run = 0;
                        std::from_chars(text.data(), text.data() + text.size(), run);
                        load_captures(panel, bench, run);
                      }});
  bench.commands.add({.id = "profile.copy_command",
                      .title = "Copy the profile as command line",
                      .icon = icon::kTerminal,
                      .run = [panel, &bench](const std::string&) {
                        // A line to run later names a plan that stays.
                        const auto& model = bench.session.model;
                        const bool open = panel->form.open_model && model && !model->plan.empty();
                        const auto plan = open ? plan_file(*model).string() : std::string();
                        const auto line = command_text(profile_arguments(*panel, bench, "trace.json", plan));
                        ImGui::SetClipboardText(line.c_str());
                        bench.notices.post(Level::kInfo, "Copied", line);
                      }});
}

void add_moving(const Shared& panel, Workbench& bench) {
  const auto add = [&](const char* id, const char* title, const char* icon, auto act) {
    bench.commands.add({.id = id,
                        .title = title,
                        .icon = icon,
                        .run = [panel, act](const std::string& argument) { act(*panel, argument); },
                        .refuse = [panel] { return no_profile(panel); }});
  };
  add("profile.fit", "Timeline: show everything (F)", icon::kFit,
      [](ProfilePanel& p, const std::string&) { fit(p.timeline); });
  add("profile.zoom", "Timeline: zoom to the selection (Z)", "",
      [](ProfilePanel& p, const std::string&) { zoom_to_selection(p.timeline, *p.data); });
  add("profile.search", "Timeline: search", icon::kInspector,
      [](ProfilePanel& p, const std::string& text) { look_for(p.timeline, *p.data, text); });
  const auto step = [&bench](ProfilePanel& p, bool forwards) {
    if (go_to_next(p.timeline, *p.data, forwards)) choose_node_of(p.timeline, *p.data, bench.selection);
  };
  add("profile.next", "Timeline: next one found", "",
      [step](ProfilePanel& p, const std::string&) { step(p, true); });
  add("profile.previous", "Timeline: previous one found", "",
      [step](ProfilePanel& p, const std::string&) { step(p, false); });
  add("profile.bookmark", "Timeline: set a bookmark, or take it away (B)", icon::kPin,
      [](ProfilePanel& p, const std::string&) { toggle_bookmark(p.timeline, *p.data); });
  add("profile.next_bookmark", "Timeline: next bookmark (N)", "",
      [](ProfilePanel& p, const std::string&) { go_to_bookmark(p.timeline, true); });
  add("profile.previous_bookmark", "Timeline: previous bookmark (Shift+N)", "",
      [](ProfilePanel& p, const std::string&) { go_to_bookmark(p.timeline, false); });
  add("profile.show_tab", "Profile: next tab", "", [](ProfilePanel& p, const std::string& which) {
    p.raise = which == "kernels"    ? ProfileTab::kKernels
              : which == "flame"    ? ProfileTab::kFlame
              : which == "gain"     ? ProfileTab::kGain
              : which == "roofline" ? ProfileTab::kRoofline
              : which == "limits"   ? ProfileTab::kLimits
              : which == "query"    ? ProfileTab::kQuery
              : which == "timeline" ? ProfileTab::kTimeline
                                    : static_cast<ProfileTab>((static_cast<int>(p.shown) + 1) % kProfileTabs);
  });
}

void add_limits(const Shared& panel, Workbench& bench) {
  bench.commands.add({.id = "profile.limits",
                      .title = "Limits: which operation holds the speed-up back",
                      .menu = "View",
                      .icon = icon::kProfile,
                      .run =
                          [panel, &bench](const std::string&) {
                            bench.show("profile");
                            panel->raise = ProfileTab::kLimits;
                          },
                      .refuse = [panel] { return no_profile(panel); }});
}

Write text_writer(std::string text) {
  return [text = std::move(text)](const std::filesystem::path& file) { write_file(file, text); };
}

// The table on the tab that is shown.
Table shown_table(const ProfilePanel& panel) {
  const auto& data = explained(panel);
  if (panel.shown == ProfileTab::kGain) return data.nodes;
  if (panel.shown == ProfileTab::kFlame) return flame_table(data.flames[panel.capture]);
  if (panel.shown == ProfileTab::kRoofline) return data.points;
  if (panel.shown == ProfileTab::kLimits) return panel.by_module ? data.limit_modules : data.limit_nodes;
  if (panel.shown == ProfileTab::kQuery && panel.query.answer) return *panel.query.answer;
  return data.kernels[panel.capture];
}

std::string shown_svg(const ProfilePanel& panel) {
  const auto& data = explained(panel);
  if (panel.shown == ProfileTab::kGain && !data.comparisons.empty())
    return gain_svg(data.comparisons[panel.comparison]);
  if (panel.shown == ProfileTab::kRoofline && data.roofline)
    return to_svg(*data.roofline, data.traces[data.wide]);
  return timeline_svg(*panel.data, panel.timeline.view, 1200);
}

void add_exports(const Shared& panel, Workbench& bench) {
  const auto add = [&](const char* id, const char* title, const char* name, auto writer) {
    bench.commands.add({.id = id,
                        .title = title,
                        .icon = icon::kExport,
                        .run =
                            [panel, &bench, name, writer](const std::string& path) {
                              bench.save.open(bench.ui(), "Where to write it", name, writer(panel), path);
                            },
                        .refuse = [panel] { return no_profile(panel); }});
  };
  add("profile.export_csv", "Export the profile's table as CSV…", "profile.csv",
      [](const Shared& p) { return text_writer(to_csv(shown_table(*p))); });
  add("profile.export_json", "Export the profile's table as JSON…", "profile-table.json",
      [](const Shared& p) { return text_writer(to_json(shown_table(*p)).dump(2) + "\n"); });
  add("profile.export_svg", "Export the profile's picture as SVG…", "profile.svg",
      [](const Shared& p) { return text_writer(shown_svg(*p)); });
  add("profile.export_trace", "Export the trace for Perfetto…", "trace.json.gz", [](const Shared& p) {
    return Write([data = p->data](const std::filesystem::path& file) {
      std::vector<const profiler::Trace*> traces;
      for (const auto& trace : data->traces) traces.push_back(&trace);
      profiler::write_chrome_file(file, traces);
    });
  });
  bench.commands.add({.id = "profile.export_png",
                      .title = "Export the profile's picture as PNG…",
                      .icon = icon::kExport,
                      .run =
                          [panel, &bench](const std::string& path) {
                            if (!path.empty()) return panel->picture.want(path);
                            bench.save.open_here("Where to write it", "profile.png",
                                                 [panel](const auto& file) { panel->picture.want(file); });
                          },
                      .refuse = [panel]() -> std::string {
                        const std::string reason = no_profile(panel);
                        return reason.empty() ? panel->picture.refusal() : reason;
                      }});
}

}  // namespace

void add_commands(const Shared& panel, Workbench& bench) {
  if (bench.host.engine.subjects) {
    for (const auto& subject : bench.host.engine.subjects())
      panel->subjects.push_back({subject.name, subject.summary});
  }
  for (const auto& file : presets::known_presets())
    panel->presets.push_back({file.stem().string(), file.string()});
  add_running(panel, bench);
  add_moving(panel, bench);
  add_limits(panel, bench);
  add_span_commands(panel, bench);
  add_query_commands(panel, bench);
  add_exports(panel, bench);
}

}  // namespace wide::gui
