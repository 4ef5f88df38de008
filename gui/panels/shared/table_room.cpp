#include "gui/panels/shared/table_room.h"

#include <imgui_internal.h>

#include <algorithm>

#include "gui/icons.h"

namespace wide::gui {
namespace {

constexpr std::size_t kLookedAt = 256;  // rows, evenly spread

float width_of(const std::string& text) {
  return ImGui::CalcTextSize(text.c_str(), nullptr, true).x;
}

// What each column wants for its heading and its cells.
void measure(const Table& table, TableView& view) {
  if (view.measured == table.rows() && view.measured_em == em() && !view.refit &&
      view.widths.size() == table.columns().size())
    return;
  view.measured = table.rows();
  view.measured_em = em();
  view.widths.assign(table.columns().size(), 0);
  const auto& style = ImGui::GetStyle();
  const float arrow = 0.65F * em() + style.FramePadding.x, around = 2 * style.CellPadding.x + 1;
  const auto step = std::max<std::size_t>(1, table.rows() / kLookedAt);
  for (std::size_t i = 0; i < table.columns().size(); ++i) {
    const auto& column = table.columns()[i];
    const float icon = column.key == "verdict" || column.key == "change" ? 2 * em() : 0;
    float widest = width_of(column.title) + arrow;
    for (std::size_t row = 0; row < table.rows(); row += step)
      widest = std::max(widest, std::min(width_of(table.cell(row, i)), widest_text()) + icon);
    view.widths[i] = widest + around;
  }
}

}  // namespace

bool begin_table(const char* id, int columns, ImGuiTableFlags flags, ImVec2 size) {
  const auto number = ImGui::GetID(id);
  auto* before = ImGui::TableFindByID(number);
  auto* kept = ImGui::TableSettingsFindByID(number);
  if (kept != nullptr && kept->ColumnsCount != columns) kept->ID = 0;
  if (before != nullptr && before->ColumnsCount != columns) ImGui::TableRemove(before);
  return ImGui::BeginTable(id, columns, flags, size);
}

void leave_out_columns(const Table& table, TableView& view) {
  const auto& columns = table.columns();
  if (std::none_of(columns.begin(), columns.end(), [](const Column& one) { return one.spare > 0; })) return;
  measure(table, view);
  const auto* drawn = ImGui::GetCurrentTable();
  auto widths = view.widths;
  for (std::size_t i = 0; i < columns.size(); ++i) {
    const bool hidden = !drawn->IsInitializing && !drawn->Columns[static_cast<int>(i)].IsUserEnabled;
    if (hidden || (table.rows() > 0 && table.is_empty(i))) widths[i] = 0;
  }
  auto out = left_out(table, widths, drawn->InnerWindow->InnerRect.GetWidth());
  if (out == view.left_out) return;
  view.left_out = std::move(out);
  view.refit = true;
}

void draw_left_out(const Table& table, TableView& view, const char* id) {
  std::string names;
  int count = 0;
  for (std::size_t i = 0; i < view.left_out.size() && i < table.columns().size(); ++i) {
    if (!view.left_out[i]) continue;
    ++count;
    names.append(names.empty() ? "" : ", ").append(table.columns()[i].title);
  }
  if (count == 0) return;
  ImGui::SameLine();
  const auto label = view.all ? std::string(icon::kCollapse) : "+" + std::to_string(count);
  if (ImGui::Button((label + "###all_columns" + id).c_str())) view.all = !view.all, view.refit = true;
  if (!ImGui::IsItemHovered(ImGuiHoveredFlags_ForTooltip)) return;
  tooltip(view.all ? "Leaves out what there is no room for: " + names
                   : "There is no room for: " + names + ". Shows them, and the table scrolls sideways.");
}

}  // namespace wide::gui
