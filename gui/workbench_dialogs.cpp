// What asks before it is done: dialogs over the whole window.
#include <algorithm>
#include <filesystem>

#include "gui/workbench.h"

namespace wide::gui {
namespace {

// Names of files, with their folders where two are named alike.
std::vector<std::string> told_apart(const std::vector<std::string>& files) {
  std::vector<std::string> names;
  for (const auto& file : files) names.push_back(std::filesystem::path(file).filename().string());
  auto told = names;
  for (std::size_t i = 0; i < files.size(); ++i)
    if (std::ranges::count(names, names[i]) > 1) told[i] = files[i];
  return told;
}

}  // namespace

void Workbench::draw_choice() {
  constexpr const char* kName = "Which model?###choose_model";
  if (!choice_) return;
  if (!ImGui::IsPopupOpen(kName)) ImGui::OpenPopup(kName);
  ImGui::SetNextWindowPos(ImGui::GetMainViewport()->GetWorkCenter(), ImGuiCond_Appearing, {0.5F, 0.5F});
  if (!ImGui::BeginPopupModal(kName, nullptr, ImGuiWindowFlags_AlwaysAutoResize)) return;
  const auto given = choice_->weights.size();
  ImGui::TextUnformatted(
      given == 1
          ? "The checkpoint is a member of one of these models:"
          : ("The " + std::to_string(given) + " checkpoints are members of one of these models:").c_str());
  const auto names = told_apart(choice_->models);
  std::optional<ModelSource> wanted;
  for (std::size_t i = 0; i < choice_->models.size(); ++i) {
    const auto label = names[i] + "###model_" + std::to_string(i);
    if (ImGui::Selectable(label.c_str(), false, ImGuiSelectableFlags_NoAutoClosePopups)) {
      wanted = *choice_;
      wanted->models = {choice_->models[i]};
    }
    if (ImGui::IsItemHovered(ImGuiHoveredFlags_ForTooltip)) tooltip(choice_->models[i]);
  }
  const bool none = ImGui::Button("Open none###none") || ImGui::IsKeyPressed(ImGuiKey_Escape);
  if (none || wanted) {
    choice_.reset();
    ImGui::CloseCurrentPopup();
  }
  ImGui::EndPopup();
  if (wanted) open_source(*wanted);
}

void Workbench::draw_closing() {
  constexpr const char* kName = "Close while work is running?###closing";
  if (closing_ && !ImGui::IsPopupOpen(kName)) ImGui::OpenPopup(kName);
  ImGui::SetNextWindowPos(ImGui::GetMainViewport()->GetWorkCenter(), ImGuiCond_Appearing, {0.5F, 0.5F});
  bool open = true;
  if (!ImGui::BeginPopupModal(kName, &open, ImGuiWindowFlags_AlwaysAutoResize)) {
    closing_ = closing_ && open;
    return;
  }
  for (const auto& job : jobs.list()) {
    if (job.state < JobState::kDone) ImGui::BulletText("%s", job.title.c_str());
  }
  ImGui::TextUnformatted(
      jobs.measuring() ? "Closing stops it. The cases measured so far are kept: History resumes the run."
                       : "Closing stops it.");
  if (ImGui::Button("Stop and close")) {
    jobs.cancel_all();
    closed_ = true;
  }
  ImGui::SameLine();
  const bool keep = ImGui::Button("Keep working");
  ImGui::SetItemDefaultFocus();  // what Enter does, for who does not look: ImGui does so after other keys
                                 // only
  const bool entered = ImGui::IsKeyPressed(ImGuiKey_Enter) || ImGui::IsKeyPressed(ImGuiKey_KeypadEnter);
  const bool kept = keep || entered || ImGui::IsKeyPressed(ImGuiKey_Escape) || !open;
  closed_ = closed_ || (!kept && !jobs.busy());  // the work ended by itself: there is nothing left to ask
  if (kept || closed_) {
    closing_ = false;
    ImGui::CloseCurrentPopup();
  }
  ImGui::EndPopup();
}

}  // namespace wide::gui
