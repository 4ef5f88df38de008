#pragma once
// Which columns of a table there is room for: sideways scrolling is the last resort.

#include "gui/panels/shared/table_view.h"

namespace wide::gui {

/// As ImGui::BeginTable(), for a table whose number of columns hangs on the room: with another number it is a
/// new one, where the library would keep each width for the column that stands in that place now.
bool begin_table(const char* id, int columns, ImGuiTableFlags flags = 0, ImVec2 size = {0, 0});
/// To be called within the table, before its columns are set up. Updates `view.left_out`.
void leave_out_columns(const Table& table, TableView& view);
/// A button that shows the columns that are left out, and one that leaves them out again; nothing where all
/// have room.
void draw_left_out(const Table& table, TableView& view, const char* id);

}  // namespace wide::gui
