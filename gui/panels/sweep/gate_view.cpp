// The gate: what a sweep is held against, and what came of it.
#include <imgui.h>

#include <algorithm>
#include <charconv>

#include "gui/icons.h"
#include "gui/panels/shared/results_panels.h"
#include "gui/panels/shared/table_room.h"
#include "results/table.h"

namespace wide::gui {
namespace {

using results::printable;

// "run 3", "main".
std::string baseline_text(const std::string& baseline) {
  const bool number = baseline.find_first_not_of("0123456789") == std::string::npos;
  return (number ? "run " : "") + printable(baseline, 60);
}

void choose_baseline(SweepPanel& panel, Workbench& bench) {
  auto& chosen = panel.form.gate.baseline;
  constexpr std::size_t kRuns = 20;
  ImGui::SetNextItemWidth(-1);
  if (!begin_combo("##baseline", chosen.empty() ? "no gate" : baseline_text(chosen))) return;
  const auto& history = *bench.results->history;
  // What History shows is read when it is first looked at.
  if (ImGui::IsWindowAppearing() && (!history.asked || history.read != history.records->revision))
    bench.commands.run("history.refresh");
  if (ImGui::Selectable("no gate###no_gate", chosen.empty())) chosen.clear();
  if (history.data) {
    for (const auto& one : history.data->baselines) {
      auto label = "baseline " + printable(one.name, 60) + ", " + std::to_string(one.runs.size()) +
                   (one.runs.size() == 1 ? " run" : " runs");
      if (ImGui::Selectable(label.append("###baseline_").append(one.name).c_str(), chosen == one.name))
        chosen = one.name;
    }
    for (std::size_t i = 0; i < std::min(kRuns, history.data->runs.size()); ++i) {
      const auto& run = history.data->runs[i];
      if (run.passed == 0) continue;
      const auto number = std::to_string(run.id);
      auto label = "run " + number + "  " + short_time(run.started) + "  " + printable(run.label, 40);
      if (ImGui::Selectable(label.append("###run_").append(number).c_str(), chosen == number))
        chosen = number;
    }
  }
  ImGui::EndCombo();
}

// Runs of the history that the baseline stands for; none where it is a file or is not known.
std::vector<std::int64_t> runs_of(const std::string& baseline, const HistoryData& data) {
  for (const auto& one : data.baselines) {
    if (one.name == baseline) return one.runs;
  }
  std::int64_t run = 0;
  const auto [end, error] = std::from_chars(baseline.data(), baseline.data() + baseline.size(), run);
  if (error != std::errc() || end != baseline.data() + baseline.size()) return {};
  return data.row_of(run) < data.runs.size() ? std::vector{run} : std::vector<std::int64_t>{};
}

}  // namespace

void draw_gate_form(SweepPanel& panel, Workbench& bench, const Ui& ui) {
  auto& gate = panel.form.gate;
  if (panel.open_gate) ImGui::SetNextItemOpen(true), panel.open_gate = false;
  const auto title = gate.baseline.empty() ? std::string("Gate: none")
                                           : "Gate: not slower than " + baseline_text(gate.baseline);
  if (!ImGui::TreeNodeEx((title + "###gate").c_str(), ImGuiTreeNodeFlags_SpanAvailWidth)) return;
  faint_text(
      ui, "Holds what is measured against a baseline. What seems slower is measured again before it counts.");
  const bool two = ImGui::GetContentRegionAvail().x > 34 * em();
  if (begin_table("##gate_form", two ? 4 : 2)) {
    for (int i = 0; i < (two ? 2 : 1); ++i) {
      ImGui::TableSetupColumn(i == 0 ? "label" : "label2", ImGuiTableColumnFlags_WidthFixed, 7.2F * em());
      ImGui::TableSetupColumn(i == 0 ? "field" : "field2", ImGuiTableColumnFlags_WidthStretch);
    }
    field(ui, "baseline");
    choose_baseline(panel, bench);
    field(ui, "counts from");
    ImGui::InputDouble("##effect", &gate.effect_percent, 0, 0, "%.6g %% slower");
    field(ui, "and from");
    ImGui::InputDouble("##least_us", &gate.minimum_us, 0, 0, "%.6g us slower");
    field(ui, "measured again");
    ImGui::InputInt("##repeats", &gate.repeats, 0);
    if (ImGui::IsItemHovered(ImGuiHoveredFlags_ForTooltip))
      tooltip("How often an alert is measured again at most, each time by a process of its own");
    field(ui, "undecided");
    ImGui::Checkbox("fails, too###fail_inconclusive", &gate.fail_inconclusive);
    field(ui, "machines");
    ImGui::Checkbox("may differ###across_machines", &gate.across_machines);
    ImGui::EndTable();
  }
  ImGui::TreePop();
}

void draw_gate_verdict(const SweepPanel& panel, Workbench& bench, const Ui& ui) {
  const auto& said = panel.gate;
  if (said.verdict.empty() || !panel.run || said.run != panel.run->run.id) return;
  const auto level = said.verdict == "passed"         ? Level::kInfo
                     : said.verdict == "inconclusive" ? Level::kWarning
                                                      : Level::kError;
  badge(ui, level, "gate: " + said.verdict);
  ImGui::SameLine();
  ImGui::PushStyleColor(ImGuiCol_Text, ui.theme.faint);
  fitted_text(said.counts);
  ImGui::PopStyleColor();
  constexpr std::size_t kShown = 5;
  for (std::size_t i = 0; i < std::min(kShown, said.cases.size()); ++i) {
    ImGui::PushFont(ui.fonts.mono, 0);
    fitted_text(said.cases[i]);
    ImGui::PopFont();
  }
  if (said.cases.size() > kShown) {
    auto rest = std::to_string(said.cases.size() - kShown) + " more; the comparison has them all";
    faint_text(ui, rest);
  }
  const auto& history = bench.results->history->data;
  const auto base = history ? runs_of(panel.gated_against, *history) : std::vector<std::int64_t>{};
  if (base.empty()) return;
  if (ImGui::SmallButton("Case by case###gate_compare")) {
    ui.selection.runs = {base.front(), said.run};
    ++ui.selection.revision;
    bench.show("history");
    ui.commands.run("history.compare");
  }
}

}  // namespace wide::gui
