#pragma once
// Work that goes on, and the log of what happened.

#include <cstdint>
#include <string>

#include "gui/ui.h"

namespace wide::gui {

struct JobsPanel {};
struct LogPanel {
  int least = 1;  ///< Level shown at least: 0 debug … 3 error
  std::string filter;
  std::uint64_t seen = 0;  ///< revision of the log that was scrolled to
};

void draw(JobsPanel& panel, const Ui& ui);
void draw(LogPanel& panel, const Ui& ui);

}  // namespace wide::gui
