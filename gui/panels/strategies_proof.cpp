// What the proof found, member by member and check by check.
#include <cstdio>

#include "gui/panels/shared/table_room.h"
#include "gui/panels/strategies_panel.h"

namespace wide::gui {
namespace {

constexpr float kVerdict = 4.6F;  // em

std::string scientific(double value) {
  char text[32];
  std::snprintf(text, sizeof text, "%.2e", value);
  return text;
}

// A number is shown whole, or it would be read as another one.
float width_of_numbers() {
  return ImGui::CalcTextSize("8.88e-888").x;
}

// What there is no room for stands in the tooltip of the row.
struct MemberColumns {
  bool allowed, where;
  int count() const { return 3 + allowed + where; }
};

struct Verdict {
  Level level;
  const char* text;
};

Verdict verdict_of(const MemberError& member) {
  if (!member.passed) return {Level::kError, "FAIL"};
  return member.is_empty ? Verdict{Level::kWarning, "NaN"} : Verdict{Level::kInfo, "pass"};
}

void draw_member(const MemberError& member, const Ui& ui, const MemberColumns& columns) {
  ImGui::PushID(member.member.c_str());
  ImGui::TableNextRow();
  ImGui::TableNextColumn();
  const auto shown = fitting(member.member, ImGui::GetContentRegionAvail().x) + "###member";
  ImGui::Selectable(shown.c_str(), false, ImGuiSelectableFlags_SpanAllColumns);
  auto about = member.member;
  about.append(": ").append(member.worst).append("; allowed are ").append(scientific(member.tolerance));
  if (ImGui::IsItemHovered(ImGuiHoveredFlags_ForTooltip)) tooltip(about);
  const auto verdict = verdict_of(member);
  row_menu(ui, {member.member, verdict.text, scientific(member.max_abs), scientific(member.tolerance),
                member.worst});
  ImGui::TableNextColumn();
  badge(ui, verdict.level, verdict.text);
  ImGui::TableNextColumn();
  right_text(scientific(member.max_abs));
  if (columns.allowed) {
    ImGui::TableNextColumn();
    right_text(scientific(member.tolerance));
  }
  if (columns.where) {
    ImGui::TableNextColumn();
    fitted_text(member.worst);
  }
  ImGui::PopID();
}

void draw_checks(const ProofView& proof, const Ui& ui) {
  const bool roomy = ImGui::GetContentRegionAvail().x > 24 * em();
  if (!begin_table("##checks", roomy ? 4 : 3, kStrategiesTable)) return;
  ImGui::TableSetupScrollFreeze(0, 1);
  ImGui::TableSetupColumn("check", ImGuiTableColumnFlags_WidthStretch, 1.6F);
  ImGui::TableSetupColumn("verdict", ImGuiTableColumnFlags_WidthFixed, kVerdict * em());
  if (roomy) ImGui::TableSetupColumn("worst member", ImGuiTableColumnFlags_WidthStretch, 1);
  ImGui::TableSetupColumn("max error", ImGuiTableColumnFlags_WidthFixed, width_of_numbers());
  table_headings({roomy ? 3 : 2});
  for (const auto& check : proof.checks) {
    ImGui::TableNextRow();
    ImGui::TableNextColumn();
    auto about = check.text;
    if (!roomy && !check.member.empty()) about.append(about.empty() ? "" : "; ").append(check.member);
    if (fitted_text(check.what) && !about.empty() && ImGui::IsItemHovered(ImGuiHoveredFlags_ForTooltip))
      tooltip(about);
    ImGui::TableNextColumn();
    badge(ui, check.passed ? Level::kInfo : Level::kError, check.passed ? "pass" : "FAIL");
    if (roomy) {
      ImGui::TableNextColumn();
      fitted_text(check.member);
    }
    ImGui::TableNextColumn();
    right_text(scientific(check.max_abs));
  }
  ImGui::EndTable();
}

}  // namespace

void draw_proof(const ProofView& proof, const Ui& ui) {
  if (!proof.passed) {
    badge(ui, Level::kError, "wrong numbers: some member differs from its own run");
  } else if (proof.notes.empty()) {
    badge(ui, Level::kInfo, "every member computes what it computes alone");
  } else {
    badge(ui, Level::kWarning, "no member differs from its own run, but not all could be looked at");
  }
  for (const auto& note : proof.notes) faint_text(ui, note);
  const float room = ImGui::GetContentRegionAvail().x;
  const MemberColumns columns{room > 24 * em(), room > 36 * em()};
  if (begin_table("##members", columns.count(), kStrategiesTable,
                  {0, ImGui::GetContentRegionAvail().y * 0.55F})) {
    ImGui::TableSetupScrollFreeze(0, 1);
    ImGui::TableSetupColumn("member", ImGuiTableColumnFlags_WidthStretch, 1);
    ImGui::TableSetupColumn("verdict", ImGuiTableColumnFlags_WidthFixed, kVerdict * em());
    ImGui::TableSetupColumn("max error", ImGuiTableColumnFlags_WidthFixed, width_of_numbers());
    if (columns.allowed)
      ImGui::TableSetupColumn("allowed", ImGuiTableColumnFlags_WidthFixed, width_of_numbers());
    if (columns.where) ImGui::TableSetupColumn("where", ImGuiTableColumnFlags_WidthStretch, 2);
    table_headings({2, 3});
    for (const auto& member : proof.members) draw_member(member, ui, columns);
    ImGui::EndTable();
  }
  draw_checks(proof, ui);
}

}  // namespace wide::gui
