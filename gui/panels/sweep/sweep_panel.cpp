#include "gui/panels/sweep/sweep_panel.h"

#include <algorithm>

#include "gui/icons.h"
#include "gui/panels/shared/plot_export.h"
#include "gui/views/quantity.h"
#include "results/reliability.h"

namespace wide::gui {
namespace {

void draw_actions(SweepPanel& panel, const Ui& ui) {
  const auto job = ui.jobs.find(panel.job);
  const bool running = job && job->state < JobState::kDone;
  if (running) {
    command_button(ui, "sweep.cancel", "\xef\x81\x8d  Cancel###cancel");
  } else {
    std::string label = icon::kRun;
    label.append("  Start");
    if (panel.cases > 0)
      label.append(": ")
          .append(show_count({static_cast<double>(panel.cases)}))
          .append(panel.cases == 1 ? " case" : " cases");
    if (!panel.form.gate.baseline.empty()) label.append(", then the gate");
    ImGui::PushStyleColor(ImGuiCol_Button, faded(ui.theme.accent, 0.35F));
    command_button(ui, "sweep.start", label.append("###start").c_str());
    ImGui::PopStyleColor();
    beside("Resume###resume");
    command_button(ui, "sweep.resume", "Resume###resume");
  }
  beside("\xef\x84\xa0  Copy as command line###copy");
  command_button(ui, "sweep.copy_command", "\xef\x84\xa0  Copy as command line###copy");
  if (!running && !panel.fault.empty()) badge(ui, Level::kWarning, panel.fault);
  if (!running) return;
  progress_bar(ui, std::max(0.0, panel.progress.fraction()), panel.progress.text());
  if (!panel.progress.last.empty()) faint_text(ui, panel.progress.last);
}

void draw_exports(const Ui& ui) {
  if (ImGui::Button("\xef\x95\xae  Table###export")) ImGui::OpenPopup("exports");
  if (!ImGui::BeginPopup("exports")) return;
  for (const char* id : {"sweep.export_csv", "sweep.export_json"}) {
    const auto* command = ui.commands.find(id);
    if (command != nullptr &&
        ImGui::MenuItem(command->title.c_str(), nullptr, false, ui.commands.refusal(id).empty()))
      ui.commands.run(id);
  }
  ImGui::EndPopup();
}

void draw_headline(SweepPanel& panel, Workbench& bench, const Ui& ui) {
  const auto& run = panel.run->run;
  ImGui::AlignTextToFramePadding();
  ImGui::PushFont(ui.fonts.bold, 0);
  std::string title = run.id > 0 ? "run " + std::to_string(run.id) : "sample, not measured";
  ImGui::TextUnformatted(title.c_str());
  ImGui::PopFont();
  ImGui::SameLine();
  std::string about(results::name(run.status));
  about.append(", ").append(panel.counted_verdicts);
  ImGui::PushStyleColor(ImGuiCol_Text, ui.theme.faint);
  ImGui::TextUnformatted(about.c_str());
  ImGui::PopStyleColor();
  beside(11 * em());
  if (choose_over_n(panel.plot)) plot_run(panel);
  draw_plot_exports(ui, "sweep.plot");
  beside("\xef\x95\xae  Table");
  draw_exports(ui);
  draw_gate_verdict(panel, bench, ui);
  if (panel.unreliable > 0) {
    std::string text = show_count({static_cast<double>(panel.unreliable)});
    text.append(panel.unreliable == 1 ? " case is " : " cases are ").append(results::kUnreliable);
    badge(ui, Level::kWarning, text);
  }
  if (panel.broken == 0) return;
  std::string text = std::to_string(panel.broken);
  text.append(panel.broken == 1 ? " case did not pass: it has no speed-up"
                                : " cases did not pass: they have no speed-up");
  badge(ui, Level::kError, text);
  beside("Show them");
  if (ImGui::SmallButton("Show them")) {
    panel.view.filter = "-verdict:faster -verdict:slower -verdict:same -verdict:inconclusive -verdict:pass";
    panel.run->table.filter(panel.view.filter);
  }
}

void draw_cases(SweepPanel& panel, const Ui& ui) {
  auto& data = *panel.run;
  draw_filter(ui, data.table, panel.view);
  TableOptions options;
  options.verdict = "verdict";
  options.chosen = [&](std::size_t row) {
    return !ui.selection.case_key.empty() && data.cases[row].key == ui.selection.case_key;
  };
  options.tip = [&](std::size_t row) {
    const auto& record = data.cases[row];
    auto text = record.key;
    if (const auto why = reason_text(record); !why.empty()) text.append("\n").append(why);
    if (!record.stop_reason.empty())
      text.append("\n")
          .append(std::to_string(record.rounds))
          .append(" rounds, ended by ")
          .append(record.stop_reason);
    return text;
  };
  if (const auto row = draw_table(ui, data.table, panel.view, options))
    ui.selection.choose_case(data.cases[*row].key);
}

}  // namespace

void draw(SweepPanel& panel, Workbench& bench, const Ui& ui) {
  if (!panel.asked) {
    panel.asked = true;
    ui.commands.run("sweep.show_run");
  }
  ImGui::SetNextItemOpen(panel.open_gate || (panel.run == nullptr && !panel.fold),
                         panel.fold || panel.open_gate ? ImGuiCond_Always : ImGuiCond_Once);
  panel.fold = false;
  if (ImGui::CollapsingHeader("What to measure###form")) {
    draw_form(panel, bench, ui);
  } else {
    check_form(panel, bench);
  }
  draw_actions(panel, ui);
  const auto reading = panel.reading == 0 ? std::nullopt : bench.jobs.find(panel.reading);
  if (!panel.run && reading &&
      (reading->state == JobState::kWaiting || reading->state == JobState::kRunning)) {
    faint_text(ui, "Reading the last sweep\xe2\x80\xa6");
  } else if (!panel.run) {
    empty_state(
        ui, icon::kSweep, "Nothing is measured yet",
        "Speed-up over N with its interval, and a table of all cases, will stand here. The small sweep takes "
        "under three minutes.",
        "sweep.start_small", "Measure the small sweep");
  } else {
    ImGui::Separator();
    draw_headline(panel, bench, ui);
    const float room = ImGui::GetContentRegionAvail().y;
    if (!panel.plot.series.empty()) draw_over_n(panel.plot, ui, std::max(10 * em(), 0.52F * room));
    draw_cases(panel, ui);
  }
  panel.save.draw(ui);
}

}  // namespace wide::gui
