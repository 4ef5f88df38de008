// Which operation holds the speed-up back: a row per node or module, what loses most first.
#include "gui/panels/profile/profile_panel.h"
#include "gui/views/quantity.h"
#include "results/reliability.h"
#include "results/table.h"

namespace wide::gui {

void draw_limits(ProfilePanel& panel, const Ui& ui) {
  auto& data = explained(panel);
  for (const auto& doubt : data.limits.doubts) {
    std::string text = results::kUnreliable;
    badge(ui, Level::kWarning, text.append("; ").append(results::printable(doubt, 200)));
  }
  ImGui::TextWrapped("%s", limits_headline(data.limits).c_str());
  int by = panel.by_module ? 1 : 0;
  ImGui::SetNextItemWidth(9 * em());
  if (combo("##limits_by", by, {"by node", "by module"})) panel.by_module = by == 1;
  auto& table = panel.by_module ? data.limit_modules : data.limit_nodes;
  const auto& limits = panel.by_module ? data.limits.modules : data.limits.nodes;
  beside(16 * em());
  draw_filter(ui, table, panel.limits, "##limit_filter");
  if (!data.roofline) faint_text(ui, "No peaks of this machine are known: time is lost against no roof.");
  if (limits.empty()) return faint_text(ui, "No module holds two operations.");
  const auto node_of = [&](std::size_t row) {
    return panel.by_module ? worst_node_in(data.limits, limits[row].name) : selection_name(limits[row].name);
  };
  TableOptions options;
  options.id = panel.by_module ? "##limit_modules" : "##limit_nodes";
  options.mono = "node";
  options.bars = {{"rival", faded(ui.theme.rival, 0.35F)}, {"wide", faded(ui.theme.wide, 0.45F)}};
  options.chosen = [&](std::size_t row) {
    return !ui.selection.node.empty() && node_of(row) == ui.selection.node;
  };
  options.reveal = ui.selection.node;
  options.tip = [&](std::size_t row) {
    const auto& one = limits[row];
    auto text = results::printable(one.name, 200);
    if (!one.strategy.empty()) text.append("\nruns as ").append(results::printable(one.strategy, 60));
    if (!one.module.empty()) text.append("\nin ").append(results::printable(one.module, 200));
    text.append("\n").append(show_time({one.wide_us})).append(" a pass, at best ");
    text.append(one.roof_us > 0 ? show_time({one.roof_us}) : "not known");
    if (one.action.basis.starts_with("at most"))
      text.append("\nWhat it would save is a bound: no more than that can be had.");
    return text;
  };
  if (const auto row = draw_table(ui, table, panel.limits, options)) ui.selection.choose_node(node_of(*row));
}

}  // namespace wide::gui
