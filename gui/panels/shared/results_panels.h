#pragma once
// Sweep, profile and history, made and added to the window.

#include "gui/panels/history/history_panel.h"
#include "gui/panels/profile/profile_panel.h"
#include "gui/panels/sweep/sweep_panel.h"

namespace wide::gui {

struct ResultsPanels {
  std::shared_ptr<Records> records = std::make_shared<Records>();
  std::shared_ptr<SweepPanel> sweep = std::make_shared<SweepPanel>();
  std::shared_ptr<ProfilePanel> profile = std::make_shared<ProfilePanel>();
  std::shared_ptr<HistoryPanel> history = std::make_shared<HistoryPanel>();
};

/// With the database of the host, or else the default one; none in demo mode, which shows samples. Their
/// state is bench.results.
void add_results_panels(Workbench& bench);

}  // namespace wide::gui
