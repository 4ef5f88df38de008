// The strategies as rows: a node each, or a kind of operation each.
#include <algorithm>
#include <map>
#include <optional>
#include <set>

#include "gui/panels/shared/table_room.h"
#include "gui/panels/strategies_panel.h"
#include "gui/panels/strategy_menu.h"

namespace wide::gui {
namespace {

// A combo of all that could run the node. Returns what was chosen; empty: nothing.
std::string choose(const NodeView& offers, const std::string& now) {
  std::string wanted;
  const auto shown = now == "auto" ? "AUTO: " + offers.strategy : now;
  ImGui::SetNextItemWidth(-1);
  if (!begin_combo("##strategy", shown)) return wanted;
  wanted = strategy_rows(offers, now);
  ImGui::EndCombo();
  return wanted;
}

// Which columns there is room for; what is left out stands in tooltips and in the inspector.
struct Columns {
  bool second, how, refused;
  int count() const { return 3 + second + how + refused; }
};

Columns columns_for(float width) {
  return {width > 29 * em(), width > 35 * em(), width > 44 * em()};
}

// `then`: with what is chosen and not built yet.
void time_cell(const Ui& ui, const NodeView& node, const Columns& columns,
               std::optional<double> then = std::nullopt) {
  const char* word = then ? "estimate" : node.measured ? "measured" : "estimated";
  ImGui::TableNextColumn();
  if (then) ImGui::PushStyleColor(ImGuiCol_Text, ui.theme.warning);
  const auto as_built = time_text(node.microseconds, node.measured);
  right_text(then ? time_text(*then, false) : as_built);
  if (then) ImGui::PopStyleColor();
  if (ImGui::IsItemHovered(ImGuiHoveredFlags_ForTooltip)) {
    std::string text = word;
    if (then) text.append(" of what is chosen and not built yet; as built ").append(as_built);
    if (const auto why = why_not_fastest(node); !then && !why.empty()) text.append("; ").append(why);
    tooltip(text);
  }
  if (!columns.how) return;
  ImGui::TableNextColumn();
  ImGui::PushStyleColor(ImGuiCol_Text, ui.theme.faint);
  ImGui::TextUnformatted(word);
  ImGui::PopStyleColor();
}

void refusals_cell(const Ui& ui, const NodeView& offers, const Columns& columns) {
  if (!columns.refused) return;
  ImGui::TableNextColumn();
  std::string text;
  for (const auto& refusal : offers.refusals) {
    text.append(text.empty() ? "" : "; ").append(refusal.strategy).append(": ").append(refusal.reason);
  }
  ImGui::PushStyleColor(ImGuiCol_Text, ui.theme.faint);
  fitted_text(text);
  ImGui::PopStyleColor();
}

void headers(const char* first, const char* second, const Columns& columns) {
  ImGui::TableSetupScrollFreeze(0, 1);
  ImGui::TableSetupColumn(first, ImGuiTableColumnFlags_WidthStretch, 1);
  if (columns.second) ImGui::TableSetupColumn(second, ImGuiTableColumnFlags_WidthStretch, 0.8F);
  ImGui::TableSetupColumn("strategy", ImGuiTableColumnFlags_WidthFixed,
                          (columns.second ? 11.5F : 8.4F) * em());
  ImGui::TableSetupColumn("time", ImGuiTableColumnFlags_WidthFixed, ImGui::CalcTextSize("~88.8 ms").x);
  if (columns.how)
    ImGui::TableSetupColumn("how", ImGuiTableColumnFlags_WidthFixed, ImGui::CalcTextSize("estimated").x);
  if (columns.refused) ImGui::TableSetupColumn("refused", ImGuiTableColumnFlags_WidthStretch, 1.5F);
  table_headings({columns.second ? 3 : 2});
}

bool matches(const NodeView& node, const std::string& filter) {
  return filter.empty() || node.name.find(filter) != std::string::npos ||
         node.op.find(filter) != std::string::npos || node.module.find(filter) != std::string::npos ||
         node.strategy.find(filter) != std::string::npos;
}

}  // namespace

void draw_by_node(StrategiesPanel& panel, Session& session, const Ui& ui) {
  const auto columns = columns_for(ImGui::GetContentRegionAvail().x);
  if (!begin_table("##nodes", columns.count(), kStrategiesTable)) return;
  headers("node", "operation", columns);
  // A node chosen in another panel comes into view.
  const bool reveal = panel.shown_node != ui.selection.node;
  panel.shown_node = ui.selection.node;
  for (const auto& node : session.model->graph) {
    if (!node.choosable() || !matches(node, panel.filter)) continue;
    const auto* offers = session.offers(node.name);
    if (!offers) offers = &node;
    ImGui::PushID(node.name.c_str());
    ImGui::TableNextRow();
    ImGui::TableNextColumn();
    ImGui::AlignTextToFramePadding();
    const auto label = fitting(node.name, ImGui::GetContentRegionAvail().x) + "###node";
    if (ImGui::Selectable(label.c_str(), ui.selection.node == node.name,
                          ImGuiSelectableFlags_SpanAllColumns | ImGuiSelectableFlags_AllowOverlap))
      ui.selection.choose_node(panel.shown_node = node.name);
    if (!label.starts_with(node.name + "#") && ImGui::IsItemHovered(ImGuiHoveredFlags_ForTooltip))
      tooltip(node.name);
    row_menu(ui,
             {node.name, node.kind, node.module, node.strategy, time_text(node.microseconds, node.measured)});
    if (reveal && ui.selection.node == node.name) ImGui::SetScrollHereY(0.5F);
    if (columns.second) {
      ImGui::TableNextColumn();
      fitted_text(node.kind);
      if (!node.module.empty()) {
        ImGui::SameLine();
        ImGui::PushStyleColor(ImGuiCol_Text, ui.theme.faint);
        fitted_text(node.module);
        ImGui::PopStyleColor();
      }
    }
    ImGui::TableNextColumn();
    const auto now = chosen(session.wish, node);
    if (const auto wanted = choose(*offers, now); !wanted.empty())
      set_choice(session.wish.by_value, "%" + node.name, wanted);
    time_cell(ui, node, columns, session.estimated_us(node));
    refusals_cell(ui, *offers, columns);
    ImGui::PopID();
  }
  ImGui::EndTable();
}

namespace {

struct KindRow {
  NodeView merged;       ///< what AUTO chose, and what else can run all of them; times are sums
  NodeView now;          ///< times as it is built, summed
  double then = 0;       ///< the same with what is chosen and not built yet
  bool changed = false;  ///< whether that is another
  int nodes = 0;
  std::set<std::string> runs_by;
};

// Each strategy once, at its best layouts; the chosen one is among them.
std::vector<AlternativeView> best_of(const NodeView& node) {
  std::vector<AlternativeView> best = {{node.strategy, "", node.microseconds, node.measured}};
  for (const auto& other : node.alternatives) {  // fastest first
    const bool known = std::any_of(best.begin(), best.end(),
                                   [&](const auto& one) { return one.strategy == other.strategy; });
    if (!known) best.push_back(other);
  }
  return best;
}

// What another node would cost on top, by the same strategy; what cannot run it is no choice for both.
void add_offers(NodeView& sum, const NodeView& node) {
  sum.microseconds += node.microseconds;
  sum.measured = sum.measured && node.measured;
  if (sum.strategy.find(node.strategy) == std::string::npos) sum.strategy.append(", ").append(node.strategy);
  const auto offers = best_of(node);
  std::erase_if(sum.alternatives, [&](AlternativeView& one) {
    const auto same = std::find_if(offers.begin(), offers.end(),
                                   [&](const auto& other) { return other.strategy == one.strategy; });
    if (same == offers.end()) return true;
    one.microseconds += same->microseconds;
    one.measured = one.measured && same->measured;
    return false;
  });
}

std::map<std::string, KindRow> kinds_of(const Session& session, const std::string& filter) {
  std::map<std::string, KindRow> rows;
  for (const auto& node : session.model->graph) {
    if (!node.choosable() || !matches(node, filter)) continue;
    auto& row = rows[node.kind];
    const auto* found = session.offers(node.name);
    const auto& offers = found ? *found : node;
    if (row.nodes++ == 0) {
      row.merged = offers;
      row.merged.alternatives = best_of(offers);
      row.now.microseconds = node.microseconds;
      row.now.measured = node.measured;
      row.then = 0;
    } else {
      add_offers(row.merged, offers);
      row.now.microseconds += node.microseconds;
      row.now.measured = row.now.measured && node.measured;
    }
    const auto then = session.estimated_us(node);
    row.then += then.value_or(node.microseconds);
    row.changed = row.changed || then;
    row.runs_by.insert(node.strategy);
  }
  return rows;
}

}  // namespace

void draw_by_kind(StrategiesPanel& panel, Session& session, const Ui& ui) {
  const auto columns = columns_for(ImGui::GetContentRegionAvail().x);
  if (!begin_table("##kinds", columns.count(), kStrategiesTable)) return;
  headers("operation", "runs by", columns);
  for (const auto& [kind, row] : kinds_of(session, panel.filter)) {
    ImGui::PushID(kind.c_str());
    ImGui::TableNextRow();
    ImGui::TableNextColumn();
    ImGui::AlignTextToFramePadding();
    const auto whole = kind + "  " + std::to_string(row.nodes) + "×";
    const auto label = fitting(whole, ImGui::GetContentRegionAvail().x) + "###kind";
    if (ImGui::Selectable(label.c_str(), ui.selection.op_kind == kind,
                          ImGuiSelectableFlags_SpanAllColumns | ImGuiSelectableFlags_AllowOverlap))
      ui.selection.choose_kind(kind);
    if (!label.starts_with(whole) && ImGui::IsItemHovered(ImGuiHoveredFlags_ForTooltip)) tooltip(whole);
    if (columns.second) {
      std::string runs_by;
      for (const auto& strategy : row.runs_by) runs_by.append(runs_by.empty() ? "" : ", ").append(strategy);
      ImGui::TableNextColumn();
      fitted_text(runs_by);
    }
    ImGui::TableNextColumn();
    const auto found = session.wish.by_kind.find(kind);
    if (const auto wanted = choose(row.merged, found == session.wish.by_kind.end() ? "auto" : found->second);
        !wanted.empty())
      set_choice(session.wish.by_kind, kind, wanted);
    time_cell(ui, row.now, columns, row.changed ? std::optional(row.then) : std::nullopt);
    refusals_cell(ui, row.merged, columns);
    ImGui::PopID();
  }
  ImGui::EndTable();
}

}  // namespace wide::gui
