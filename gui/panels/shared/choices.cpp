#include "gui/panels/shared/choices.h"

#include <imgui_stdlib.h>

#include <algorithm>

#include "gui/icons.h"

namespace wide::gui {
namespace {

constexpr std::size_t kLongList = 12;

std::string preview(const std::vector<std::string>& chosen, const char* none) {
  if (chosen.empty()) return none;
  std::string text;
  for (const auto& name : chosen) text.append(text.empty() ? "" : ", ").append(name);
  return text;
}

bool holds(const std::vector<std::string>& list, const std::string& name) {
  return std::find(list.begin(), list.end(), name) != list.end();
}

void toggle(const std::vector<Choice>& choices, std::vector<std::string>& chosen, const std::string& name) {
  const bool off = holds(chosen, name);
  std::vector<std::string> result;
  for (const auto& choice : choices) {
    const bool keep = choice.name == name ? !off : holds(chosen, choice.name);
    if (keep) result.push_back(choice.name);
  }
  chosen = std::move(result);
}

}  // namespace

bool choose_many(const Ui& ui, const char* id, const std::vector<Choice>& choices,
                 std::vector<std::string>& chosen, const char* none) {
  bool changed = false;
  if (!begin_combo(id, preview(chosen, none), ImGuiComboFlags_HeightLarge)) return false;
  static std::string filter;  // only one drop-down is ever open
  if (ImGui::IsWindowAppearing()) filter.clear();
  if (choices.size() > kLongList) {
    ImGui::SetNextItemWidth(-1);
    ImGui::InputTextWithHint("##search", "search", &filter);
  }
  if (ImGui::Selectable(none, chosen.empty(), ImGuiSelectableFlags_NoAutoClosePopups) && !chosen.empty())
    chosen.clear(), changed = true;
  ImGui::Separator();
  for (const auto& choice : choices) {
    if (!filter.empty() && choice.name.find(filter) == std::string::npos) continue;
    bool on = holds(chosen, choice.name);
    if (ImGui::Checkbox(choice.name.c_str(), &on)) toggle(choices, chosen, choice.name), changed = true;
    if (!choice.about.empty() && ImGui::IsItemHovered(ImGuiHoveredFlags_ForTooltip)) tooltip(choice.about);
  }
  if (choices.empty()) faint_text(ui, "There is nothing to choose.");
  ImGui::EndCombo();
  return changed;
}

bool choose_names(const Ui& ui, const char* id, const std::vector<std::string>& choices,
                  std::vector<std::string>& chosen, const char* none) {
  std::vector<Choice> named;
  for (const auto& name : choices) named.push_back({name, ""});
  return choose_many(ui, id, named, chosen, none);
}

bool choose_one(const Ui&, const char* id, const std::vector<Choice>& choices, std::string& chosen) {
  bool changed = false;
  if (!begin_combo(id, chosen, ImGuiComboFlags_HeightLarge)) return false;
  for (const auto& choice : choices) {
    if (ImGui::Selectable(choice.name.c_str(), choice.name == chosen))
      changed = choice.name != chosen, chosen = choice.name;
    if (!choice.about.empty() && ImGui::IsItemHovered(ImGuiHoveredFlags_ForTooltip)) tooltip(choice.about);
  }
  ImGui::EndCombo();
  return changed;
}

void beside(float width) {
  ImGui::SameLine();
  if (ImGui::GetContentRegionAvail().x < width) ImGui::NewLine();
}

void beside(const char* label) {
  beside(ImGui::CalcTextSize(label, nullptr, true).x + 2 * ImGui::GetStyle().FramePadding.x);
}

void field(const Ui& ui, const char* label) {
  ImGui::TableNextColumn();
  ImGui::AlignTextToFramePadding();
  ImGui::PushStyleColor(ImGuiCol_Text, ui.theme.faint);
  right_text(label);
  ImGui::PopStyleColor();
  ImGui::TableNextColumn();
  ImGui::SetNextItemWidth(-1);
}

}  // namespace wide::gui
