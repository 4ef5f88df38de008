// The notices at the right edge of the window.
#include <imgui_internal.h>

#include <algorithm>
#include <functional>
#include <string>

#include "gui/icons.h"
#include "gui/workbench.h"

namespace wide::gui {
namespace {

// At most so many bytes, and no half a letter.
std::string beginning(const std::string& text, std::size_t most) {
  if (text.size() <= most) return text;
  while (most > 0 && (static_cast<unsigned char>(text[most]) & 0xC0U) == 0x80) --most;
  return text.substr(0, most) + "…";
}

// A window of its own at the right edge, its lower end at `y`. Gives its height.
float draw_notice_window(const Ui& ui, const char* name, float y, const std::function<void()>& draw) {
  const auto* viewport = ImGui::GetMainViewport();
  const float width = std::min(30 * em(), 0.9F * viewport->WorkSize.x);
  ImGui::SetNextWindowPos({viewport->WorkPos.x + viewport->WorkSize.x - 0.8F * em(), y}, ImGuiCond_Always,
                          {1, 1});
  ImGui::SetNextWindowSize({width, 0});
  ImGui::PushStyleVar(ImGuiStyleVar_WindowBorderSize, 1);
  ImGui::PushStyleColor(ImGuiCol_WindowBg, ui.theme.raised);
  ImGui::Begin(name, nullptr,
               ImGuiWindowFlags_NoDecoration | ImGuiWindowFlags_NoDocking | ImGuiWindowFlags_NoSavedSettings |
                   ImGuiWindowFlags_NoFocusOnAppearing | ImGuiWindowFlags_NoMove | ImGuiWindowFlags_NoNav);
  ImGui::BringWindowToDisplayFront(ImGui::GetCurrentWindow());
  draw();
  const float height = ImGui::GetWindowSize().y;
  ImGui::End();
  ImGui::PopStyleColor();
  ImGui::PopStyleVar();
  return height;
}

void draw_notice(const Notice& one, const Ui& ui) {
  const float buttons =
      2 * (1.3F * em() + 2 * ImGui::GetStyle().FramePadding.x) + ImGui::GetStyle().ItemSpacing.x;
  const float edge = ImGui::GetCursorPosX() + ImGui::GetContentRegionAvail().x - buttons;
  ImGui::PushTextWrapPos(edge - 0.5F * em());
  badge(ui, one.level, one.times > 1 ? one.title + ", " + std::to_string(one.times) + " times" : one.title);
  ImGui::PopTextWrapPos();
  ImGui::SameLine(edge);
  if (ImGui::Button(icon::kCopy)) ImGui::SetClipboardText((one.title + "\n" + one.text).c_str());
  if (ImGui::IsItemHovered(ImGuiHoveredFlags_ForTooltip)) tooltip("Copy the whole text");
  ImGui::SameLine();
  if (ImGui::Button(icon::kCross)) ui.notices.dismiss(one.id);
  if (one.text.empty()) return;
  constexpr std::size_t kMost = 600;  // bytes
  ImGui::PushTextWrapPos(0);
  ImGui::TextUnformatted(beginning(one.text, kMost).c_str());
  ImGui::PopTextWrapPos();
}

}  // namespace

// The newest few, one above the other; how many more there are stands above them.
void Workbench::draw_notices(const Ui& ui) {
  constexpr std::size_t kMost = 3;
  const auto* viewport = ImGui::GetMainViewport();
  float y = viewport->WorkPos.y + viewport->WorkSize.y - 0.8F * em();
  const auto shown = notices.shown();  // a copy: a click may dismiss
  const auto more = shown.size() > kMost ? shown.size() - kMost : 0;
  for (std::size_t i = shown.size(); i > more; --i) {
    const auto name = "##notice" + std::to_string(shown[i - 1].id);
    y -= draw_notice_window(ui, name.c_str(), y, [&] { draw_notice(shown[i - 1], ui); }) + 0.4F * em();
  }
  if (more == 0) return;
  draw_notice_window(ui, "##more_notices", y, [&] {
    const auto label = "and " + std::to_string(more) + " more, in the log###more_notices";
    if (ImGui::Button(label.c_str())) show("log");
    same_line_if_fits("Dismiss all");
    if (ImGui::Button("Dismiss all###dismiss_all")) notices.dismiss_all();
  });
}

}  // namespace wide::gui
