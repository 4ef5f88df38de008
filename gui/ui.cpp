#include "gui/ui.h"

#include <imgui_internal.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdio>

#include "gui/icons.h"

namespace wide::gui {
namespace {

std::string three_figures(double value, const char* unit) {
  const double magnitude = std::abs(value);
  const char* format = magnitude >= 99.95 || magnitude == 0 ? "%.0f%s%s"
                       : magnitude >= 9.995                 ? "%.1f%s%s"
                                                            : "%.2f%s%s";
  std::array<char, 64> text{};
  std::snprintf(text.data(), text.size(), format, value, *unit == '\0' ? "" : " ", unit);
  return text.data();
}

struct Unit {
  double size;
  const char* name;
};

std::string scaled(double value, std::initializer_list<Unit> units) {
  if (!std::isfinite(value) || value < 0) return "–";
  for (const auto& unit : units) {
    if (value >= unit.size * 0.9995) return three_figures(value / unit.size, unit.name);
  }
  const auto& least = *(units.end() - 1);
  return three_figures(value / least.size, least.name);
}

const ImVec4& colour_of(const Theme& theme, Level level) {
  switch (level) {
    case Level::kError:
      return theme.bad;
    case Level::kWarning:
      return theme.warning;
    case Level::kInfo:
      return theme.good;
    case Level::kDebug:
      break;
  }
  return theme.neutral;
}

const char* icon_of(Level level) {
  switch (level) {
    case Level::kError:
      return icon::kCross;
    case Level::kWarning:
      return icon::kWarning;
    case Level::kInfo:
      return icon::kCheck;
    case Level::kDebug:
      break;
  }
  return icon::kInfo;
}

}  // namespace

bool command_button(const Ui& ui, std::string_view command, const char* label, const std::string& argument) {
  const auto* found = ui.commands.find(command);
  const auto reason = ui.commands.refusal(command);
  std::string text = label ? label : found ? found->title : std::string(command);
  ImGui::BeginDisabled(!reason.empty());
  const bool pressed = ImGui::Button(text.c_str());
  ImGui::EndDisabled();
  if (!reason.empty()) {
    if (ImGui::IsItemHovered(ImGuiHoveredFlags_AllowWhenDisabled | ImGuiHoveredFlags_ForTooltip))
      tooltip(reason);
  } else if (pressed) {
    ui.commands.run(command, argument);
  }
  return pressed;
}

void same_line_if_fits(const char* label) {
  const float width = ImGui::CalcTextSize(label, nullptr, true).x + 2 * ImGui::GetStyle().FramePadding.x;
  ImGui::SameLine();
  if (ImGui::GetContentRegionAvail().x < width) ImGui::NewLine();
}

void empty_state(const Ui& ui, const char* icon, const char* title, const char* text,
                 std::string_view command, const char* button) {
  const auto space = ImGui::GetContentRegionAvail();
  const float width = std::min(space.x - em(), 26 * em());
  const auto centred = [&](const char* line) {
    ImGui::SetCursorPosX(
        ImGui::GetCursorPosX() +
        std::max(0.0F, (ImGui::GetContentRegionAvail().x - ImGui::CalcTextSize(line).x) / 2));
  };
  const float height = ImGui::CalcTextSize(text, nullptr, false, width).y + 7 * em();
  ImGui::SetCursorPosY(ImGui::GetCursorPosY() + std::max(0.0F, (space.y - height) * 0.4F));
  ImGui::PushFont(nullptr, ImGui::GetStyle().FontSizeBase * 2);
  ImGui::PushStyleColor(ImGuiCol_Text, faded(ui.theme.faint, 0.6F));
  centred(icon);
  ImGui::TextUnformatted(icon);
  ImGui::PopStyleColor();
  ImGui::PopFont();
  ImGui::PushFont(ui.fonts.bold, 0);
  centred(title);
  ImGui::TextUnformatted(title);
  ImGui::PopFont();
  const float left = std::max(0.0F, (space.x - std::min(width, ImGui::CalcTextSize(text).x)) / 2);
  ImGui::SetCursorPosX(ImGui::GetCursorPosX() + left);
  ImGui::PushTextWrapPos(ImGui::GetCursorPosX() + width);
  ImGui::PushStyleColor(ImGuiCol_Text, ui.theme.faint);
  ImGui::TextUnformatted(text);
  ImGui::PopStyleColor();
  ImGui::PopTextWrapPos();
  if (command.empty()) return;
  ImGui::Dummy({0, 0.2F * em()});
  const float wide = ImGui::CalcTextSize(button, nullptr, true).x + 2 * ImGui::GetStyle().FramePadding.x;
  ImGui::SetCursorPosX(ImGui::GetCursorPosX() +
                       std::max(0.0F, (ImGui::GetContentRegionAvail().x - wide) / 2));
  ImGui::PushStyleColor(ImGuiCol_Button, faded(ui.theme.accent, 0.35F));
  command_button(ui, command, button);
  ImGui::PopStyleColor();
}

void copy_command_line(const Ui& ui, const std::string& command_line) {
  constexpr const char* kWhole = "\xef\x84\xa0  Copy as command line###copy_line";
  const bool fits = ImGui::CalcTextSize(kWhole, nullptr, true).x + em() < ImGui::GetContentRegionAvail().x;
  if (ImGui::Button(fits ? kWhole : "\xef\x84\xa0  Copy###copy_line")) {
    ImGui::SetClipboardText(command_line.c_str());
    ui.notices.post(Level::kInfo, "Copied", command_line);
  }
  if (ImGui::IsItemHovered(ImGuiHoveredFlags_ForTooltip)) tooltip(command_line);
}

void heading(const Ui& ui, const char* text) {
  ImGui::PushFont(ui.fonts.bold, 0);
  ImGui::SeparatorText(text);
  ImGui::PopFont();
}

void faint_text(const Ui& ui, std::string_view text) {
  ImGui::PushStyleColor(ImGuiCol_Text, ui.theme.faint);
  ImGui::PushTextWrapPos(0);
  ImGui::TextUnformatted(text.data(), text.data() + text.size());
  ImGui::PopTextWrapPos();
  ImGui::PopStyleColor();
}

void right_text(std::string_view text) {
  const float width = ImGui::CalcTextSize(text.data(), text.data() + text.size()).x;
  ImGui::SetCursorPosX(ImGui::GetCursorPosX() + std::max(0.0F, ImGui::GetContentRegionAvail().x - width));
  fitted_text(text);  // a number without its last digits would be another one
}

void table_heading(const char* title, bool number) {
  auto* table = ImGui::GetCurrentTable();
  auto& column = table->Columns[ImGui::TableGetColumnIndex()];
  float shift = 0;
  if (number) {
    const bool sortable =
        (table->Flags & ImGuiTableFlags_Sortable) != 0 && (column.Flags & ImGuiTableColumnFlags_NoSort) == 0;
    // Room for the arrow that ImGui keeps free in every column that can be sorted.
    const float arrow = 0.65F * ImGui::GetFontSize() + ImGui::GetStyle().FramePadding.x;
    const float width = ImGui::CalcTextSize(title, nullptr, true).x + (sortable ? arrow : 0);
    shift = std::max(0.0F, ImGui::GetContentRegionAvail().x - width);
    ImGui::SetCursorPosX(ImGui::GetCursorPosX() + shift);
  }
  ImGui::TableHeader(title);
  column.ContentMaxXHeadersIdeal -= shift;  // the column may still become as narrow as its heading
}

void table_headings(std::initializer_list<int> numbers) {
  ImGui::TableNextRow(ImGuiTableRowFlags_Headers);
  for (int i = 0; i < ImGui::TableGetColumnCount(); ++i) {
    if (!ImGui::TableSetColumnIndex(i)) continue;
    ImGui::PushID(i);
    table_heading(ImGui::TableGetColumnName(i),
                  std::find(numbers.begin(), numbers.end(), i) != numbers.end());
    ImGui::PopID();
  }
}

void badge(const Ui& ui, Level level, std::string_view word) {
  const bool wraps = ImGui::GetCurrentWindow()->DC.TextWrapPos >= 0;
  if (!wraps) ImGui::PushTextWrapPos(0);
  ImGui::PushStyleColor(ImGuiCol_Text, colour_of(ui.theme, level));
  ImGui::Text("%s  %.*s", icon_of(level), static_cast<int>(word.size()), word.data());
  ImGui::PopStyleColor();
  if (!wraps) ImGui::PopTextWrapPos();
}

void progress_bar(const Ui& ui, double fraction, const std::string& text, float width) {
  const float room = width > 0 ? width : ImGui::GetContentRegionAvail().x;
  const auto& style = ImGui::GetStyle();
  const float taken = ImGui::CalcTextSize(text.c_str()).x + style.ItemSpacing.x + style.ItemInnerSpacing.x;
  const bool fits = taken <= room;
  const auto part = static_cast<float>(fraction < 0 ? -ui.now : std::min(fraction, 1.0));
  ImGui::BeginGroup();
  ImGui::ProgressBar(part, {room, 0}, fits ? text.c_str() : "");
  if (!fits) {
    ImGui::PushTextWrapPos(ImGui::GetCursorPosX() + room);
    ImGui::PushStyleColor(ImGuiCol_Text, ui.theme.faint);
    ImGui::TextUnformatted(text.c_str());
    ImGui::PopStyleColor();
    ImGui::PopTextWrapPos();
  }
  ImGui::EndGroup();
}

void tooltip(std::string_view text) {
  if (!ImGui::BeginTooltip()) return;
  ImGui::PushTextWrapPos(30 * em());
  ImGui::TextUnformatted(text.data(), text.data() + text.size());
  ImGui::PopTextWrapPos();
  ImGui::EndTooltip();
}

void row_menu(const Ui& ui, const std::vector<std::string>& cells) {
  if (!ImGui::BeginPopupContextItem()) return;
  std::string row, copied;
  for (const auto& cell : cells) {
    if (cell.empty()) continue;
    row.append(row.empty() ? "" : "\t").append(cell);
    ImGui::PushID(static_cast<int>(&cell - cells.data()));
    if (ImGui::MenuItem(("Copy  " + fitting(cell, 20 * em())).c_str())) copied = cell;
    ImGui::PopID();
  }
  if (ImGui::MenuItem("Copy the row")) copied = row;
  if (!copied.empty()) {
    ImGui::SetClipboardText(copied.c_str());
    ui.notices.post(Level::kInfo, "Copied", copied);
  }
  ImGui::EndPopup();
}

std::string fitting(const std::string& text, float width) {
  if (ImGui::CalcTextSize(text.c_str()).x <= width) return text;
  // By halves: texts may be long.
  std::size_t fits = 0, most = text.size();
  while (fits < most) {
    const auto middle = (fits + most + 1) / 2;
    if (ImGui::CalcTextSize((text.substr(0, middle) + "…").c_str()).x <= width) {
      fits = middle;
    } else {
      most = middle - 1;
    }
  }
  while (fits > 0 && (static_cast<unsigned char>(text[fits]) & 0xC0U) == 0x80) --fits;  // no half a letter
  return text.substr(0, fits) + "…";
}

bool fitted_text(std::string_view text, float width) {
  auto* window = ImGui::GetCurrentWindow();
  if (window->SkipItems) return true;
  const char* begin = text.data();
  const char* end = begin + text.size();
  const auto size = ImGui::CalcTextSize(begin, end);
  const float room = width > 0 ? width : ImGui::GetContentRegionAvail().x;
  const bool fits = size.x <= room + 0.5F;
  // A column asks what it holds how wide it should be, and one long text does not push out all others;
  // elsewhere nothing is wider than its room.
  const float most = ImGui::GetCurrentTable() ? std::max(room, widest_text()) : room;
  const ImVec2 taken(std::min(size.x, most), size.y);
  const ImVec2 at(window->DC.CursorPos.x, window->DC.CursorPos.y + window->DC.CurrLineTextBaseOffset);
  ImGui::ItemSize(taken, 0);
  if (!ImGui::ItemAdd({at, {at.x + taken.x, at.y + taken.y}}, 0)) return fits;
  if (fits) {
    ImGui::RenderText(at, begin, end, false);
  } else {
    ImGui::RenderTextEllipsis(window->DrawList, at, {at.x + room, at.y + size.y}, at.x + room, begin, end,
                              &size);
    if (ImGui::IsItemHovered(ImGuiHoveredFlags_ForTooltip)) tooltip(text);
  }
  return fits;
}

bool begin_combo(const char* id, const std::string& preview, int flags) {
  const float width = ImGui::CalcItemWidth() - 2 * ImGui::GetStyle().FramePadding.x;
  const float arrow = ImGui::GetFrameHeight();
  // The arrow goes before a letter does.
  if (ImGui::CalcTextSize(preview.c_str()).x > width - arrow) flags |= ImGuiComboFlags_NoArrowButton;
  const auto shown = fitting(preview, width);
  const bool open = ImGui::BeginCombo(id, shown.c_str(), flags);
  if (!open && shown != preview && ImGui::IsItemHovered(ImGuiHoveredFlags_ForTooltip)) tooltip(preview);
  return open;
}

bool combo(const char* id, int& which, std::initializer_list<const char*> names) {
  bool changed = false;
  if (!begin_combo(id, names.begin()[which])) return false;
  int index = 0;
  for (const char* name : names) {
    if (ImGui::Selectable(name, index == which)) changed = index != which, which = index;
    ++index;
  }
  ImGui::EndCombo();
  return changed;
}

std::string time_text(double microseconds) {
  return scaled(microseconds, {{1e6, "s"}, {1e3, "ms"}, {1, "µs"}, {1e-3, "ns"}});
}

std::string time_text(double microseconds, bool measured) {
  return (measured ? "" : "~") + time_text(microseconds);
}

std::string bytes_text(double bytes) {
  return scaled(bytes, {{1e12, "TB"}, {1e9, "GB"}, {1e6, "MB"}, {1e3, "kB"}, {1, "B"}});
}

std::string count_text(double count) {
  return scaled(count, {{1e12, "T"}, {1e9, "G"}, {1e6, "M"}, {1e3, "k"}, {1, ""}});
}

std::string ratio_text(double ratio, double low, double high) {
  if (!std::isfinite(ratio)) return "–";
  auto text = three_figures(ratio, "");
  text += "×";
  if (low <= high)
    text.append(" [").append(three_figures(low, "")).append(", ").append(three_figures(high, "")).append("]");
  return text;
}

}  // namespace wide::gui
