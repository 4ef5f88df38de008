#include "gui/file_dialog.h"

#include <imgui_stdlib.h>

#include <algorithm>
#include <filesystem>

#include "gui/icons.h"

namespace wide::gui {

namespace fs = std::filesystem;

void FileDialog::open(std::string title, std::vector<std::string> extensions,
                      std::function<void(std::vector<std::string>)> chosen) {
  title_ = std::move(title);
  extensions_ = std::move(extensions);
  chosen_ = std::move(chosen);
  typed_.clear();
  marked_.clear();
  std::error_code error;
  if (folder_.empty()) folder_ = fs::current_path(error).string();
  read();
  opening_ = true;
}

void FileDialog::read() {
  entries_.clear();
  marked_.clear();
  problem_.clear();
  std::error_code error;
  for (fs::directory_iterator entry(folder_, error), end; !error && entry != end; entry.increment(error)) {
    const auto name = entry->path().filename().string();
    if (name.starts_with(".")) continue;
    std::error_code ignored;
    const bool folder = entry->is_directory(ignored);
    const auto extension = entry->path().extension().string();
    if (!folder && std::find(extensions_.begin(), extensions_.end(), extension) == extensions_.end())
      continue;
    entries_.push_back({name, folder, folder ? 0 : static_cast<double>(entry->file_size(ignored))});
  }
  if (error) problem_ = error.message();
  std::sort(entries_.begin(), entries_.end(),
            [](const Entry& a, const Entry& b) { return a.folder != b.folder ? a.folder : a.name < b.name; });
}

// A typed path goes before what is marked; a folder of no models is entered.
void FileDialog::confirm() {
  std::vector<std::string> paths;
  if (!typed_.empty()) {
    const auto path = fs::path(folder_) / typed_;  // an absolute one replaces the folder
    std::error_code error;
    if (!fs::exists(path, error)) {
      problem_ = path.string() + " is not there";
      return;
    }
    paths.push_back(path.lexically_normal().string());
  } else {
    for (const auto& name : marked_) paths.push_back((fs::path(folder_) / name).string());
    if (paths.empty()) paths.push_back(folder_);
  }
  open_ = false;
  ImGui::CloseCurrentPopup();
  chosen_(std::move(paths));
}

void FileDialog::draw_entries(const Ui& ui) {
  const float below = 2 * ImGui::GetFrameHeightWithSpacing() + ImGui::GetTextLineHeightWithSpacing();
  if (!ImGui::BeginTable("##entries", 2,
                         ImGuiTableFlags_ScrollY | ImGuiTableFlags_RowBg | ImGuiTableFlags_BordersOuter,
                         {0, std::max(4 * em(), ImGui::GetContentRegionAvail().y - below)})) {
    return;
  }
  ImGui::TableSetupColumn("name", ImGuiTableColumnFlags_WidthStretch);
  ImGui::TableSetupColumn("size", ImGuiTableColumnFlags_WidthFixed, 5 * em());
  std::string enter;
  for (const auto& entry : entries_) {
    ImGui::TableNextRow();
    ImGui::TableNextColumn();
    ImGui::PushID(entry.name.c_str());
    const bool marked = std::find(marked_.begin(), marked_.end(), entry.name) != marked_.end();
    std::string label = entry.folder ? icon::kFolderOpen : icon::kFile;
    label.append("  ").append(entry.name).append("###entry");
    if (ImGui::Selectable(label.c_str(), marked,
                          ImGuiSelectableFlags_SpanAllColumns | ImGuiSelectableFlags_AllowDoubleClick |
                              ImGuiSelectableFlags_NoAutoClosePopups)) {
      if (entry.folder && ImGui::IsMouseDoubleClicked(ImGuiMouseButton_Left)) {
        enter = entry.name;
      } else {
        if (!ImGui::GetIO().KeyCtrl && !ImGui::GetIO().KeyShift) marked_.clear();
        if (marked) {
          std::erase(marked_, entry.name);
        } else {
          marked_.push_back(entry.name);
        }
      }
    }
    ImGui::PopID();
    ImGui::TableNextColumn();
    if (!entry.folder) right_text(bytes_text(entry.bytes));
  }
  ImGui::EndTable();
  if (!enter.empty()) {
    folder_ = (fs::path(folder_) / enter).string();
    read();
  }
  (void)ui;
}

void FileDialog::draw(const Ui& ui) {
  const char* name = "Open files###files";
  if (opening_) {
    ImGui::OpenPopup(name);
    opening_ = false;
    open_ = true;
  }
  const auto screen = ImGui::GetMainViewport()->WorkSize;
  ImGui::SetNextWindowSize({std::min(46 * em(), 0.9F * screen.x), std::min(30 * em(), 0.85F * screen.y)},
                           ImGuiCond_Appearing);
  ImGui::SetNextWindowPos(ImGui::GetMainViewport()->GetWorkCenter(), ImGuiCond_Appearing, {0.5F, 0.5F});
  if (!ImGui::BeginPopupModal(name, &open_)) return;
  ImGui::TextUnformatted(title_.c_str());
  if (ImGui::Button(icon::kFaster) && fs::path(folder_).has_parent_path()) {
    folder_ = fs::path(folder_).parent_path().string();
    read();
  }
  if (ImGui::IsItemHovered(ImGuiHoveredFlags_ForTooltip)) tooltip("The folder above");
  ImGui::SameLine();
  ImGui::SetNextItemWidth(-1);
  if (ImGui::InputText("##folder", &folder_, ImGuiInputTextFlags_EnterReturnsTrue)) read();
  draw_entries(ui);
  if (problem_.empty()) {
    faint_text(ui,
               marked_.empty()
                   ? "Double-click enters a folder; Ctrl marks several files. Open takes the whole folder."
                   : std::to_string(marked_.size()) + " marked");
  } else {
    badge(ui, Level::kError, problem_);
  }
  ImGui::SetNextItemWidth(-1);
  if (ImGui::InputTextWithHint("##path", "or type a path", &typed_, ImGuiInputTextFlags_EnterReturnsTrue))
    confirm();
  if (open_ && ImGui::Button("Open")) confirm();
  ImGui::SameLine();
  if (ImGui::Button("Cancel") || ImGui::IsKeyPressed(ImGuiKey_Escape)) open_ = false;
  if (!open_) ImGui::CloseCurrentPopup();
  ImGui::EndPopup();
}

}  // namespace wide::gui
