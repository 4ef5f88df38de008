#include "gui/workbench.h"

#include <imgui_internal.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <ctime>

#include "app/sweep_job.h"
#include "gui/icons.h"

namespace wide::gui {
namespace {

std::string local_time() {
  const auto now = std::time(nullptr);
  std::tm parts{};
  localtime_r(&now, &parts);
  char text[16];
  std::strftime(text, sizeof text, "%H:%M:%S", &parts);
  return text;
}

// Columns are as wide as they were made, in their own order, none of them hidden.
void reset_columns() {
  auto& tables = ImGui::GetCurrentContext()->Tables;
  for (int i = 0; i < tables.GetMapSize(); ++i) {
    auto* table = tables.TryGetMapData(i);
    if (table == nullptr) continue;
    ImGui::TableResetSettings(table);
    table->RefScale = 0;  // or widths made for the new size are scaled from the old one
    for (int column = 0; column < table->ColumnsCount; ++column)
      table->Columns[column].WidthRequest = table->Columns[column].StretchWeight = -1;
  }
}

// Every column keeps its share of the window: by itself the library lets the middle have all that comes or
// goes.
void scale_nodes(ImGuiDockNode* node, ImVec2 times) {
  constexpr float kParts = 64;  // of a pixel: there and back again is the very same
  if (node == nullptr) return;
  node->SizeRef = {std::round(kParts * node->SizeRef.x * times.x) / kParts,
                   std::round(kParts * node->SizeRef.y * times.y) / kParts};
  for (auto* child : node->ChildNodes) scale_nodes(child, times);
}

void follow_window(ImGuiID dock) {
  auto* root = ImGui::DockBuilderGetNode(dock);
  const auto room = ImTrunc(ImGui::GetMainViewport()->WorkSize);  // nodes stand on whole pixels
  if (root == nullptr || root->Size.x < 1 || root->Size.y < 1 || room.x < 1 || room.y < 1) return;
  if (std::abs(root->Size.x - room.x) >= 1 || std::abs(root->Size.y - room.y) >= 1)
    scale_nodes(root, {room.x / root->Size.x, room.y / root->Size.y});
}

// Not floating, and not a window's own: nothing lies below it but the cleared picture.
bool docked(const std::string& label) {
  const auto* window = ImGui::FindWindowByName(label.c_str());
  return window != nullptr && window->DockNode != nullptr &&
         ImGui::DockNodeGetRootNode(window->DockNode)->IsDockSpace();
}

}  // namespace

Workbench::Workbench(Host given, Settings kept, bool with_demo)
    : host(std::move(given)), settings(std::move(kept)), demo(with_demo) {
  theme = settings.dark ? dark_theme() : light_theme();
  notices.seconds = settings.notice_seconds;
  notices.time_text =
      demo ? std::function<std::string()>([] { return std::string("12:00:00"); }) : local_time;
  jobs.failed = [this](const JobView& job) {
    notices.post(Level::kError, job.title + " did not work", job.text);
  };
  jobs.ended = [this](const JobView& job) {
    if (job.state == JobState::kCancelled) notices.post(Level::kInfo, "Cancelled", job.title);
  };
  commands.failed = [this](const std::string& id, const std::string& message) {
    const auto* command = commands.find(id);
    notices.post(Level::kError, (command ? command->title : id) + " did not work", message);
  };
  add_commands();
  add_view_commands();
  add_panels(*this);
}

Workbench::~Workbench() = default;

Ui Workbench::ui() const {
  auto& self = const_cast<Workbench&>(*this);
  return {theme, fonts, self.commands, self.jobs, self.notices, self.selection, now_, demo, host.program};
}

const profiler::Facts& Workbench::machine() const {
  if (!machine_) machine_ = app::machine_facts(host.engine);
  return *machine_;
}

void Workbench::add_panel(Panel panel) {
  const auto id = panel.id;
  const auto number = static_cast<int>(panels.size());  // keys 1 to 9, in the order of the work
  commands.add({.id = "view." + id,
                .title = "Show " + panel.title,
                .menu = "View",
                .icon = panel.icon,
                .chord = number < 9 ? ImGuiKey_1 + number : 0,
                .run = [this, id](const std::string&) { show(id); }});
  panels.push_back(std::move(panel));
}

bool Workbench::show(const std::string& id) {
  for (auto& panel : panels) {
    if (panel.id != id) continue;
    panel.open = panel.raise = true;
    return true;
  }
  return false;
}

void Workbench::restyle(float display_scale) {
  display_scale_ = display_scale;
  restyle_ = true;
}

void Workbench::change_scale(double scale) {
  settings.scale = std::clamp(scale, 0.5, 3.0);
  apply_settings();
}

void Workbench::apply_settings() {
  restyle_ = true;
  notices.seconds = settings.notice_seconds;
  if (settings_changed) settings_changed();
}

void Workbench::ask_to_close() {
  if (jobs.busy()) {
    closing_ = true;
  } else {
    closed_ = true;
  }
}

void Workbench::shortcuts() {
  if (ImGui::GetTopMostPopupModal() != nullptr) return;  // the dialog has the keys
  const bool elsewhere = popup_ || ImGui::GetIO().WantTextInput;
  if (!elsewhere && ImGui::IsKeyPressed(ImGuiKey_Escape, false)) notices.dismiss_all();
  for (const auto& command : commands.all()) {
    if (command.chord == 0) continue;
    if (ImGui::Shortcut(command.chord, ImGuiInputFlags_RouteGlobal | ImGuiInputFlags_RouteOverFocused)) {
      const auto id = command.id;
      const auto reason = commands.run(id);
      if (!reason.empty()) notices.post(Level::kWarning, "This cannot be done now", reason);
      return;
    }
  }
}

void Workbench::frame(double now) {
  now_ = now;
  if (restyle_) {
    auto& style = ImGui::GetStyle();
    const float before = style.FontScaleMain * style.FontScaleDpi;
    style.FontScaleMain = static_cast<float>(settings.scale);
    style.FontScaleDpi = display_scale_;
    if (style.FontScaleMain * style.FontScaleDpi != before) reset_columns();  // made for letters of that size
    theme = settings.dark ? dark_theme() : light_theme();
  }
  if (jobs.pump()) changed = std::chrono::steady_clock::now();
  session.note_changes();
  notices.expire(now);
  watch = nullptr;
  const auto seen = ui();
  if (restyle_) {
    ImGui::PushFont(fonts.text, ImGui::GetStyle().FontSizeBase);
    apply(theme);  // after the scale is in force: sizes are in em
    ImGui::PopFont();
    restyle_ = false;
  }
  shortcuts();
  draw_menu(seen);
  draw_dock();
  for (auto& panel : panels) {
    if (!panel.open) continue;
    if (panel.raise) ImGui::SetNextWindowFocus();
    panel.raise = false;
    ImGui::SetNextWindowSize({30 * em(), 20 * em()}, ImGuiCond_FirstUseEver);
    // Where tabs are short their words say more than their pictures.
    std::string label = compact_ ? "" : panel.icon;
    label.append(compact_ ? "" : "  ").append(panel.title).append("###").append(panel.title);
    if (docked(label)) ImGui::SetNextWindowBgAlpha(0);
    if (ImGui::Begin(label.c_str(), &panel.open, ImGuiWindowFlags_NoCollapse)) panel.draw(seen);
    ImGui::End();
  }
  files.draw(seen);
  save.draw(seen);
  palette.draw(seen);
  settings_dialog.draw(*this, seen);
  draw_help(seen);
  draw_closing();
  draw_choice();
  draw_notices(seen);
  popup_ = ImGui::IsPopupOpen("", ImGuiPopupFlags_AnyPopup);
}

void Workbench::draw_menu_items(const Ui& ui, const std::string& menu) {
  for (const auto& command : commands.all()) {
    if (command.menu != menu) continue;
    const auto reason = commands.refusal(command.id);
    const auto keys = chord_text(command.chord);
    const bool ticked = command.checked && command.checked();
    std::string label = command.icon.empty() ? "      " : command.icon + "  ";
    label.append(command.title).append("###").append(command.id);
    if (ImGui::MenuItem(label.c_str(), keys.empty() ? nullptr : keys.c_str(), ticked, reason.empty())) {
      const auto id = command.id;
      commands.run(id);
      return;
    }
    if (!reason.empty() &&
        ImGui::IsItemHovered(ImGuiHoveredFlags_AllowWhenDisabled | ImGuiHoveredFlags_ForTooltip)) {
      tooltip(reason);
    }
  }
  (void)ui;
}

void Workbench::draw_menu(const Ui& ui) {
  if (!ImGui::BeginMainMenuBar()) return;
  for (const char* menu : {"File", "Edit", "View", "Run", "Help"}) {
    if (!ImGui::BeginMenu(menu)) continue;
    draw_menu_items(ui, menu);
    if (std::string_view(menu) == "File" && !settings.recent.empty()) {
      ImGui::Separator();
      if (ImGui::BeginMenu("Recent")) {
        const auto recent = settings.recent;
        for (const auto& source : recent) {
          const auto label =
              title(source) + "   " +
              (source.weights.empty() ? std::to_string(source.copies) + " members"
                                      : std::to_string(source.weights.size()) + " checkpoints");
          ImGui::PushID(&source - recent.data());
          if (ImGui::MenuItem(label.c_str())) open_source(source);
          ImGui::PopID();
        }
        ImGui::EndMenu();
      }
    }
    ImGui::EndMenu();
  }
  const float room = ImGui::GetContentRegionAvail().x;
  const float search_width = std::min(20 * em(), 0.45F * room);
  update(status, *this);
  const float status_width = fit_status(status, room - search_width - 2 * em());
  ImGui::SetCursorPosX(ImGui::GetCursorPosX() + std::max(0.0F, (room - search_width - status_width) / 2));
  ImGui::PushStyleColor(ImGuiCol_Text, theme.faint);
  constexpr const char* kWhole = "\xef\x80\x82  search commands   Ctrl+Shift+P###search";
  const bool whole = ImGui::CalcTextSize(kWhole, nullptr, true).x + em() < search_width;
  if (ImGui::Button(whole ? kWhole : "\xef\x80\x82  search###search", {search_width, 0})) palette.open();
  ImGui::PopStyleColor();
  if (status_width > 0) {
    ImGui::SetCursorPosX(ImGui::GetCursorPosX() +
                         std::max(0.0F, ImGui::GetContentRegionAvail().x - status_width));
    draw_status(status, ui);
  }
  ImGui::EndMainMenuBar();
}

void Workbench::default_layout(unsigned dock) {
  ImGui::DockBuilderRemoveNode(dock);
  ImGui::DockBuilderAddNode(dock, ImGuiDockNodeFlags_DockSpace);
  ImGui::DockBuilderSetNodeSize(dock, ImGui::GetMainViewport()->WorkSize);
  // Large text in a small window: two columns of tabs instead of four.
  if (compact_) {
    ImGuiID main = dock;
    ImGuiID side = ImGui::DockBuilderSplitNode(main, ImGuiDir_Left, 0.36F, nullptr, &main);
    const ImGuiID work = ImGui::DockBuilderSplitNode(side, ImGuiDir_Down, 0.30F, nullptr, &side);
    for (auto& panel : panels) {
      const bool of_work = panel.place == Place::kLeftBelow || panel.place == Place::kBelow;
      const ImGuiID node = panel.place == Place::kMiddle ? main : of_work ? work : side;
      ImGui::DockBuilderDockWindow(("###" + panel.title).c_str(), node);
      panel.open = panel.open || panel.always;
    }
    ImGui::DockBuilderFinish(dock);
    return;
  }
  ImGuiID middle = dock;
  const ImGuiID below = ImGui::DockBuilderSplitNode(middle, ImGuiDir_Down, 0.15F, nullptr, &middle);
  ImGuiID left = ImGui::DockBuilderSplitNode(middle, ImGuiDir_Left, 0.235F, nullptr, &middle);
  const ImGuiID right = ImGui::DockBuilderSplitNode(middle, ImGuiDir_Right, 0.30F, nullptr, &middle);
  const ImGuiID left_below = ImGui::DockBuilderSplitNode(left, ImGuiDir_Down, 0.30F, nullptr, &left);
  for (auto& panel : panels) {
    const ImGuiID node = panel.place == Place::kLeft        ? left
                         : panel.place == Place::kLeftBelow ? left_below
                         : panel.place == Place::kRight     ? right
                         : panel.place == Place::kBelow     ? below
                                                            : middle;
    const auto label = "###" + panel.title;
    ImGui::DockBuilderDockWindow(label.c_str(), node);
    panel.open = panel.open || panel.always;
  }
  ImGui::DockBuilderFinish(dock);
}

bool Workbench::is_compact() const {
  constexpr float kWide = 56, kHigh = 34;  // em
  const auto& style = ImGui::GetStyle();
  const float size = style.FontSizeBase * style.FontScaleMain * style.FontScaleDpi;
  const auto room = ImGui::GetMainViewport()->WorkSize;
  return room.x < kWide * size || room.y < kHigh * size;
}

void Workbench::draw_dock() {
  const ImGuiID dock = ImGui::GetID("workbench");
  const bool first = !laid_out_;
  laid_out_ = true;
  compact_ = is_compact();
  if (reset_layout_ || (first && ImGui::DockBuilderGetNode(dock) == nullptr)) {
    default_layout(dock);
    if (reset_layout_) reset_columns();
    if (first || reset_layout_) {
      for (const auto* id : {"models", "graph"}) show(id);
      if (settings.first_steps) show("first_steps");
    }
    reset_layout_ = false;
  }
  follow_window(dock);
  // The picture is cleared in the colour of panels, so that what is docked need not be filled once more: on
  // software rendering each filling of the window takes milliseconds.
  ImGui::PushStyleColor(ImGuiCol_WindowBg, faded(theme.panel, 0));
  // One cross per tab is enough.
  ImGui::DockSpaceOverViewport(dock, ImGui::GetMainViewport(),
                               static_cast<int>(ImGuiDockNodeFlags_NoCloseButton) |
                                   static_cast<int>(ImGuiDockNodeFlags_NoWindowMenuButton));
  ImGui::PopStyleColor();
}

}  // namespace wide::gui
