#pragma once
// The tries on the open model as a table; any two of them node by node.

#include <cstdint>
#include <optional>

#include "gui/panels/shared/table_view.h"
#include "gui/workbench.h"

namespace wide::gui {

struct TriesPanel {
  TableView view, compared_view;
  std::optional<Table> table, compared;  ///< nothing: to be made anew
  std::vector<Try> shown;                ///< that `table` is of
  std::size_t first = 0;                 ///< rows that are compared; second: none where it is equal
  std::size_t second = 0;
  std::uint64_t job = 0;
};

void add_commands(const std::shared_ptr<TriesPanel>& panel, Workbench& bench);
void draw(TriesPanel& panel, Workbench& bench, const Ui& ui);

}  // namespace wide::gui
