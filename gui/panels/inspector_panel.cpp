// The selected node: what it reads and gives, how it runs, what else could run it.
#include <algorithm>

#include "gui/icons.h"
#include "gui/panels/inspector_kernel.h"
#include "gui/panels/shared/table_room.h"
#include "gui/panels/strategy_menu.h"
#include "gui/workbench.h"

namespace wide::gui {
namespace {

constexpr const char* kOfAuto = "AUTO takes it";

void copy_menu(const char* id, const std::string& text) {
  if (!ImGui::BeginPopupContextItem(id)) return;
  if (ImGui::MenuItem("Copy")) ImGui::SetClipboardText(text.c_str());
  ImGui::EndPopup();
}

// A value in one line where there is room for its type, else the type below its name: never broken in the
// middle.
void draw_operands(const NodeView& node, const Ui& ui) {
  heading(ui, "Values");
  struct Row {
    std::string name, type, layout;
  };
  std::vector<Row> rows;
  for (const auto& operand : node.operands)
    rows.push_back({"%" + operand.name, operand.type, operand.layout});
  rows.push_back({"gives %" + node.name, node.type, node.layout});
  const auto width = [](const std::string& text) { return ImGui::CalcTextSize(text.c_str()).x; };
  float names = 4 * em(), types = 0;
  const float layouts = width("packed_last");
  for (const auto& row : rows)
    names = std::max(names, width(row.name)), types = std::max(types, width(row.type));
  const bool one_line = names + types + layouts + 4 * em() <= ImGui::GetContentRegionAvail().x;
  if (!begin_table("##operands", one_line ? 3 : 2, ImGuiTableFlags_RowBg)) return;
  ImGui::TableSetupColumn("value", ImGuiTableColumnFlags_WidthStretch);
  if (one_line) ImGui::TableSetupColumn("type", ImGuiTableColumnFlags_WidthFixed, types);
  ImGui::TableSetupColumn("layout", ImGuiTableColumnFlags_WidthFixed, layouts);
  ImGui::TableHeadersRow();
  for (std::size_t i = 0; i < rows.size(); ++i) {
    ImGui::PushID(static_cast<int>(i));
    ImGui::TableNextRow();
    ImGui::TableNextColumn();
    fitted_text(rows[i].name);
    copy_menu("name", rows[i].name);
    if (one_line) ImGui::TableNextColumn();
    if (!one_line) ImGui::PushStyleColor(ImGuiCol_Text, ui.theme.faint);
    fitted_text(rows[i].type);
    if (!one_line) ImGui::PopStyleColor();
    copy_menu("type", rows[i].type);
    ImGui::TableNextColumn();
    fitted_text(rows[i].layout);
    ImGui::PopID();
  }
  ImGui::EndTable();
}

// Ways of one name differ in their layouts.
bool is_one_of_several(const NodeView& offers, const std::string& name) {
  const auto others = std::ranges::count(offers.alternatives, name, &AlternativeView::strategy);
  return others + (offers.strategy == name ? 1 : 0) > 1;
}

// One way to run the node: name, time, and a bar as long as the time. `told`: its layouts, where it must be
// told from others; may be empty.
void draw_way(const Ui& ui, const std::string& name, const std::string& layouts, const std::string& told,
              double us, bool measured, double slowest, bool used, bool roomy) {
  ImGui::TableNextRow();
  ImGui::TableNextColumn();
  const float left = ImGui::GetCursorPosX();
  ImGui::TextUnformatted(used ? icon::kCheck : "");
  ImGui::SameLine();
  ImGui::SetCursorPosX(left + 1.5F * em());
  const bool of_auto = layouts == kOfAuto;
  const auto with_auto = "AUTO: " + name;
  const bool room = ImGui::CalcTextSize(with_auto.c_str()).x <= ImGui::GetContentRegionAvail().x;
  const bool whole = fitted_text(of_auto && room ? with_auto : name);
  if (whole && !layouts.empty() && ImGui::IsItemHovered(ImGuiHoveredFlags_ForTooltip)) tooltip(layouts);
  if (!told.empty()) {
    ImGui::SetCursorPosX(left + 1.5F * em());
    ImGui::PushStyleColor(ImGuiCol_Text, ui.theme.faint);
    fitted_text(told);
    ImGui::PopStyleColor();
  }
  ImGui::TableNextColumn();
  right_text(time_text(us, measured));
  if (ImGui::IsItemHovered(ImGuiHoveredFlags_ForTooltip)) tooltip(measured ? "measured" : "estimated");
  if (roomy) {
    ImGui::TableNextColumn();
    ImGui::PushStyleColor(ImGuiCol_Text, ui.theme.faint);
    ImGui::TextUnformatted(measured ? "measured" : "estimated");
    ImGui::PopStyleColor();
  }
  ImGui::TableNextColumn();
  const auto at = ImGui::GetCursorScreenPos();
  const float width = ImGui::GetContentRegionAvail().x * static_cast<float>(slowest > 0 ? us / slowest : 0);
  const float height = 0.55F * em();
  ImGui::GetWindowDrawList()->AddRectFilled({at.x, at.y + 0.25F * em()},
                                            {at.x + std::max(1.0F, width), at.y + 0.25F * em() + height},
                                            packed(faded(used ? ui.theme.wide : ui.theme.neutral, 0.8F)));
}

// Where a table has no room: names, and the times below them.
void draw_ways_narrow(const NodeView& node, const NodeView& offers, const Ui& ui) {
  const auto way = [&](const std::string& name, const std::string& layouts, double us, bool measured) {
    ImGui::Text("%s %s", name == node.strategy ? icon::kCheck : icon::kCollapse, name.c_str());
    if (!layouts.empty() && is_one_of_several(offers, name)) faint_text(ui, layouts);
    faint_text(ui, time_text(us, measured));
  };
  faint_text(ui, "AUTO takes");
  way(offers.strategy, "", offers.microseconds, offers.measured);
  faint_text(ui, "others");
  for (const auto& other : offers.alternatives)
    way(other.strategy, other.layouts, other.microseconds, other.measured);
}

void draw_ways_table(const NodeView& node, const NodeView& offers, const Ui& ui, double slowest) {
  if (ImGui::GetContentRegionAvail().x < 13 * em()) return draw_ways_narrow(node, offers, ui);
  const bool roomy = ImGui::GetContentRegionAvail().x > 22 * em();
  if (!begin_table("##ways", roomy ? 4 : 3, ImGuiTableFlags_RowBg)) return;
  ImGui::TableSetupColumn("strategy", ImGuiTableColumnFlags_WidthStretch, 1.6F);
  ImGui::TableSetupColumn("time", ImGuiTableColumnFlags_WidthFixed, ImGui::CalcTextSize("~88.8 ms").x);
  if (roomy) ImGui::TableSetupColumn("how", ImGuiTableColumnFlags_WidthFixed);
  ImGui::TableSetupColumn("bar", ImGuiTableColumnFlags_WidthStretch, roomy ? 0.6F : 0.3F);
  draw_way(ui, offers.strategy, kOfAuto, "", offers.microseconds, offers.measured, slowest,
           node.strategy == offers.strategy, roomy);
  for (const auto& other : offers.alternatives) {
    const auto told = is_one_of_several(offers, other.strategy) ? other.layouts : "";
    draw_way(ui, other.strategy, other.layouts, told, other.microseconds, other.measured, slowest,
             node.strategy == other.strategy && node.strategy != offers.strategy, roomy);
  }
  ImGui::EndTable();
}

void draw_ways(const NodeView& node, const NodeView& offers, const Ui& ui) {
  heading(ui, "Strategies");
  double slowest = offers.microseconds;
  for (const auto& other : offers.alternatives) slowest = std::max(slowest, other.microseconds);
  draw_ways_table(node, offers, ui, slowest);
  for (const auto& refusal : offers.refusals) {
    ImGui::PushStyleColor(ImGuiCol_Text, ui.theme.faint);
    ImGui::PushTextWrapPos(0);
    ImGui::Text("%s  %s refuses: %s", icon::kCross, refusal.strategy.c_str(), refusal.reason.c_str());
    ImGui::PopTextWrapPos();
    ImGui::PopStyleColor();
  }
}

// Another strategy for this node alone; what is chosen is built when the person says so.
void draw_override(const NodeView& node, const NodeView& offers, Session& session) {
  const auto now = chosen(session.wish, node);
  if (ImGui::Button("\xef\x81\x84  Override###override")) ImGui::OpenPopup("override");
  if (ImGui::IsItemHovered(ImGuiHoveredFlags_ForTooltip))
    tooltip(now == "auto" ? std::string("Run this node by another strategy than AUTO's")
                          : now + " was chosen; Edit, Undo takes the last choice back");
  if (!ImGui::BeginPopup("override")) return;
  const auto wanted = strategy_rows(offers, now);
  if (!wanted.empty()) set_choice(session.wish.by_value, "%" + node.name, wanted);
  ImGui::EndPopup();
}

void add_commands(Workbench& bench) {
  bench.commands.add({.id = "inspector.kernel",
                      .title = "Look at what each node calls",
                      .menu = "Run",
                      .icon = icon::kChip,
                      .run = [&bench](const std::string&) { bench.look_at_calls(); },
                      .refuse = [&bench] { return bench.session.model ? "" : "no model is open"; }});
}

void draw_inspector(Workbench& bench, const Ui& ui) {
  if (!bench.session.model) {
    empty_state(
        ui, icon::kInspector, "No model is open",
        "The node that you select is explained here: shapes, layouts, strategies and what each would cost.",
        "file.sample", "Load a sample###sample");
    return;
  }
  const auto* node = bench.session.model->find(ui.selection.node);
  if (!node) {
    faint_text(ui, "Select a node in Graph or Strategies.");
    command_button(ui, "view.graph", "\xef\x95\x82  Show the graph###graph");
    return;
  }
  ImGui::PushFont(ui.fonts.bold, 0);
  ImGui::Text("%s", node->kind.c_str());
  ImGui::PopFont();
  same_line_if_fits(("%" + node->name).c_str());
  ImGui::PushStyleColor(ImGuiCol_Text, ui.theme.faint);
  ImGui::Text("%%%s", node->name.c_str());
  ImGui::PopStyleColor();
  faint_text(ui, node->op + (node->module.empty() ? "" : "  at  " + node->module));
  auto gives = node->type;
  if (!node->layout.empty()) gives.append("  ").append(node->layout);
  ImGui::PushTextWrapPos(0);
  ImGui::TextUnformatted(gives.c_str());
  ImGui::PopTextWrapPos();
  if (node->choosable()) {
    const auto* offers = bench.session.offers(node->name);
    if (chosen(bench.session.wish, *node) != chosen(bench.session.model->wish, *node)) {
      auto text = chosen(bench.session.wish, *node) + " is wanted, but not built yet";
      if (const auto then = bench.session.estimated_us(*node))
        text.append(": ").append(time_text(*then, false)).append(" is an estimate");
      badge(ui, Level::kWarning, text);
      command_button(ui, "strategies.build", "\xef\x9b\xa3  Build###build");
    }
    draw_ways(*node, offers ? *offers : *node, ui);
    if (const auto why = why_not_fastest(offers ? *offers : *node); !why.empty()) faint_text(ui, why + ".");
    draw_override(*node, offers ? *offers : *node, bench.session);
    same_line_if_fits("xxx All of them");
    command_button(ui, "view.strategies", "\xef\x87\x9e  All of them###strategies");
  } else {
    badge(ui, Level::kInfo,
          node->strategy == "shared" ? "the same for all members: computed once a pass"
                                     : "never changes: computed once, at build");
  }
  draw_kernel(*node, bench, ui);
  draw_operands(*node, ui);
  heading(ui, "Text");
  ImGui::PushFont(ui.fonts.mono, 0);
  ImGui::PushTextWrapPos(0);
  ImGui::TextUnformatted(node->text.c_str());
  ImGui::PopTextWrapPos();
  ImGui::PopFont();
  if (ImGui::SmallButton("\xef\x83\x85  Copy###copy")) ImGui::SetClipboardText(node->text.c_str());
}

}  // namespace

void add_inspector_panel(Workbench& bench) {
  add_commands(bench);
  bench.add_panel({"inspector", "Inspector", icon::kInspector, Place::kRight,
                   [&bench](const Ui& ui) { draw_inspector(bench, ui); }});
}

}  // namespace wide::gui
