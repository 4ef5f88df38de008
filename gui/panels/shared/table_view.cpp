#include "gui/panels/shared/table_view.h"

#include <imgui_internal.h>
#include <imgui_stdlib.h>

#include <algorithm>
#include <utility>

#include "gui/icons.h"
#include "gui/panels/shared/table_room.h"
#include "gui/views/quantity.h"
#include "gui/views/sweep_rows.h"

namespace wide::gui {
namespace {

struct Look {
  const char* icon;
  const ImVec4& colour;
};

Look look_of(const Ui& ui, std::string_view word) {
  switch (meaning(word)) {
    case Meaning::kGood:
      return {word == "pass" ? icon::kCheck : icon::kFaster, ui.theme.good};
    case Meaning::kBad:
      return {icon::kSlower, ui.theme.bad};
    case Meaning::kSame:
      return {icon::kSame, ui.theme.neutral};
    case Meaning::kBroken:
      return {word == "fail" ? icon::kError : icon::kWarning, ui.theme.bad};
    case Meaning::kUnclear:
      break;
  }
  return {icon::kInfo, ui.theme.warning};
}

// What the headings say holds for data that came in since, too.
void apply_sorting(Table& table) {
  auto* specs = ImGui::TableGetSortSpecs();
  if (specs == nullptr) return;
  specs->SpecsDirty = false;
  if (specs->SpecsCount == 0) {
    if (table.sorted_by() < table.columns().size()) table.unsort();
    return;
  }
  const auto column = static_cast<std::size_t>(specs->Specs[0].ColumnIndex);
  const bool descending = specs->Specs[0].SortDirection == ImGuiSortDirection_Descending;
  if (table.sorted_by() != column || table.descending() != descending) table.sort(column, descending);
}

// Rows that came in since may be wider than those that the columns were made for.
void fit_columns(const Table& table, TableView& view) {
  auto* drawn = ImGui::GetCurrentTable();
  auto* storage = ImGui::GetStateStorage();
  const auto rows = static_cast<int>(table.rows());
  if (storage->GetInt(drawn->ID, -1) == rows && !std::exchange(view.refit, false)) return;
  storage->SetInt(drawn->ID, rows);
  ImGui::TableSetColumnWidthAutoAll(drawn);
}

// The largest number that any bar shows.
double scale_of_bars(const Table& table, const TableOptions& options) {
  double most = 0;
  for (const auto& bar : options.bars) {
    const auto column = table.column(bar.key);
    for (std::size_t row = 0; row < table.rows(); ++row) {
      const double value = table.number(row, column);
      if (value > most) most = value;
    }
  }
  return most;
}

void draw_bar(const Table& table, const TableOptions& options, double most, std::size_t row,
              std::size_t column) {
  const auto& key = table.columns()[column].key;
  const auto bar = std::find_if(options.bars.begin(), options.bars.end(),
                                [&](const TableBar& one) { return one.key == key; });
  const double value = bar == options.bars.end() ? 0 : table.number(row, column);
  if (!(value > 0) || !(most > 0)) return;
  const auto low = ImGui::GetCursorScreenPos();
  const float width = ImGui::GetContentRegionAvail().x * static_cast<float>(value / most);
  ImGui::GetWindowDrawList()->AddRectFilled(
      {low.x, low.y}, {low.x + std::max(1.0F, width), low.y + ImGui::GetTextLineHeight()},
      packed(bar->colour));
}

void draw_cell(const Ui& ui, const Table& table, const TableOptions& options, std::size_t row,
               std::size_t column) {
  const auto& about = table.columns()[column];
  if (about.key == options.verdict) return verdict_text(ui, table.text(row, column));
  if (about.kind != CellKind::kText) {
    const auto text = table.cell(row, column);
    if (text == kNotKnown) ImGui::PushStyleColor(ImGuiCol_Text, ui.theme.faint);
    right_text(text);
    if (text == kNotKnown) ImGui::PopStyleColor();
    return;
  }
  const auto text = table.text(row, column);
  if (about.key == options.mono) ImGui::PushFont(ui.fonts.mono, 0);
  fitted_text(text);
  if (about.key == options.mono) ImGui::PopFont();
}

void draw_headings(const Table& table) {
  ImGui::TableNextRow(ImGuiTableRowFlags_Headers);
  for (std::size_t i = 0; i < table.columns().size(); ++i) {
    if (!ImGui::TableSetColumnIndex(static_cast<int>(i))) continue;
    const auto& column = table.columns()[i];
    ImGui::PushID(static_cast<int>(i));
    table_heading(column.title.c_str(), column.kind != CellKind::kText);
    ImGui::PopID();
  }
}

// Opened by a right click on the row, which is the last item: what the mouse was over, the row, everything.
void cell_menu(const Ui& ui, const Table& table, std::size_t row) {
  static int column = -1;  // only one menu is ever open
  if (ImGui::IsItemHovered() && ImGui::IsMouseReleased(ImGuiMouseButton_Right))
    column = ImGui::TableGetHoveredColumn();
  if (!ImGui::BeginPopupContextItem("cell")) return;
  std::string copied;
  if (column >= 0 && static_cast<std::size_t>(column) < table.columns().size()) {
    const auto cell = table.cell(row, static_cast<std::size_t>(column));
    if (ImGui::MenuItem(("Copy  " + fitting(cell, 20 * em()) + "###copy_cell").c_str())) copied = cell;
  }
  if (ImGui::MenuItem("Copy the row###copy_row")) {
    for (std::size_t i = 0; i < table.columns().size(); ++i)
      copied.append(i == 0 ? "" : "\t").append(table.cell(row, i));
  }
  if (ImGui::MenuItem("Copy all that is shown, as CSV###copy_all")) copied = to_csv(table);
  if (!copied.empty()) {
    ImGui::SetClipboardText(copied.c_str());
    ui.notices.post(Level::kInfo, "Copied", fitting(copied, 60 * em()));
  }
  ImGui::EndPopup();
}

// All that is left; where that is too little to scroll in, all rows, so that the panel scrolls and not the
// table within it.
float height_of(const Table& table) {
  constexpr float kLeast = 9;  // em
  if (ImGui::GetContentRegionAvail().y >= kLeast * em()) return 0;
  const auto& style = ImGui::GetStyle();
  const float row = ImGui::GetTextLineHeight() + 2 * style.CellPadding.y;
  return static_cast<float>(table.shown().size() + 1) * row + style.ScrollbarSize + 2;
}

// Scrolls so that the chosen row stands in the middle; rows are all of one height.
void reveal(const Table& table, TableView& view, const TableOptions& options) {
  if (view.revealed == options.reveal) return;
  view.revealed = options.reveal;
  if (options.reveal.empty() || !options.chosen) return;
  const auto& shown = table.shown();
  const auto found =
      std::find_if(shown.begin(), shown.end(), [&](std::size_t row) { return options.chosen(row); });
  if (found == shown.end()) return;
  const float height = ImGui::GetTextLineHeight() + 2 * ImGui::GetStyle().CellPadding.y;
  ImGui::SetScrollY(static_cast<float>(found - shown.begin()) * height - ImGui::GetWindowHeight() / 2);
}

}  // namespace

void verdict_text(const Ui& ui, std::string_view word) {
  if (word.empty()) return;
  const auto look = look_of(ui, word);
  const bool loud = word == "fail";
  ImGui::PushStyleColor(ImGuiCol_Text, look.colour);
  if (loud) ImGui::PushFont(ui.fonts.bold, 0);
  const std::string_view shown = loud ? "WRONG NUMBERS" : word;
  ImGui::Text("%s  %.*s", look.icon, static_cast<int>(shown.size()), shown.data());
  if (loud) ImGui::PopFont();
  ImGui::PopStyleColor();
}

void draw_filter(const Ui& ui, Table& table, TableView& view, const char* id) {
  const bool some_left_out =
      std::find(view.left_out.begin(), view.left_out.end(), true) != view.left_out.end();
  const float beside = (some_left_out ? 14 : 11) * em();
  ImGui::SetNextItemWidth(std::min(18 * em(), std::max(5 * em(), ImGui::GetContentRegionAvail().x - beside)));
  std::string hint = icon::kFilter;
  hint.append("  filter");
  if (ImGui::InputTextWithHint(id, hint.c_str(), &view.filter)) table.filter(view.filter);
  if (ImGui::IsItemHovered(ImGuiHoveredFlags_ForTooltip)) {
    std::string text =
        "Words that must be in a row; -word must not be. column:word, or of numbers column>=8, looks there "
        "only. Columns:";
    for (const auto& column : table.columns()) text.append(" ").append(column.key);
    tooltip(text);
  }
  ImGui::SameLine();
  if (ImGui::Button((std::string(icon::kColumns) + "###columns" + id).c_str())) view.choose = true;
  if (ImGui::IsItemHovered(ImGuiHoveredFlags_ForTooltip))
    tooltip("Which columns are shown. A heading that is dragged moves its column.");
  draw_left_out(table, view, id);
  ImGui::SameLine();
  ImGui::AlignTextToFramePadding();
  const auto count = [](std::size_t rows) { return show_count({static_cast<double>(rows)}); };
  auto text = count(table.shown().size());
  if (table.shown().size() < table.rows()) text.append(" of ").append(count(table.rows()));
  ImGui::PushStyleColor(ImGuiCol_Text, ui.theme.faint);
  ImGui::TextUnformatted(text.append(table.rows() == 1 ? " row" : " rows").c_str());
  ImGui::PopStyleColor();
  if (table.filter_fault().empty()) return;
  badge(ui, Level::kWarning, table.filter_fault());
}

std::optional<std::size_t> draw_table(const Ui& ui, Table& table, TableView& view,
                                      const TableOptions& options) {
  constexpr auto kFlags = ImGuiTableFlags_Sortable | ImGuiTableFlags_SortTristate |
                          ImGuiTableFlags_Resizable | ImGuiTableFlags_Reorderable | ImGuiTableFlags_Hideable |
                          ImGuiTableFlags_ScrollX | ImGuiTableFlags_ScrollY | ImGuiTableFlags_RowBg |
                          ImGuiTableFlags_BordersInnerV | ImGuiTableFlags_SizingFixedFit;
  std::optional<std::size_t> clicked;
  const float height = options.height > 0 ? options.height : height_of(table);
  if (!ImGui::BeginTable(options.id, static_cast<int>(table.columns().size()), kFlags, {0, height}))
    return clicked;
  leave_out_columns(table, view);
  for (const auto& column : table.columns()) {
    ImGuiTableColumnFlags flags = ImGuiTableColumnFlags_None;
    if (column.kind != CellKind::kText) flags |= ImGuiTableColumnFlags_PreferSortDescending;
    // Room for what says something.
    const auto index = static_cast<std::size_t>(&column - table.columns().data());
    if (index > 0 && table.rows() > 0 && table.is_empty(index)) flags |= ImGuiTableColumnFlags_Disabled;
    if (!view.all && index < view.left_out.size() && view.left_out[index])
      flags |= ImGuiTableColumnFlags_Disabled;
    if (&column == &table.columns().front()) flags |= ImGuiTableColumnFlags_NoHide;  // what is clicked
    ImGui::TableSetupColumn(column.title.c_str(), flags);
  }
  ImGui::TableSetupScrollFreeze(1, 1);
  fit_columns(table, view);
  apply_sorting(table);
  if (std::exchange(view.choose, false)) ImGui::TableOpenContextMenu(-1);
  draw_headings(table);
  reveal(table, view, options);
  const double most = options.bars.empty() ? 0 : scale_of_bars(table, options);
  ImGuiListClipper clipper;
  clipper.Begin(static_cast<int>(table.shown().size()));
  while (clipper.Step()) {
    for (int i = clipper.DisplayStart; i < clipper.DisplayEnd; ++i) {
      const std::size_t row = table.shown()[static_cast<std::size_t>(i)];
      ImGui::TableNextRow();
      ImGui::PushID(static_cast<int>(row));
      for (std::size_t column = 0; column < table.columns().size(); ++column) {
        if (!ImGui::TableSetColumnIndex(static_cast<int>(column))) continue;
        if (column == 0) {
          const bool chosen = options.chosen && options.chosen(row);
          constexpr auto kRow = ImGuiSelectableFlags_SpanAllColumns | ImGuiSelectableFlags_AllowOverlap;
          if (ImGui::Selectable("##row", chosen, kRow)) clicked = row;
          cell_menu(ui, table, row);
          if (options.tip && ImGui::IsItemHovered(ImGuiHoveredFlags_ForTooltip)) tooltip(options.tip(row));
          ImGui::SameLine(0, 0);
        }
        if (!options.bars.empty()) draw_bar(table, options, most, row, column);
        draw_cell(ui, table, options, row, column);
      }
      ImGui::PopID();
    }
  }
  ImGui::EndTable();
  return clicked;
}

}  // namespace wide::gui
