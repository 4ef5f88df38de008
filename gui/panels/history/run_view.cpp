// One run: what it was, tags, notes, cases.
#include <imgui.h>
#include <imgui_stdlib.h>

#include "gui/icons.h"
#include "gui/panels/history/history_panel.h"
#include "gui/panels/shared/choices.h"
#include "gui/views/sweep_rows.h"
#include "results/table.h"

namespace wide::gui {
namespace {

using results::printable;

void draw_facts(const results::RunRecord& run, const Ui& ui) {
  std::string line = run.id > 0 ? "run " + std::to_string(run.id) : "sample, not measured";
  line.append(", ").append(short_time(run.started)).append(", ").append(results::name(run.status));
  if (!run.label.empty()) line.append(", ").append(printable(run.label, 60));
  ImGui::PushFont(ui.fonts.bold, 0);
  ImGui::PushTextWrapPos(0);
  ImGui::TextUnformatted(line.c_str());
  ImGui::PopTextWrapPos();
  ImGui::PopFont();
  std::string about = printable(run.machine.cpu, 60);
  about.append(about.empty() ? "" : ", ")
      .append(run.threads == 0 ? "as many" : std::to_string(run.threads))
      .append(run.threads == 1 ? " thread" : " threads")
      .append(run.threads == 0 ? " as libtorch chooses" : "");
  if (!run.git_commit.empty()) about.append(", commit ").append(printable(run.git_commit, 10));
  if (!run.tool_version.empty()) about.append(", version ").append(printable(run.tool_version, 20));
  faint_text(ui, about);
}

// A name that hangs on the run, and what takes it off.
void draw_name(const Ui& ui, std::string label, const std::string& name, const char* command,
               const char* about) {
  ImGui::SameLine();
  label.append("  ").append(icon::kCross).append("###").append(command).append(name);
  if (ImGui::SmallButton(label.c_str())) ui.commands.run(command, name);
  if (ImGui::IsItemHovered(ImGuiHoveredFlags_ForTooltip)) tooltip(about);
}

void draw_names(HistoryPanel& panel, const results::RunSummary* summary, const Ui& ui) {
  const auto& run = panel.run->run;
  ImGui::AlignTextToFramePadding();
  ImGui::TextUnformatted(icon::kTag);
  if (summary != nullptr) {
    for (const auto& name : summary->baselines)
      draw_name(ui, "baseline " + printable(name, 40), name, "history.leave_baseline",
                "Take the run out of this baseline; one that holds no run is gone");
  }
  for (const auto& tag : run.tags)
    draw_name(ui, printable(tag, 40), tag, "history.untag", "Take this tag off");
  beside(7 * em());
  ImGui::SetNextItemWidth(7 * em());
  ImGui::InputTextWithHint("##tag", "add a tag", &panel.tag);
  if (ImGui::IsItemDeactivatedAfterEdit() && !panel.tag.empty()) {  // by Enter, or by going elsewhere
    ui.commands.run("history.tag", panel.tag);
    panel.tag.clear();
  }
  ImGui::SameLine();
  ImGui::SetNextItemWidth(-1);
  ImGui::InputTextWithHint("##note", "write a note", &panel.note);
  if (ImGui::IsItemDeactivatedAfterEdit() && !panel.note.empty()) {
    ui.commands.run("history.note", panel.note);
    panel.note.clear();
  }
  for (const auto& note : run.notes) {
    auto text = short_time(note.created);
    faint_text(ui, text.append("  ").append(printable(note.text, 2000)));
  }
}

}  // namespace

void draw_run(HistoryPanel& panel, const Ui& ui) {
  if (!panel.run)
    return faint_text(ui,
                      panel.low ? "Click a run in Runs to look at it." : "Click a run above to look at it.");
  const auto& data = *panel.run;
  draw_facts(data.run, ui);
  if (data.run.status != results::RunStatus::kDone) {
    ImGui::PushStyleColor(ImGuiCol_Button, faded(ui.theme.accent, 0.35F));
    command_button(ui, "history.resume", "\xef\x81\x8b  Resume this run###resume");
    ImGui::PopStyleColor();
    beside("\xef\x82\x8d  Unpin###pin");
  }
  const auto row_of_run = panel.data->row_of(data.run.id);
  const auto* summary = row_of_run < panel.data->runs.size() ? &panel.data->runs[row_of_run] : nullptr;
  const bool pinned = summary != nullptr && summary->pinned;
  command_button(ui, "history.pin", pinned ? "\xef\x82\x8d  Unpin###pin" : "\xef\x82\x8d  Pin###pin");
  beside("Make it the baseline###baseline");
  command_button(ui, "history.baseline", "Make it the baseline###baseline");
  beside("\xef\x88\x81  Plot###plot");
  command_button(ui, "history.show_in_sweep", "\xef\x88\x81  Plot###plot");
  if (!data.captured.empty()) {
    beside("\xef\xa0\xa8  Open its captures###open_captures");
    command_button(ui, "history.open_captures", "\xef\xa0\xa8  Open its captures###open_captures");
  }
  beside("\xef\x84\xa0  Copy as command line");
  copy_command_line(ui, data.run.command_line);
  beside("\xef\x8b\xad###delete_run");
  command_button(ui, "history.delete", "\xef\x8b\xad###delete_run");
  draw_names(panel, summary, ui);
  draw_filter(ui, panel.run->table, panel.cases, "##case_filter");
  TableOptions options;
  options.id = "##cases";
  options.verdict = "verdict";
  options.chosen = [&](std::size_t row) {
    return !ui.selection.case_key.empty() && data.cases[row].key == ui.selection.case_key;
  };
  options.tip = [&](std::size_t row) {
    auto text = data.cases[row].key;
    if (!data.cases[row].reason.empty()) text.append("\n").append(printable(data.cases[row].reason, 1000));
    if (const auto rivals = rivals_text(data.cases[row]); !rivals.empty()) text.append("\n").append(rivals);
    return text.append("\nA double click follows its subject over time.");
  };
  if (const auto row = draw_table(ui, panel.run->table, panel.cases, options)) {
    ui.selection.choose_case(data.cases[*row].key);
    if (ImGui::IsMouseDoubleClicked(ImGuiMouseButton_Left))
      ui.commands.run("history.follow", data.cases[*row].subject);
  }
}

}  // namespace wide::gui
