#include "gui/save_dialog.h"

#include <imgui_stdlib.h>

#include "gui/icons.h"
#include "gui/paths.h"
#include "results/report.h"

namespace wide::gui {
namespace {

constexpr const char* kPopup = "Save###save";

}  // namespace

void write_file(const std::filesystem::path& file, const std::string& text) {
  results::write_text(file, text);
}

void SaveDialog::open(const Ui& ui, std::string title, const std::string& name, Write write,
                      const std::string& path) {
  title_ = std::move(title), write_ = std::move(write), here_ = false;
  if (!path.empty()) return save(ui, path);
  propose(name);
}

void SaveDialog::propose(const std::string& name) {
  std::error_code failed;
  if (folder_.empty()) folder_ = std::filesystem::current_path(failed).string();
  path_ = shown_path(std::filesystem::path(folder_) / name);
  opening_ = true;
}

void SaveDialog::open_here(std::string title, const std::string& name, Write write) {
  title_ = std::move(title), write_ = std::move(write), here_ = true;
  propose(name);
}

void SaveDialog::save(const Ui& ui, const std::filesystem::path& file) {
  auto* notices = &ui.notices;
  if (here_) {
    write_(file);
    return;
  }
  ui.jobs.start(Lane::kFiles, "Writing " + file.filename().string(),
                [write = write_, file, notices](const JobContext&) -> Apply {
                  write(file);
                  return [file, notices] { notices->post(Level::kInfo, "Written", shown_path(file)); };
                });
}

void SaveDialog::draw(const Ui& ui) {
  if (opening_) ImGui::OpenPopup(kPopup), opening_ = false;
  ImGui::SetNextWindowPos(ImGui::GetMainViewport()->GetWorkCenter(), ImGuiCond_Appearing, {0.5F, 0.5F});
  if (!ImGui::BeginPopupModal(kPopup, nullptr, ImGuiWindowFlags_AlwaysAutoResize)) return;
  ImGui::TextUnformatted(title_.c_str());
  ImGui::SetNextItemWidth(32 * em());
  if (ImGui::IsWindowAppearing()) ImGui::SetKeyboardFocusHere();
  const bool entered = ImGui::InputText("##path", &path_, ImGuiInputTextFlags_EnterReturnsTrue);
  std::error_code failed;
  const auto file = typed_path(path_, folder_);
  const bool there = std::filesystem::is_regular_file(file, failed);
  if (there) badge(ui, Level::kWarning, "This file is there and will be replaced.");
  const bool pressed = ImGui::Button(there ? "Replace###write" : "Save###write") || entered;
  if (pressed && !path_.empty()) {
    folder_ = file.parent_path().string();
    ImGui::CloseCurrentPopup();
    save(ui, file);
  }
  ImGui::SameLine();
  if (ImGui::Button("Cancel") || ImGui::IsKeyPressed(ImGuiKey_Escape)) ImGui::CloseCurrentPopup();
  ImGui::EndPopup();
}

}  // namespace wide::gui
