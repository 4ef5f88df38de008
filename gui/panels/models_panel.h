#pragma once
// What is open, what it takes, and what else could be opened.

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "gui/workbench.h"

namespace wide::gui {

struct ModelsPanel {
  std::int64_t copies = 4;     ///< members of the next built-in subject or model without checkpoints
  std::int64_t memory_n = 32;  ///< for how many members memory is shown
  std::string filter;          ///< of the built-in subjects
  /// Built in; asked for once: all their graphs are built for it.
  std::optional<std::vector<app::SubjectInfo>> subjects;
};

void draw(ModelsPanel& panel, Workbench& bench, const Ui& ui);

}  // namespace wide::gui
