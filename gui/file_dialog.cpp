#include "gui/file_dialog.h"

#include <imgui_stdlib.h>

#include <algorithm>
#include <filesystem>

#include "gui/icons.h"
#include "gui/paths.h"

namespace wide::gui {

namespace fs = std::filesystem;

void FileDialog::open(std::string title, std::vector<std::string> extensions,
                      std::function<void(std::vector<std::string>)> chosen, bool folders) {
  title_ = std::move(title);
  folders_ = folders;
  extensions_ = std::move(extensions);
  chosen_ = std::move(chosen);
  typed_.clear();
  marked_.clear();
  std::error_code error;
  enter(folder_.empty() ? fs::current_path(error).string() : folder_);
  opening_ = true;
}

void FileDialog::enter(const std::string& folder) {
  folder_ = folder;
  folder_text_ = shown_path(folder);
  typed_.clear();
  read();
}

bool FileDialog::has_files(const std::string& folder) const {
  std::error_code error;
  for (fs::directory_iterator entry(folder, error), end; !error && entry != end; entry.increment(error)) {
    const auto extension = entry->path().extension().string();
    if (std::find(extensions_.begin(), extensions_.end(), extension) != extensions_.end()) return true;
  }
  return false;
}

void FileDialog::read() {
  entries_.clear();
  marked_.clear();
  last_ = 0;
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
  if (error) problem_ = shown_path(folder_) + ": " + error.message();
  std::sort(entries_.begin(), entries_.end(),
            [](const Entry& a, const Entry& b) { return a.folder != b.folder ? a.folder : a.name < b.name; });
}

// As everywhere: Ctrl adds one or takes it away, Shift takes all from the last one to this.
void FileDialog::mark(std::size_t index) {
  const auto& name = entries_[index].name;
  const bool marked = std::find(marked_.begin(), marked_.end(), name) != marked_.end();
  const auto& io = ImGui::GetIO();
  if (io.KeyShift) {
    marked_.clear();
    for (auto i = std::min(last_, index); i <= std::max(last_, index) && i < entries_.size(); ++i)
      marked_.push_back(entries_[i].name);
    return;
  }
  if (!io.KeyCtrl) marked_.clear();
  if (marked && io.KeyCtrl) {
    std::erase(marked_, name);
  } else {
    marked_.push_back(name);
  }
  last_ = index;
}

// A typed path goes before what is marked; a folder that holds none of the files is entered.
void FileDialog::confirm() {
  std::vector<std::string> paths;
  std::error_code error;
  if (!typed_.empty()) {
    const auto path = typed_path(typed_, folder_);
    if (!fs::exists(path, error)) {
      problem_ = shown_path(path) + " is not there";
      return;
    }
    paths.push_back(path.string());
  } else {
    for (const auto& name : marked_) paths.push_back((fs::path(folder_) / name).string());
    if (paths.empty()) paths.push_back(folder_);
  }
  if (paths.size() == 1 && fs::is_directory(paths[0], error) && !(folders_ && has_files(paths[0]))) {
    if (paths[0] == folder_) {
      problem_ = folders_ ? "no file to open lies in this folder itself; choose one in it, or type a path"
                          : "choose a file, or type its path";
    } else {
      enter(paths[0]);
    }
    return;
  }
  open_ = false;
  ImGui::CloseCurrentPopup();
  chosen_(std::move(paths));
}

void FileDialog::draw_entries(const Ui& ui) {
  const float below = 2 * ImGui::GetFrameHeightWithSpacing() + 2 * ImGui::GetTextLineHeightWithSpacing();
  if (!ImGui::BeginTable("##entries", 2,
                         ImGuiTableFlags_ScrollY | ImGuiTableFlags_RowBg | ImGuiTableFlags_BordersOuter,
                         {0, std::max(4 * em(), ImGui::GetContentRegionAvail().y - below)})) {
    return;
  }
  ImGui::TableSetupColumn("name", ImGuiTableColumnFlags_WidthStretch);
  ImGui::TableSetupColumn("size", ImGuiTableColumnFlags_WidthFixed, 5 * em());
  std::string wanted;
  bool whole = false;
  for (std::size_t i = 0; i < entries_.size(); ++i) {
    const auto& entry = entries_[i];
    ImGui::TableNextRow();
    ImGui::TableNextColumn();
    ImGui::PushID(entry.name.c_str());
    const bool marked = std::find(marked_.begin(), marked_.end(), entry.name) != marked_.end();
    std::string label = entry.folder ? icon::kFolderOpen : icon::kFile;
    label.append("  ").append(entry.name).append("###entry");
    if (ImGui::Selectable(label.c_str(), marked,
                          ImGuiSelectableFlags_SpanAllColumns | ImGuiSelectableFlags_AllowDoubleClick |
                              ImGuiSelectableFlags_NoAutoClosePopups)) {
      const bool twice = ImGui::IsMouseDoubleClicked(ImGuiMouseButton_Left);
      typed_.clear();  // what was chosen last counts
      problem_.clear();
      if (entry.folder && twice) {
        wanted = entry.name;
      } else {
        mark(i);
        whole = whole || (twice && marked_.size() == 1);
      }
    }
    ImGui::PopID();
    ImGui::TableNextColumn();
    if (!entry.folder) right_text(bytes_text(entry.bytes));
  }
  ImGui::EndTable();
  if (entries_.empty()) faint_text(ui, "None of these files, and no folder, lies here.");
  if (!wanted.empty()) enter((fs::path(folder_) / wanted).string());
  if (whole) confirm();
}

void FileDialog::draw_folder() {
  if (ImGui::Button(icon::kFaster) && fs::path(folder_).has_parent_path())
    enter(fs::path(folder_).parent_path().string());
  if (ImGui::IsItemHovered(ImGuiHoveredFlags_ForTooltip)) tooltip("The folder above");
  ImGui::SameLine();
  ImGui::SetNextItemWidth(-1);
  if (ImGui::InputText("##folder", &folder_text_, ImGuiInputTextFlags_EnterReturnsTrue))
    enter(typed_path(folder_text_, folder_).string());
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
  draw_folder();
  draw_entries(ui);
  if (problem_.empty()) {
    faint_text(ui, !marked_.empty() ? std::to_string(marked_.size()) + " marked"
                   : folders_ ? "Double-click enters a folder; Ctrl and Shift mark several files. With none "
                                "marked, Open takes the whole folder."
                              : "Double-click enters a folder or opens a file.");
  } else {
    badge(ui, Level::kError, problem_);
  }
  ImGui::SetNextItemWidth(-1);
  if (ImGui::IsWindowAppearing()) ImGui::SetKeyboardFocusHere();
  if (ImGui::InputTextWithHint("##path", "or type a path", &typed_, ImGuiInputTextFlags_EnterReturnsTrue)) {
    confirm();
    ImGui::SetKeyboardFocusHere(-1);  // where it was not there, another is typed
  }
  if (open_ && ImGui::Button("Open")) confirm();
  ImGui::SameLine();
  if (ImGui::Button("Cancel") || ImGui::IsKeyPressed(ImGuiKey_Escape)) open_ = false;
  if (!open_) ImGui::CloseCurrentPopup();
  ImGui::EndPopup();
}

}  // namespace wide::gui
