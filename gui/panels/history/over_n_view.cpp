// The chosen runs over N, laid over one another.
#include <algorithm>

#include "gui/panels/history/history_panel.h"
#include "gui/panels/shared/choices.h"
#include "gui/panels/shared/plot_export.h"
#include "results/table.h"

namespace wide::gui {
namespace {

// All subjects of the runs that were read, or one of them.
void choose_subject(HistoryPanel& panel) {
  std::vector<std::string> subjects;
  for (const auto& run : panel.laid_over) {
    for (const auto& subject : run->subjects) {
      if (std::find(subjects.begin(), subjects.end(), subject) == subjects.end()) subjects.push_back(subject);
    }
  }
  auto& chosen = panel.laid_over_subject;
  if (std::find(subjects.begin(), subjects.end(), chosen) == subjects.end()) chosen.clear();
  const auto before = chosen;
  ImGui::SetNextItemWidth(11 * em());
  if (!begin_combo("##laid_over_subject", chosen.empty() ? "all subjects" : results::printable(chosen, 60)))
    return;
  if (ImGui::Selectable("all subjects", chosen.empty())) chosen.clear();
  for (const auto& subject : subjects) {
    if (ImGui::Selectable(results::printable(subject, 60).c_str(), subject == chosen)) chosen = subject;
  }
  ImGui::EndCombo();
  if (chosen != before) plot_laid_over(panel);
}

}  // namespace

void draw_over_n_tab(HistoryPanel& panel, const Ui& ui) {
  if (!ui.selection.runs.empty() && ui.selection.runs != panel.laid_over_of)
    ui.commands.run("history.over_n");
  if (panel.laid_over.empty())
    return faint_text(
        ui, "Click a run, and Ctrl+click others: what they measured over N is laid over one another.");
  choose_subject(panel);
  beside(11 * em());
  if (choose_over_n(panel.over_n)) plot_laid_over(panel);
  draw_plot_exports(ui, "history.over_n");
  if (panel.over_n.series.empty())
    return faint_text(ui,
                      is_speedup(panel.over_n.what)
                          ? "No case of these runs has a speed-up: their times were disturbed, or they did "
                            "not pass. The time of a pass can still be plotted."
                          : "No case of these runs has it.");
  draw_over_n(panel.over_n, ui, std::max(12 * em(), ImGui::GetContentRegionAvail().y));
}

}  // namespace wide::gui
