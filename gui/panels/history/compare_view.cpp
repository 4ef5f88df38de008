// Two runs case by case. What forbids to compare stands first.
#include "gui/icons.h"
#include "gui/panels/history/history_panel.h"
#include "gui/panels/shared/choices.h"
#include "gui/panels/shared/plot_export.h"
#include "results/table.h"

namespace wide::gui {
namespace {

using results::printable;

void choose(HistoryPanel& panel) {
  if (panel.comparisons.size() < 2) return;
  const auto name = [&](std::size_t i) {
    auto text = panel.comparisons[i].comparison.first;
    return printable(text.append(" to ").append(panel.comparisons[i].comparison.second), 80);
  };
  ImGui::SetNextItemWidth(12 * em());
  if (!begin_combo("##comparison", name(panel.comparison))) return;
  for (std::size_t i = 0; i < panel.comparisons.size(); ++i) {
    if (ImGui::Selectable(name(i).c_str(), i == panel.comparison)) panel.comparison = i;
  }
  ImGui::EndCombo();
}

}  // namespace

void draw_comparison(HistoryPanel& panel, const Ui& ui) {
  if (panel.comparisons.empty())
    return faint_text(
        ui, "Choose two runs or more with Ctrl+click, the first one to compare with, and press Compare.");
  choose(panel);
  auto& data = panel.comparisons[panel.comparison];
  const auto& seen = data.comparison;
  std::string title = printable(seen.first, 60);
  title.append(" to ").append(printable(seen.second, 60)).append(": ").append(headline(seen));
  ImGui::PushFont(ui.fonts.bold, 0);
  ImGui::PushTextWrapPos(0);
  ImGui::TextUnformatted(title.c_str());
  ImGui::PopTextWrapPos();
  ImGui::PopFont();
  faint_text(ui,
             "Cost of the second run relative to the first, 95 %; below zero it became faster. A change "
             "counts from 5 % on and after Holm's correction.");
  for (const auto& barrier : seen.barriers) badge(ui, Level::kError, printable(barrier, 300));
  for (const auto& remark : seen.remarks) faint_text(ui, printable(remark, 300));
  command_button(ui, "history.copy_command", "\xef\x84\xa0  Copy as command line###copy_compare");
  beside(12 * em());
  draw_filter(ui, data.table, panel.changes, "##change_filter");
  int as = panel.forest ? 1 : 0;
  beside(8 * em());
  ImGui::SetNextItemWidth(8 * em());
  if (combo("##as", as, {"as a table", "as a forest plot"})) panel.forest = as == 1;
  draw_plot_exports(ui, "history.forest");
  if (panel.forest) return draw_forest(panel, ui, data);
  TableOptions options;
  options.id = "##changes";
  options.verdict = "change";
  options.tip = [&](std::size_t row) {
    return std::string(data.table.text(row, data.table.column("reasons")));
  };
  options.chosen = [&](std::size_t row) {
    return row < seen.cases.size() && !ui.selection.case_key.empty() &&
           seen.cases[row].key == ui.selection.case_key;
  };
  if (const auto row = draw_table(ui, data.table, panel.changes, options); row && *row < seen.cases.size()) {
    ui.selection.choose_case(seen.cases[*row].key);
    if (ImGui::IsMouseDoubleClicked(ImGuiMouseButton_Left))
      ui.commands.run("history.follow", seen.cases[*row].subject);
  }
}

}  // namespace wide::gui
