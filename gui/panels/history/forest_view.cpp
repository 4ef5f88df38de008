// A comparison as a forest plot: a row a case, its interval, the line at 1, and the verdict.
#include <imgui.h>

#include <algorithm>
#include <cmath>

#include "gui/panels/history/history_panel.h"
#include "gui/panels/shared/table_room.h"
#include "gui/views/forest.h"
#include "gui/views/over_n.h"
#include "gui/views/quantity.h"
#include "gui/views/sweep_rows.h"

namespace wide::gui {
namespace {

// The cell of a row in which intervals are drawn, in pixels of the screen.
struct ScaleCell {
  const ForestScale& scale;
  ImVec2 low;
  float width, height;
  float x(double ratio) const { return low.x + static_cast<float>(scale.at(ratio)) * width; }
  float middle() const { return low.y + 0.5F * height; }
};

ScaleCell scale_cell(const ForestScale& scale) {
  return {scale, ImGui::GetCursorScreenPos(), ImGui::GetContentRegionAvail().x, ImGui::GetTextLineHeight()};
}

ImVec4 colour_of(const Ui& ui, const ForestRow& row) {
  if (row.word.empty()) return ui.theme.text;
  switch (meaning(row.word)) {
    case Meaning::kGood:
      return ui.theme.good;
    case Meaning::kBad:
    case Meaning::kBroken:
      return ui.theme.bad;
    case Meaning::kSame:
      return ui.theme.neutral;
    case Meaning::kUnclear:
      break;
  }
  return ui.theme.warning;
}

void draw_head(const Ui& ui, const ForestScale& scale) {
  ImGui::TableNextRow(ImGuiTableRowFlags_Headers);
  ImGui::TableNextColumn();
  table_heading("case", false);
  ImGui::TableNextColumn();
  const auto cell = scale_cell(scale);
  const auto room = static_cast<std::size_t>(std::max(2.0F, cell.width / (3.2F * em())));
  for (const double tick : value_ticks(OverN::kOverEager, scale.low, scale.high, room)) {
    const auto text = tick_text(OverN::kOverEager, tick);
    const float half = 0.5F * ImGui::CalcTextSize(text.c_str()).x;
    const float x = std::clamp(cell.x(tick) - half, cell.low.x, cell.low.x + cell.width - 2 * half);
    ImGui::GetWindowDrawList()->AddText({x, cell.low.y}, packed(ui.theme.faint), text.c_str());
  }
  ImGui::TableNextColumn();
  table_heading("verdict", false);
  if (ImGui::TableGetColumnCount() < 4) return;
  ImGui::TableNextColumn();
  table_heading("second to first", true);
}

void draw_interval(const Ui& ui, const ForestRow& row, const ScaleCell& cell) {
  auto* list = ImGui::GetWindowDrawList();
  const float one = cell.x(1), gap = ImGui::GetStyle().CellPadding.y, middle = cell.middle();
  list->AddLine({one, cell.low.y - gap}, {one, cell.low.y + cell.height + gap}, packed(ui.theme.faint), 1.5F);
  if (!std::isfinite(row.ratio.value)) return;
  const auto ink = packed(colour_of(ui, row));
  if (row.ratio.known()) {
    const float from = cell.x(row.ratio.low), to = cell.x(row.ratio.high), cap = 0.28F * em();
    list->AddLine({from, middle}, {to, middle}, ink, 1.5F);
    // Caps; where the interval goes on, the head of an arrow.
    const float back_from = cell.scale.cut_low(row.ratio) ? from + cap : from;
    const float back_to = cell.scale.cut_high(row.ratio) ? to - cap : to;
    for (const float side : {-cap, cap}) {
      list->AddLine({from, middle}, {back_from, middle + side}, ink, 1.5F);
      list->AddLine({to, middle}, {back_to, middle + side}, ink, 1.5F);
    }
  }
  list->AddCircleFilled({cell.x(row.ratio.value), middle}, (row.on_the_whole ? 0.34F : 0.25F) * em(), ink);
}

void draw_forest_row(const Ui& ui, const CompareData& data, const ForestRow& row, const ForestScale& scale) {
  const auto& cases = data.comparison.cases;
  const bool is_case = row.row < cases.size();
  const bool chosen =
      is_case && !ui.selection.case_key.empty() && cases[row.row].key == ui.selection.case_key;
  ImGui::TableNextRow();
  ImGui::TableNextColumn();
  constexpr auto kRow = ImGuiSelectableFlags_SpanAllColumns | ImGuiSelectableFlags_AllowOverlap;
  if (ImGui::Selectable("##row", chosen, kRow) && is_case) ui.selection.choose_case(cases[row.row].key);
  if (ImGui::IsItemHovered(ImGuiHoveredFlags_ForTooltip)) {
    auto text = row.title + "\n" + show_change(row.ratio) + " " + row.word;
    if (row.row < data.table.rows())
      text.append("\n").append(data.table.text(row.row, data.table.column("reasons")));
    tooltip(text);
  }
  ImGui::SameLine(0, 0);
  if (row.on_the_whole) ImGui::PushFont(ui.fonts.bold, 0);
  fitted_text(row.title);
  ImGui::TableNextColumn();
  draw_interval(ui, row, scale_cell(scale));
  ImGui::TableNextColumn();
  verdict_text(ui, row.word);
  if (ImGui::TableGetColumnCount() > 3) {
    ImGui::TableNextColumn();
    right_text(show_change(row.ratio));
  }
  if (row.on_the_whole) ImGui::PopFont();
}

}  // namespace

void draw_forest(HistoryPanel& panel, const Ui& ui, const CompareData& data) {
  // Made anew only where the table shows others: of a large comparison they take milliseconds.
  if (panel.forest_of != &data || panel.forest_of_rows != data.table.shown())
    panel.forest_rows = forest_rows(data), panel.forest_of = &data, panel.forest_of_rows = data.table.shown();
  const auto& rows = panel.forest_rows;
  if (rows.empty()) return faint_text(ui, "No case is shown: the filter leaves none.");
  const auto scale = forest_scale(rows);
  // Little room: the panel scrolls, and not the plot within it.
  constexpr float kLeast = 9, kRoomy = 40;  // em
  const bool scrolls = ImGui::GetContentRegionAvail().y >= kLeast * em();
  const bool roomy = ImGui::GetContentRegionAvail().x >= kRoomy * em();  // else the tooltip has the numbers
  constexpr auto kFlags = ImGuiTableFlags_RowBg | ImGuiTableFlags_NoSavedSettings;
  if (!begin_table("##forest", roomy ? 4 : 3, kFlags | (scrolls ? ImGuiTableFlags_ScrollY : 0))) return;
  const float corner = ImGui::GetCursorScreenPos().y;
  ImGui::TableSetupColumn("case", ImGuiTableColumnFlags_WidthStretch, 0.8F);
  ImGui::TableSetupColumn("scale", ImGuiTableColumnFlags_WidthStretch, 1.6F);
  ImGui::TableSetupColumn("verdict", ImGuiTableColumnFlags_WidthFixed,
                          ImGui::CalcTextSize("not comparable").x + 2 * em());
  if (roomy)
    ImGui::TableSetupColumn("cost", ImGuiTableColumnFlags_WidthFixed,
                            ImGui::CalcTextSize("+88.8 % [+88.8, +88.8]").x + em());
  ImGui::TableSetupScrollFreeze(0, 1);
  draw_head(ui, scale);
  ImGuiListClipper clipper;
  clipper.Begin(static_cast<int>(rows.size()));
  while (clipper.Step()) {
    for (int i = clipper.DisplayStart; i < clipper.DisplayEnd; ++i) {
      ImGui::PushID(i);
      draw_forest_row(ui, data, rows[static_cast<std::size_t>(i)], scale);
      ImGui::PopID();
    }
  }
  const float below = ImGui::GetCursorScreenPos().y;
  ImGui::EndTable();
  const auto low = ImGui::GetItemRectMin(), high = ImGui::GetItemRectMax();
  panel.forest_picture.area(ui, {low.x, std::min(low.y, corner)}, {high.x, std::min(high.y, below)});
}

}  // namespace wide::gui
