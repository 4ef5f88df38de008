// What the proof found, member by member and check by check.
#include <cstdio>

#include "gui/panels/shared/table_room.h"
#include "gui/panels/strategies_panel.h"

namespace wide::gui {
namespace {

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

}  // namespace

void draw_proof(const ProofView& proof, const Ui& ui) {
  badge(ui, proof.passed ? Level::kInfo : Level::kError,
        proof.passed ? "every member computes what it computes alone"
                     : "wrong numbers: some member differs from its own run");
  // What there is no room for stands in the tooltip of the row.
  const bool roomy = ImGui::GetContentRegionAvail().x > 30 * em();
  if (begin_table("##members", roomy ? 5 : 3, kStrategiesTable,
                  {0, ImGui::GetContentRegionAvail().y * 0.55F})) {
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
  if (!ImGui::BeginTable("##checks", 4, kStrategiesTable)) return;
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

}  // namespace wide::gui
