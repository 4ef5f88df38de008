#include "gui/panels/strategies_panel.h"

#include <imgui_stdlib.h>

#include <algorithm>
#include <map>
#include <optional>
#include <set>

#include "gui/icons.h"
#include "gui/panels/strategy_menu.h"
#include "presets/case_fields.h"

namespace wide::gui {
namespace {

constexpr auto kTable = ImGuiTableFlags_RowBg | ImGuiTableFlags_BordersInnerH | ImGuiTableFlags_ScrollY |
                        ImGuiTableFlags_Resizable | ImGuiTableFlags_Hideable |
                        ImGuiTableFlags_SizingStretchProp;

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
  right_text(then ? "~" + time_text(*then) : (node.measured ? "" : "~") + time_text(node.microseconds));
  if (then) ImGui::PopStyleColor();
  if (ImGui::IsItemHovered(ImGuiHoveredFlags_ForTooltip)) {
    std::string text = word;
    if (then)
      text.append(" of what is chosen and not built yet; as built ").append(time_text(node.microseconds));
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

void draw_by_node(StrategiesPanel& panel, Session& session, const Ui& ui) {
  const auto columns = columns_for(ImGui::GetContentRegionAvail().x);
  if (!ImGui::BeginTable("##nodes", columns.count(), kTable)) return;
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
    row_menu(ui, {node.name, node.kind, node.module, node.strategy, time_text(node.microseconds)});
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

void draw_by_kind(StrategiesPanel& panel, Session& session, const Ui& ui) {
  const auto columns = columns_for(ImGui::GetContentRegionAvail().x);
  if (!ImGui::BeginTable("##kinds", columns.count(), kTable)) return;
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

std::string scientific(double value) {
  char text[32];
  std::snprintf(text, sizeof text, "%.2e", value);
  return text;
}

void draw_member(const MemberError& member, const Ui& ui, bool roomy) {
  ImGui::PushID(member.member.c_str());
  ImGui::TableNextRow();
  ImGui::TableNextColumn();
  const auto shown = fitting(member.member, ImGui::GetContentRegionAvail().x) + "###member";
  ImGui::Selectable(shown.c_str(), false, ImGuiSelectableFlags_SpanAllColumns);
  auto about = member.member;
  about.append(": ").append(member.worst).append("; allowed are ").append(scientific(member.tolerance));
  if (ImGui::IsItemHovered(ImGuiHoveredFlags_ForTooltip)) tooltip(about);
  row_menu(ui, {member.member, member.passed ? "pass" : "FAIL", scientific(member.max_abs),
                scientific(member.tolerance), member.worst});
  ImGui::TableNextColumn();
  badge(ui, member.passed ? Level::kInfo : Level::kError, member.passed ? "pass" : "FAIL");
  ImGui::TableNextColumn();
  right_text(scientific(member.max_abs));
  if (roomy) {
    ImGui::TableNextColumn();
    right_text(scientific(member.tolerance));
    ImGui::TableNextColumn();
    fitted_text(member.worst);
  }
  ImGui::PopID();
}

void draw_proof(const ProofView& proof, const Ui& ui) {
  badge(ui, proof.passed ? Level::kInfo : Level::kError,
        proof.passed ? "every member computes what it computes alone"
                     : "wrong numbers: some member differs from its own run");
  // What there is no room for stands in the tooltip of the row.
  const bool roomy = ImGui::GetContentRegionAvail().x > 30 * em();
  if (ImGui::BeginTable("##members", roomy ? 5 : 3, kTable, {0, ImGui::GetContentRegionAvail().y * 0.55F})) {
    ImGui::TableSetupScrollFreeze(0, 1);
    ImGui::TableSetupColumn("member");
    ImGui::TableSetupColumn("verdict", ImGuiTableColumnFlags_WidthFixed, 4.6F * em());
    ImGui::TableSetupColumn("max error");
    if (roomy) ImGui::TableSetupColumn("allowed");
    if (roomy) ImGui::TableSetupColumn("where", ImGuiTableColumnFlags_WidthStretch, 2);
    table_headings({2, 3});
    for (const auto& member : proof.members) draw_member(member, ui, roomy);
    ImGui::EndTable();
  }
  if (!ImGui::BeginTable("##checks", 4, kTable)) return;
  ImGui::TableSetupScrollFreeze(0, 1);
  ImGui::TableSetupColumn("check", ImGuiTableColumnFlags_WidthStretch, 1.6F);
  ImGui::TableSetupColumn("verdict");
  ImGui::TableSetupColumn("worst member");
  ImGui::TableSetupColumn("max error");
  table_headings({3});
  for (const auto& check : proof.checks) {
    ImGui::TableNextRow();
    ImGui::TableNextColumn();
    if (fitted_text(check.what) && !check.text.empty() && ImGui::IsItemHovered(ImGuiHoveredFlags_ForTooltip))
      tooltip(check.text);
    ImGui::TableNextColumn();
    badge(ui, check.passed ? Level::kInfo : Level::kError, check.passed ? "pass" : "FAIL");
    ImGui::TableNextColumn();
    fitted_text(check.member);
    ImGui::TableNextColumn();
    right_text(scientific(check.max_abs));
  }
  ImGui::EndTable();
}

void draw_bar(StrategiesPanel& panel, Workbench& bench, const Ui& ui) {
  auto& session = bench.session;
  const bool changed = session.edited();
  if (changed) ImGui::PushStyleColor(ImGuiCol_Button, faded(ui.theme.accent, 0.45F));
  command_button(ui, "strategies.build", "\xef\x9b\xa3  Build###build");
  if (changed) ImGui::PopStyleColor();
  same_line_if_fits("xxx Validate");
  command_button(ui, "strategies.validate", "\xef\x89\x8e  Validate###validate");
  same_line_if_fits("xxx Measure");
  command_button(ui, "strategies.measure", "\xef\x80\x97  Measure###measure");
  same_line_if_fits("xxx Reset");
  command_button(ui, "strategies.reset", "\xef\x8b\xaa  Reset###reset");
  same_line_if_fits("xxx Copy as command line");
  copy_command_line(ui, "widebench test " + arguments(session.model->source) + arguments(session.wish));

  const bool strategies = !panel.proof && !panel.tried;
  if (ImGui::RadioButton("Nodes", strategies && !panel.by_kind))
    panel.proof = panel.tried = panel.by_kind = false;
  ImGui::SameLine();
  if (ImGui::RadioButton("Kinds", strategies && panel.by_kind))
    panel.proof = panel.tried = false, panel.by_kind = true;
  ImGui::SameLine();
  ImGui::BeginDisabled(!session.proof);
  if (ImGui::RadioButton("Proof", panel.proof && !panel.tried)) panel.proof = true, panel.tried = false;
  ImGui::EndDisabled();
  same_line_if_fits("xxxx Tries");
  if (ImGui::RadioButton("Tries", panel.tried)) panel.tried = true;
  same_line_if_fits("mode reduce-overhead");
  ImGui::SetNextItemWidth(std::min(11 * em(), ImGui::GetContentRegionAvail().x));
  if (begin_combo("##mode", "mode " + session.wish.mode)) {
    for (const auto& mode : presets::kModes) {
      if (ImGui::Selectable(mode.c_str(), session.wish.mode == mode)) session.wish.mode = mode;
    }
    ImGui::EndCombo();
  }
  same_line_if_fits("filter words");
  ImGui::SetNextItemWidth(std::min(10 * em(), ImGui::GetContentRegionAvail().x));
  ImGui::InputTextWithHint("##filter", "filter", &panel.filter);
  if (changed) {
    const auto& model = *session.model;
    auto text = "changed, not built yet: ~" + time_text(session.estimated_pass_us()) +
                " a pass is an estimate; as built " + time_text(model.pass_us);
    if (session.wish.mode != model.wish.mode) text.append("; what the mode gives is known once it is built");
    badge(ui, Level::kWarning, text);
    command_button(ui, "strategies.measure", "Build and measure###build_measure");
  } else {
    const auto& model = *session.model;
    faint_text(ui, model.schedule + "; " + time_text(model.pass_us) + " a pass by these times; " +
                       std::to_string(model.conversions) + " layout changes, " +
                       std::to_string(model.copies) + " copies");
  }
}

}  // namespace

void add_commands(StrategiesPanel& panel, Workbench& bench) {
  const auto no_model = [&bench] { return bench.session.model ? "" : "no model is open"; };
  bench.commands.add({.id = "strategies.build",
                      .title = "Build the model with these strategies",
                      .menu = "Run",
                      .icon = icon::kBuild,
                      .chord = ImGuiMod_Ctrl | ImGuiKey_B,
                      .run = [&bench](const std::string&) { bench.build(); },
                      .refuse = no_model});
  bench.commands.add({.id = "strategies.validate",
                      .title = "Validate every member",
                      .menu = "Run",
                      .icon = icon::kProve,
                      .chord = ImGuiMod_Ctrl | ImGuiMod_Shift | ImGuiKey_V,
                      .run = [&bench](const std::string&) { bench.prove(); },
                      .refuse =
                          [&bench] {
                            if (!bench.session.model) return "no model is open";
                            return bench.session.edited() ? "build the changed strategies first" : "";
                          }});
  bench.commands.add({.id = "strategies.measure",
                      .title = "Measure the strategies of every node",
                      .menu = "Run",
                      .icon = icon::kClock,
                      .run = [&bench](const std::string&) { bench.measure(); },
                      .refuse = no_model});
  bench.commands.add(
      {.id = "strategies.reset",
       .title = "Let AUTO choose everywhere",
       .menu = "Run",
       .icon = icon::kReset,
       .run = [&bench](const std::string&) { bench.session.wish = {.mode = bench.session.wish.mode}; },
       .refuse =
           [&bench] {
             const auto& wish = bench.session.wish;
             return wish.by_kind.empty() && wish.by_value.empty() && wish.all == "auto"
                        ? "AUTO chooses everywhere already"
                        : "";
           }});
  add_commands(panel.tries, bench);
}

void draw(StrategiesPanel& panel, Workbench& bench, const Ui& ui) {
  auto& session = bench.session;
  if (!session.model) {
    empty_state(ui, icon::kStrategies, "No model is open",
                "How each operation runs will be here: what AUTO chose, what the others would cost, and why "
                "some refuse.",
                "file.sample", "Load a sample###sample");
    return;
  }
  if (session.proof && panel.proved != session.revision) {
    panel.proof = session.proof->refusal.empty();
    panel.tried = panel.tried && !panel.proof;
    panel.proved = session.revision;
  }
  if (!session.proof) {
    panel.proof = false;
    panel.proved = 0;
  }
  draw_bar(panel, bench, ui);
  if (panel.tried) {
    draw(*panel.tries, bench, ui);
  } else if (panel.proof) {
    draw_proof(*session.proof, ui);
  } else if (panel.by_kind) {
    draw_by_kind(panel, session, ui);
  } else {
    draw_by_node(panel, session, ui);
  }
}

}  // namespace wide::gui
