#pragma once
// Which columns of a table there is room for: sideways scrolling is the last resort.

#include "gui/panels/shared/table_view.h"

namespace wide::gui {

/// To be called within the table, before its columns are set up. Updates `view.left_out`.
void leave_out_columns(const Table& table, TableView& view);
/// A button that shows the columns that are left out, and one that leaves them out again; nothing where all
/// have room.
void draw_left_out(const Table& table, TableView& view, const char* id);

}  // namespace wide::gui
