// The commands of the window itself: files, look, help.
#include <algorithm>

#include "gui/icons.h"
#include "gui/panels/shared/results_panels.h"
#include "gui/workbench.h"

namespace wide::gui {

void Workbench::add_commands() {
  commands.add({.id = "file.open",
                .title = "Open a model…",
                .menu = "File",
                .icon = icon::kFolderOpen,
                .chord = ImGuiMod_Ctrl | ImGuiKey_O,
                .run = [this](const std::string& path) {
                  if (!path.empty()) return open_files({path});
                  files.open(
                      "An exported model (.pt2) and its checkpoints (.safetensors), or the folder of both",
                      {".pt2", ".safetensors"}, [this](const auto& paths) { open_files(paths); }, true);
                }});
  commands.add({.id = "file.sample",
                .title = "Open the sample: resblock, 4 members",
                .menu = "File",
                .icon = icon::kModel,
                .run = [this](const std::string& subject) {
                  open_source({.subject = subject.empty() ? "resblock" : subject});
                }});
  commands.add({.id = "file.close",
                .title = "Close the model",
                .menu = "File",
                .run =
                    [this](const std::string&) {
                      session = {.revision = session.revision + 1};
                      selection.choose_node("");
                      jobs.start(Lane::kEngine, "Closing the model",
                                 [bench = host.bench](const JobContext&) -> Apply {
                                   bench->close();
                                   return [] {};
                                 });
                    },
                .refuse = [this] { return session.model ? "" : "no model is open"; }});
  commands.add({.id = "file.quit",
                .title = "Quit",
                .menu = "File",
                .chord = ImGuiMod_Ctrl | ImGuiKey_Q,
                .run = [this](const std::string&) { ask_to_close(); }});
  commands.add({.id = "edit.undo",
                .title = "Undo the last choice of a strategy",
                .menu = "Edit",
                .icon = icon::kReset,
                .chord = ImGuiMod_Ctrl | ImGuiKey_Z,
                .run = [this](const std::string&) { session.undo(); },
                .refuse = [this] { return session.history.undo.empty() ? "nothing was chosen yet" : ""; }});
  commands.add({.id = "edit.redo",
                .title = "Make that choice again",
                .menu = "Edit",
                .chord = ImGuiMod_Ctrl | ImGuiMod_Shift | ImGuiKey_Z,
                .run = [this](const std::string&) { session.redo(); },
                .refuse = [this] { return session.history.redo.empty() ? "nothing was taken back" : ""; }});
  commands.add({.id = "edit.copy_log",
                .title = "Copy the log",
                .menu = "Edit",
                .icon = icon::kCopy,
                .run = [this](const std::string&) { ImGui::SetClipboardText(notices.log_text().c_str()); }});
  commands.add({.id = "edit.dismiss",
                .title = "Dismiss all notices",
                .menu = "Edit",
                .run = [this](const std::string&) { notices.dismiss_all(); },
                .refuse = [this] { return notices.shown().empty() ? "there is none" : ""; }});
  commands.add({.id = "edit.settings",
                .title = "Settings…",
                .menu = "Edit",
                .icon = icon::kStrategies,
                .words = "preferences options",
                .chord = ImGuiMod_Ctrl | ImGuiKey_Comma,
                .run = [this](const std::string&) { settings_dialog.open(); }});
  commands.add({.id = "help.palette",
                .title = "Search commands…",
                .menu = "Help",
                .icon = icon::kInspector,
                .chord = ImGuiMod_Ctrl | ImGuiMod_Shift | ImGuiKey_P,
                .run = [this](const std::string&) { palette.open(); }});
  commands.add({.id = "help.shortcuts",
                .title = "Keyboard shortcuts",
                .menu = "Help",
                .chord = ImGuiKey_F1,
                .run = [this](const std::string&) { help_ = true; }});
}

void Workbench::add_view_commands() {
  commands.add({.id = "view.theme",
                .title = "Dark theme",
                .menu = "View",
                .words = "Light theme",
                .run =
                    [this](const std::string& wanted) {
                      settings.dark = wanted.empty() ? !settings.dark : wanted == "dark";
                      apply_settings();
                    },
                .checked = [this] { return settings.dark; }});
  commands.add({.id = "view.larger",
                .title = "Larger text",
                .menu = "View",
                .icon = icon::kPlus,
                .chord = ImGuiMod_Ctrl | ImGuiKey_Equal,
                .run = [this](const std::string&) { change_scale(settings.scale + 0.125); }});
  commands.add({.id = "view.smaller",
                .title = "Smaller text",
                .menu = "View",
                .chord = ImGuiMod_Ctrl | ImGuiKey_Minus,
                .run = [this](const std::string&) { change_scale(settings.scale - 0.125); }});
  commands.add({.id = "view.normal",
                .title = "Normal text",
                .menu = "View",
                .chord = ImGuiMod_Ctrl | ImGuiKey_0,
                .run = [this](const std::string&) { change_scale(1); }});
  commands.add({.id = "view.reset",
                .title = "Reset the layout",
                .menu = "View",
                .icon = icon::kReset,
                .run = [this](const std::string&) { reset_layout_ = true; }});
}

void Workbench::restore(bool model) {
  take_kept_form(*results->sweep, settings.sweep);
  if (model && settings.reopen && settings.open && !settings.recent.empty())
    open_source(settings.recent.front(), settings.wish);
}

void Workbench::note_what_is_open() {
  settings.sweep = kept_form(*results->sweep);
  settings.open = session.model != nullptr;
  settings.wish = settings.open ? session.wish : BuildWish();
  for (const auto& panel : panels) {
    if (panel.id == "first_steps") settings.first_steps = panel.open;
  }
}

void Workbench::draw_help(const Ui& ui) {
  constexpr const char* kName = "Keyboard shortcuts###help";
  if (help_ && !ImGui::IsPopupOpen(kName)) ImGui::OpenPopup(kName);
  ImGui::SetNextWindowPos(ImGui::GetMainViewport()->GetWorkCenter(), ImGuiCond_Appearing, {0.5F, 0.5F});
  bool open = true;
  if (!ImGui::BeginPopupModal(kName, &open, ImGuiWindowFlags_AlwaysAutoResize)) {
    help_ = help_ && open;
    return;
  }
  if (ImGui::BeginTable("##keys", 2, ImGuiTableFlags_RowBg)) {
    for (const auto& command : commands.all()) {
      if (command.chord == 0) continue;
      ImGui::TableNextRow();
      ImGui::TableNextColumn();
      ImGui::TextUnformatted(command.title.c_str());
      ImGui::TableNextColumn();
      ImGui::TextUnformatted(chord_text(command.chord).c_str());
    }
    constexpr std::pair<const char*, const char*> kOfPanels[] = {
        {"Timeline: zoom at the mouse", "wheel"},
        {"Timeline, Graph: move", "drag, arrows"},
        {"Timeline: measure a stretch", "Shift+drag"},
        {"Timeline: show everything", "F"},
        {"Timeline: zoom to the selection", "Z"},
        {"Timeline: forget the measure", "Escape"},
        {"Timeline: mark what is selected", "M"},
        {"Timeline: mark from here, to here", "I, O"},
        {"Timeline: explain what is marked", "R"},
        {"Timeline: slowest, next slower", "S, Shift+S"},
        {"Timeline: set a bookmark", "B"},
        {"Timeline: go to a bookmark", "N, Shift+N"},
        {"Flame, Graph: show everything", "F"},
        {"Flame: from frame to frame", "arrows, Enter"},
        {"Graph: open a module by a level", "double click"}};
    for (const auto& [what, keys] : kOfPanels) {
      ImGui::TableNextRow();
      ImGui::TableNextColumn();
      ImGui::TextUnformatted(what);
      ImGui::TableNextColumn();
      ImGui::TextUnformatted(keys);
    }
    ImGui::EndTable();
  }
  faint_text(ui, host.engine.version.empty() ? "widebench" : "widebench " + host.engine.version);
  if (ImGui::Button("Close") || ImGui::IsKeyPressed(ImGuiKey_Escape)) open = false;
  if (!open) {
    help_ = false;
    ImGui::CloseCurrentPopup();
  }
  ImGui::EndPopup();
}

}  // namespace wide::gui
