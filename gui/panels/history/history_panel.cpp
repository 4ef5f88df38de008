#include "gui/panels/history/history_panel.h"
#include "gui/panels/shared/choices.h"

#include <algorithm>
#include <cmath>

#include "gui/icons.h"
#include "gui/views/quantity.h"
#include "results/table.h"

namespace wide::gui {
namespace {

void draw_export(const Ui& ui) {
  if (ImGui::Button("\xef\x95\xae  Export###export")) ImGui::OpenPopup("exports");
  if (!ImGui::BeginPopup("exports")) return;
  for (const auto& command : ui.commands.all()) {
    if (!command.id.starts_with("history.export_")) continue;
    if (ImGui::MenuItem(command.title.c_str(), nullptr, false, ui.commands.refusal(command.id).empty()))
      ui.commands.run(command.id);
  }
  ImGui::EndPopup();
}

void draw_actions(HistoryPanel& panel, const Ui& ui) {
  command_button(ui, "history.compare", "\xef\x89\x8e  Compare###compare");
  beside(9 * em());
  ImGui::Checkbox("across machines", &panel.across_machines);
  if (ImGui::IsItemHovered(ImGuiHoveredFlags_ForTooltip))
    tooltip("Judge although machine, libraries or threads differ: what changed may then be the machine.");
  beside("\xef\x95\xae  Export");
  draw_export(ui);
  beside("\xef\x95\xaf  Import a report…###import");
  command_button(ui, "history.import", "\xef\x95\xaf  Import a report…###import");
  beside("\xef\x8b\xaa###refresh");
  command_button(ui, "history.refresh", "\xef\x8b\xaa###refresh");
}

// How many runs are chosen, and how to choose the second one.
void draw_chosen(const HistoryPanel& panel, const Ui& ui) {
  const auto& chosen = ui.selection.runs;
  constexpr const char* kLongest = "Ctrl+click another run to compare it with this one";
  std::string text;
  if (chosen.size() > 1) {
    text = std::to_string(chosen.size());
    text.append(" chosen, compared with run ").append(std::to_string(chosen.front()));
  } else if (panel.data->runs.size() > 1) {
    text = chosen.empty() ? "click a run to look at it" : kLongest;
  }
  if (text.empty()) return;
  beside(kLongest);  // whichever it is, so that a click on a run does not move the list
  ImGui::AlignTextToFramePadding();
  ImGui::PushStyleColor(ImGuiCol_Text, chosen.size() > 1 ? ui.theme.text : ui.theme.faint);
  ImGui::TextUnformatted(text.c_str());
  ImGui::PopStyleColor();
}

// A click looks at a run; with Ctrl it is chosen to be compared.
void draw_runs(HistoryPanel& panel, const Ui& ui, float height) {
  auto& data = *panel.data;
  TableOptions options;
  options.id = "##runs";
  options.height = height;
  options.chosen = [&](std::size_t row) { return ui.selection.has_run(data.runs[row].id); };
  options.tip = [&](std::size_t row) {
    const auto& run = data.runs[row];
    std::string text = "A click looks at the run; with Ctrl it is chosen to be compared.";
    if (ui.selection.runs.size() > 1 && ui.selection.has_run(run.id))
      text.append(ui.selection.runs.front() == run.id ? "\nThe others are compared with this one."
                                                      : "\nCompared with the first that was chosen.");
    return text;
  };
  const auto row = draw_table(ui, data.table, panel.runs, options);
  if (!row) return;
  const auto run = data.runs[*row].id;
  if (ImGui::GetIO().KeyCtrl) {
    ui.selection.toggle_run(run);
    return;
  }
  ui.selection.runs = {run};
  ++ui.selection.revision;
  ui.commands.run("history.look", std::to_string(run));
}

// `runs_too`: where there is no room for the runs above the tabs they are a tab of their own.
void draw_tabs(HistoryPanel& panel, const Ui& ui, bool runs_too) {
  if (!ImGui::BeginTabBar("##tabs", ImGuiTabBarFlags_DrawSelectedOverline)) return;
  const bool now_low =
      runs_too && !panel.low && !panel.raise && !panel.run;  // else they would be out of sight
  panel.low = runs_too;
  if (runs_too && ImGui::BeginTabItem("Runs", nullptr, now_low ? ImGuiTabItemFlags_SetSelected : 0)) {
    draw_runs(panel, ui, 0);
    ImGui::EndTabItem();
  }
  struct Tab {
    HistoryTab tab;
    const char* title;
    void (*draw)(HistoryPanel&, const Ui&);
  };
  for (const auto& [tab, title, draw_tab] :
       {Tab{HistoryTab::kRun, "Run", draw_run}, Tab{HistoryTab::kCompare, "Compare", draw_comparison},
        Tab{HistoryTab::kOverN, "Over N", draw_over_n_tab}, Tab{HistoryTab::kTrend, "Trend", draw_trend},
        Tab{HistoryTab::kDashboard, "Dashboard", draw_dashboard}}) {
    if (!ImGui::BeginTabItem(title, nullptr, panel.raise == tab ? ImGuiTabItemFlags_SetSelected : 0))
      continue;
    draw_tab(panel, ui);
    ImGui::EndTabItem();
  }
  panel.raise.reset();
  ImGui::EndTabBar();
}

void draw_deleting(HistoryPanel& panel, const Ui& ui) {
  constexpr const char* kPopup = "Delete runs?###delete";
  if (panel.deleting) ImGui::OpenPopup(kPopup), panel.deleting = false;
  ImGui::SetNextWindowPos(ImGui::GetMainViewport()->GetWorkCenter(), ImGuiCond_Appearing, {0.5F, 0.5F});
  if (!ImGui::BeginPopupModal(kPopup, nullptr, ImGuiWindowFlags_AlwaysAutoResize)) return;
  std::string text = ui.selection.runs.size() == 1 ? "Run" : "Runs";
  for (const auto run : ui.selection.runs) text.append(" ").append(std::to_string(run));
  text.append(" will be gone, with all cases, samples, notes and traces.");
  ImGui::TextUnformatted(text.c_str());
  if (ImGui::Button("Delete")) {
    ui.commands.run("history.delete", "yes");
    ImGui::CloseCurrentPopup();
  }
  ImGui::SameLine();
  if (ImGui::Button("Keep") || ImGui::IsKeyPressed(ImGuiKey_Escape)) ImGui::CloseCurrentPopup();
  ImGui::EndPopup();
}

void draw_replacing(HistoryPanel& panel, const Ui& ui) {
  constexpr const char* kPopup = "Replace the baseline?###replace";
  if (panel.replacing.empty()) return;
  if (!ImGui::IsPopupOpen(kPopup)) ImGui::OpenPopup(kPopup);
  ImGui::SetNextWindowPos(ImGui::GetMainViewport()->GetWorkCenter(), ImGuiCond_Appearing, {0.5F, 0.5F});
  if (!ImGui::BeginPopupModal(kPopup, nullptr, ImGuiWindowFlags_AlwaysAutoResize)) return;
  std::string text = "The baseline ";
  text.append(results::printable(panel.replacing, 60)).append(" holds");
  for (const auto& one : panel.data->baselines) {
    if (one.name != panel.replacing) continue;
    text.append(one.runs.size() == 1 ? " run" : " the runs");
    for (const auto run : one.runs) text.append(" ").append(std::to_string(run));
  }
  text.append(". Several runs show how much they differ; one alone does not.");
  ImGui::TextUnformatted(text.c_str());
  std::string answer;
  if (ImGui::Button("Replace by this run###replace_it")) answer = "history.set_baseline";
  ImGui::SameLine();
  if (ImGui::Button("Add this run to it###add_it")) answer = "history.add_to_baseline";
  ImGui::SameLine();
  if (ImGui::Button("Leave it###leave_it") || ImGui::IsKeyPressed(ImGuiKey_Escape)) answer = "leave";
  if (!answer.empty()) {
    if (answer != "leave") ui.commands.run(answer, panel.replacing);
    panel.replacing.clear();
    ImGui::CloseCurrentPopup();
  }
  ImGui::EndPopup();
}

// Other processes store runs, too: theirs come into the list by themselves.
void watch_others(HistoryPanel& panel, Workbench& bench, const Ui& ui) {
  constexpr double kBetween = 2;  // seconds
  if (!panel.data || panel.records->database.empty()) return;
  bench.watch = [data = panel.data] { return is_stale(*data); };
  if (ui.jobs.busy() || std::abs(ui.now - panel.looked) < kBetween) return;  // reading would disturb timings
  panel.looked = ui.now;
  if (bench.watch()) ++panel.records->revision;
}

}  // namespace

void draw(HistoryPanel& panel, Workbench& bench, const Ui& ui) {
  if (!ui.demo) watch_others(panel, bench, ui);
  if (!panel.asked || panel.read != panel.records->revision) ui.commands.run("history.refresh");
  if (panel.pinned_of != bench.settings.pinned || panel.pinned_read != panel.records->revision)
    ui.commands.run("history.read_dashboard");
  if (!panel.fault.empty()) {
    empty_state(ui, icon::kWarning, "The history cannot be read", panel.fault.c_str(), "history.refresh",
                "Try again###again");
    return;
  }
  const auto reading = panel.reading == 0 ? std::nullopt : bench.jobs.find(panel.reading);
  if (!panel.data && reading &&
      (reading->state == JobState::kWaiting || reading->state == JobState::kRunning)) {
    faint_text(ui, "Reading the history\xe2\x80\xa6");
    return;
  }
  if (!panel.data || panel.data->runs.empty()) {
    empty_state(ui, icon::kHistory, "No run is kept yet",
                "Every sweep is kept here with all its samples: to compare runs, to follow a subject over "
                "time, to export.",
                "sweep.start_small", "Measure the small sweep");
    return;
  }
  draw_actions(panel, ui);
  draw_filter(ui, panel.data->table, panel.runs, "##run_filter");
  draw_chosen(panel, ui);
  constexpr float kLow = 34;  // em: less would leave nothing for the cases of a run
  const float room = ImGui::GetContentRegionAvail().y;
  const bool low = room < kLow * em();
  if (!low) {
    const float rows = static_cast<float>(std::min<std::size_t>(panel.data->table.shown().size(), 8) + 2);
    draw_runs(panel, ui,
              std::min(rows * (ImGui::GetTextLineHeightWithSpacing() + 0.2F * em()), 0.42F * room));
  }
  draw_tabs(panel, ui, low);
  draw_deleting(panel, ui);
  draw_replacing(panel, ui);
}

}  // namespace wide::gui
