#include "gui/settings_dialog.h"

#include "gui/icons.h"
#include "gui/paths.h"
#include "gui/workbench.h"

namespace wide::gui {
namespace {

void label(const char* text) {
  ImGui::TableNextRow();
  ImGui::TableNextColumn();
  ImGui::AlignTextToFramePadding();
  ImGui::TextUnformatted(text);
  ImGui::TableNextColumn();
}

void draw_look(const Settings& settings, const Ui& ui) {
  label("Theme");
  if (ImGui::RadioButton("Dark", settings.dark)) ui.commands.run("view.theme", "dark");
  ImGui::SameLine();
  if (ImGui::RadioButton("Light", !settings.dark)) ui.commands.run("view.theme", "light");
  label("Text size");
  command_button(ui, "view.smaller", "\xef\x81\xa8###smaller");
  ImGui::SameLine();
  ImGui::Text("%.4g %%", 100 * settings.scale);
  ImGui::SameLine(0, ImGui::GetStyle().ItemSpacing.x);
  command_button(ui, "view.larger", "\xef\x81\xa7###larger");
  ImGui::SameLine();
  command_button(ui, "view.normal", "Normal###normal");
  label("Panels");
  command_button(ui, "view.reset", "Reset the layout###reset");
}

}  // namespace

void SettingsDialog::draw(Workbench& bench, const Ui& ui) {
  constexpr const char* kName = "Settings###settings";
  if (opening_) ImGui::OpenPopup(kName), opening_ = false;
  ImGui::SetNextWindowPos(ImGui::GetMainViewport()->GetWorkCenter(), ImGuiCond_Always, {0.5F, 0.5F});
  bool open = true;
  if (!ImGui::BeginPopupModal(kName, &open, ImGuiWindowFlags_AlwaysAutoResize)) return;
  auto& settings = bench.settings;
  bool changed = false;
  if (ImGui::BeginTable("##settings", 2, ImGuiTableFlags_SizingFixedFit)) {
    draw_look(settings, ui);
    label("At start");
    changed = ImGui::Checkbox("Open what was open at the end###reopen", &settings.reopen) || changed;
    label("Notices stay");
    ImGui::SetNextItemWidth(10 * em());
    constexpr double kShort = 2, kLong = 60;
    ImGui::SliderScalar("##notice_seconds", ImGuiDataType_Double, &settings.notice_seconds, &kShort, &kLong,
                        "%.0f s", ImGuiSliderFlags_AlwaysClamp);
    changed = ImGui::IsItemDeactivatedAfterEdit() || changed;
    if (ImGui::IsItemHovered(ImGuiHoveredFlags_ForTooltip))
      tooltip("Warnings stay three times as long, errors until they are closed. The log keeps all.");
    label("Recent models");
    ImGui::BeginDisabled(settings.recent.empty());
    const auto forget = "Forget " + std::to_string(settings.recent.size()) + "###forget";
    if (ImGui::Button(forget.c_str())) settings.recent.clear(), changed = true;
    ImGui::EndDisabled();
    label("Guide");
    if (ImGui::Button("Show the first steps###first_steps")) {
      ui.commands.run("view.first_steps");
      ImGui::CloseCurrentPopup();
    }
    ImGui::EndTable();
  }
  const auto file = settings_file();
  faint_text(ui, file.empty() ? "There is no home folder to keep them in." : "Kept in " + shown_path(file));
  if (ImGui::Button("Back to the defaults###defaults")) {
    auto fresh = Settings{.recent = settings.recent, .layout = settings.layout};
    fresh.first_steps = settings.first_steps, fresh.pinned = settings.pinned;
    settings = std::move(fresh);
    changed = true;
  }
  ImGui::SameLine();
  if (ImGui::Button("Close") || ImGui::IsKeyPressed(ImGuiKey_Escape) || !open) ImGui::CloseCurrentPopup();
  if (changed) bench.apply_settings();
  ImGui::EndPopup();
}

}  // namespace wide::gui
