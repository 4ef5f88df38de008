#include "gui/palette.h"

#include <imgui_stdlib.h>

#include <algorithm>

namespace wide::gui {

std::string chord_text(int chord) {
  if (chord == 0) return {};
  std::string text;
  if (chord & ImGuiMod_Ctrl) text += "Ctrl+";
  if (chord & ImGuiMod_Shift) text += "Shift+";
  if (chord & ImGuiMod_Alt) text += "Alt+";
  return text + ImGui::GetKeyName(static_cast<ImGuiKey>(chord & ~ImGuiMod_Mask_));
}

void Palette::draw(const Ui& ui) {
  constexpr const char* kName = "Commands###palette";
  if (opening_) {
    query_.clear();
    at_ = 0;
    ImGui::OpenPopup(kName);
  }
  const auto* viewport = ImGui::GetMainViewport();
  ImGui::SetNextWindowPos({viewport->GetWorkCenter().x, viewport->WorkPos.y + 2 * em()}, ImGuiCond_Always,
                          {0.5F, 0});
  ImGui::SetNextWindowSize(
      {std::min(36 * em(), 0.9F * viewport->WorkSize.x), std::min(26 * em(), 0.8F * viewport->WorkSize.y)});
  open_ = ImGui::BeginPopup(kName);
  if (!open_) {
    opening_ = false;
    return;
  }
  if (opening_) ImGui::SetKeyboardFocusHere();
  opening_ = false;
  ImGui::SetNextItemWidth(-1);
  if (ImGui::InputTextWithHint("##query", "what to do", &query_)) at_ = 0;
  const auto found = search(ui.commands, query_);
  const int last = static_cast<int>(found.size()) - 1;
  const int before = at_;
  if (ImGui::IsKeyPressed(ImGuiKey_DownArrow)) ++at_;
  if (ImGui::IsKeyPressed(ImGuiKey_UpArrow)) --at_;
  at_ = std::clamp(at_, 0, std::max(last, 0));
  if (ImGui::IsKeyPressed(ImGuiKey_Escape)) ImGui::CloseCurrentPopup();
  const Command* wanted = nullptr;
  if (last >= 0 && (ImGui::IsKeyPressed(ImGuiKey_Enter) || ImGui::IsKeyPressed(ImGuiKey_KeypadEnter)))
    wanted = found[static_cast<std::size_t>(at_)];
  if (ImGui::BeginChild("##found")) {
    for (int i = 0; i <= last; ++i) {
      const auto& command = *found[static_cast<std::size_t>(i)];
      const auto reason = ui.commands.refusal(command.id);
      ImGui::BeginDisabled(!reason.empty());
      std::string label = command.icon;
      label.append(command.icon.empty() ? "" : "  ").append(command.title).append("###").append(command.id);
      if (ImGui::Selectable(label.c_str(), i == at_, ImGuiSelectableFlags_NoAutoClosePopups))
        wanted = &command;
      ImGui::EndDisabled();
      if (i == at_ && at_ != before) ImGui::SetScrollHereY();
      const auto hint = reason.empty() ? chord_text(command.chord) : reason;
      const float room =
          ImGui::GetContentRegionAvail().x - ImGui::CalcTextSize(command.title.c_str()).x - 4 * em();
      if (!hint.empty() && ImGui::CalcTextSize(hint.c_str()).x < room) {
        ImGui::SameLine();
        ImGui::PushStyleColor(ImGuiCol_Text, ui.theme.faint);
        right_text(hint);
        ImGui::PopStyleColor();
      }
    }
    if (last < 0) faint_text(ui, "No command has these letters in this order.");
  }
  ImGui::EndChild();
  if (wanted) {
    const auto id = wanted->id;
    ImGui::CloseCurrentPopup();
    ImGui::EndPopup();
    const auto reason = ui.commands.run(id);
    if (!reason.empty()) ui.notices.post(Level::kWarning, "This cannot be done now", reason);
    return;
  }
  ImGui::EndPopup();
}

}  // namespace wide::gui
