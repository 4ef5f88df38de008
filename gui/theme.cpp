#include "gui/theme.h"

#include <implot.h>

namespace wide::gui {
namespace {

ImVec4 rgb(unsigned hex, float opacity = 1) {
  return {static_cast<float>(hex >> 16 & 255) / 255, static_cast<float>(hex >> 8 & 255) / 255,
          static_cast<float>(hex & 255) / 255, opacity};
}

}  // namespace

Theme dark_theme() {
  Theme t;
  t.dark = true;
  t.window = rgb(0x16181c), t.panel = rgb(0x1c1f24), t.raised = rgb(0x2a2e35), t.hairline = rgb(0x363b43);
  t.text = rgb(0xe4e7eb), t.faint = rgb(0x9aa3ae), t.accent = rgb(0x56b4e9);
  t.good = rgb(0x2fbf92), t.bad = rgb(0xf0783c), t.warning = rgb(0xe6b23a), t.neutral = rgb(0xaab2bd);
  t.wide = rgb(0x56b4e9), t.rival = rgb(0xe69f00), t.other = rgb(0xcc79a7), t.idle = rgb(0x6b7280, 0.35F);
  t.series = {rgb(0xe69f00), rgb(0x56b4e9), rgb(0x2fbf92), rgb(0xf0e442),
              rgb(0x5a9bd8), rgb(0xf0783c), rgb(0xd991b8), rgb(0xe4e7eb)};
  return t;
}

Theme light_theme() {
  Theme t;
  t.dark = false;
  t.window = rgb(0xe9ebee), t.panel = rgb(0xfbfbfc), t.raised = rgb(0xe1e5ea), t.hairline = rgb(0xcfd4da);
  t.text = rgb(0x1b1f24), t.faint = rgb(0x5b6570), t.accent = rgb(0x0063a3);
  t.good = rgb(0x007a58), t.bad = rgb(0xb84700), t.warning = rgb(0x8a6100), t.neutral = rgb(0x59636e);
  t.wide = rgb(0x0072b2), t.rival = rgb(0xc47f00), t.other = rgb(0xa8527f), t.idle = rgb(0x8a93a0, 0.30F);
  t.series = {rgb(0xc47f00), rgb(0x2a8fc9), rgb(0x009e73), rgb(0x9a8f00),
              rgb(0x0072b2), rgb(0xd55e00), rgb(0xa8527f), rgb(0x1b1f24)};
  return t;
}

void apply(const Theme& t) {
  auto& style = ImGui::GetStyle();
  auto& c = style.Colors;
  t.dark ? ImGui::StyleColorsDark() : ImGui::StyleColorsLight();
  c[ImGuiCol_Text] = t.text;
  c[ImGuiCol_TextDisabled] = t.faint;
  c[ImGuiCol_TextLink] = t.accent;
  c[ImGuiCol_WindowBg] = t.panel;
  c[ImGuiCol_ChildBg] = faded(t.panel, 0);
  c[ImGuiCol_PopupBg] = t.panel;
  c[ImGuiCol_Border] = t.hairline;
  c[ImGuiCol_FrameBg] = t.raised;
  c[ImGuiCol_FrameBgHovered] = faded(t.accent, 0.25F);
  c[ImGuiCol_FrameBgActive] = faded(t.accent, 0.40F);
  c[ImGuiCol_TitleBg] = c[ImGuiCol_TitleBgActive] = c[ImGuiCol_TitleBgCollapsed] = t.window;
  c[ImGuiCol_MenuBarBg] = t.window;
  c[ImGuiCol_Button] = t.raised;
  c[ImGuiCol_ButtonHovered] = faded(t.accent, 0.35F);
  c[ImGuiCol_ButtonActive] = faded(t.accent, 0.55F);
  c[ImGuiCol_Header] = faded(t.accent, 0.22F);
  c[ImGuiCol_HeaderHovered] = faded(t.accent, 0.30F);
  c[ImGuiCol_HeaderActive] = faded(t.accent, 0.42F);
  c[ImGuiCol_Separator] = t.hairline;
  c[ImGuiCol_SeparatorHovered] = c[ImGuiCol_SeparatorActive] = t.accent;
  c[ImGuiCol_ResizeGrip] = faded(t.faint, 0.2F);
  c[ImGuiCol_ResizeGripHovered] = c[ImGuiCol_ResizeGripActive] = t.accent;
  c[ImGuiCol_CheckMark] = c[ImGuiCol_SliderGrab] = c[ImGuiCol_SliderGrabActive] = t.accent;
  c[ImGuiCol_Tab] = c[ImGuiCol_TabDimmed] = t.window;
  c[ImGuiCol_TabSelected] = c[ImGuiCol_TabDimmedSelected] = t.panel;
  c[ImGuiCol_TabHovered] = faded(t.accent, 0.30F);
  c[ImGuiCol_TabSelectedOverline] = t.accent;
  c[ImGuiCol_TabDimmedSelectedOverline] = t.hairline;
  c[ImGuiCol_DockingPreview] = faded(t.accent, 0.5F);
  c[ImGuiCol_DockingEmptyBg] = t.window;
  c[ImGuiCol_PlotHistogram] = faded(t.accent, 0.42F);  // of progress, with text on it
  c[ImGuiCol_TableHeaderBg] = faded(t.raised, 0.7F);
  c[ImGuiCol_TableBorderStrong] = c[ImGuiCol_TableBorderLight] = t.hairline;
  c[ImGuiCol_TableRowBg] = faded(t.panel, 0);
  c[ImGuiCol_TableRowBgAlt] = faded(t.raised, 0.30F);
  c[ImGuiCol_TextSelectedBg] = faded(t.accent, 0.35F);
  c[ImGuiCol_ScrollbarBg] = faded(t.panel, 0);
  c[ImGuiCol_ScrollbarGrab] = t.raised;
  c[ImGuiCol_NavCursor] = t.accent;
  c[ImGuiCol_ModalWindowDimBg] = {0, 0, 0, 0.45F};

  const float em = ImGui::GetFontSize() > 0 ? ImGui::GetFontSize() : 16;
  style.WindowPadding = {0.60F * em, 0.50F * em};
  style.FramePadding = {0.50F * em, 0.25F * em};
  style.ItemSpacing = {0.50F * em, 0.40F * em};
  style.ItemInnerSpacing = {0.35F * em, 0.30F * em};
  style.CellPadding = {0.45F * em, 0.22F * em};
  style.IndentSpacing = 1.1F * em;
  style.ScrollbarSize = 0.75F * em;
  style.GrabMinSize = 0.7F * em;
  style.WindowRounding = style.ChildRounding = 0;
  style.FrameRounding = style.PopupRounding = style.GrabRounding = style.TabRounding = 0.2F * em;
  style.WindowBorderSize = style.PopupBorderSize = style.ChildBorderSize = 1;  // dialogs stand out
  style.FrameBorderSize = 0;
  style.TabBarOverlineSize = 2;
  style.DockingSeparatorSize = 2;
  style.WindowMenuButtonPosition = ImGuiDir_None;
  style.SeparatorTextBorderSize = 1;
  style.HoverDelayNormal = 0.35F;

  if (ImPlot::GetCurrentContext() == nullptr) return;
  auto& plot = ImPlot::GetStyle();
  auto& p = plot.Colors;
  t.dark ? ImPlot::StyleColorsDark() : ImPlot::StyleColorsLight();
  p[ImPlotCol_FrameBg] = p[ImPlotCol_PlotBg] = faded(t.panel, 0);
  p[ImPlotCol_PlotBorder] = t.hairline;
  p[ImPlotCol_LegendBg] = t.panel;
  p[ImPlotCol_LegendBorder] = t.hairline;
  p[ImPlotCol_LegendText] = p[ImPlotCol_TitleText] = p[ImPlotCol_InlayText] = p[ImPlotCol_AxisText] = t.text;
  p[ImPlotCol_AxisGrid] = t.hairline;
  plot.PlotPadding = {0.6F * em, 0.6F * em};
  plot.LabelPadding = {0.3F * em, 0.3F * em};
}

}  // namespace wide::gui
