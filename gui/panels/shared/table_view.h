#pragma once
// A Table on the screen: headings that sort, a filter, rows that can be chosen. A frame draws visible rows
// only.

#include <functional>
#include <optional>
#include <string>

#include "gui/ui.h"
#include "gui/views/table.h"

namespace wide::gui {

/// What the person has done to one table; beside it in the panel.
struct TableView {
  std::string filter;
  std::string revealed;  ///< TableOptions::reveal that was scrolled to
  bool refit = false;    ///< cells were changed: columns are to be made as wide as they are
  bool choose = false;   ///< offers which columns are shown, in the next frame
  bool all = false;      ///< columns for which there is no room, too: the table scrolls sideways
  // Kept between frames.
  std::vector<float> widths;   ///< that columns want, pixels
  std::size_t measured = 0;    ///< rows when they were measured
  float measured_em = 0;       ///< size of the text then
  std::vector<bool> left_out;  ///< columns for which there is no room
};

/// A column of numbers with a bar behind each; all such columns of a table have one scale.
struct TableBar {
  std::string key;
  ImVec4 colour;
};

struct TableOptions {
  const char* id = "##table";
  std::string verdict;                              ///< key of the column of verdict words; empty: none
  std::string mono;                                 ///< key of a column in the font for code
  std::function<bool(std::size_t row)> chosen;      ///< shown as selected; may be empty
  std::function<std::string(std::size_t row)> tip;  ///< tooltip of a row; may be empty
  /// The row that `chosen` marks comes into view when this changes: "" stands for no row.
  std::string reveal;
  float height = 0;  ///< pixels; 0: all that is left
  std::vector<TableBar> bars = {};
};

/// Filter line with what could not be understood, how many rows are shown, and a button for which columns
/// are: the window keeps them with its layout.
void draw_filter(const Ui& ui, Table& table, TableView& view, const char* id = "##filter");

/// The row that was clicked in this frame. A right click copies a cell, a row or all that is shown.
std::optional<std::size_t> draw_table(const Ui& ui, Table& table, TableView& view,
                                      const TableOptions& options);

/// A verdict as icon and word in the colour of its meaning; "fail" becomes "WRONG NUMBERS".
void verdict_text(const Ui& ui, std::string_view word);

}  // namespace wide::gui
