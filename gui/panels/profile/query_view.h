#pragma once
// The events of the open profile, asked in SQL.

#include <memory>
#include <string>

#include "gui/panels/shared/table_view.h"
#include "gui/workbench.h"
#include "results/event_query.h"

namespace wide::gui {

struct ProfilePanel;

struct QueryPanel {
  std::string text =
      "SELECT name, count(*) AS calls, sum(own_us) AS us\nFROM events WHERE work AND capture = 'wide'\nGROUP "
      "BY name ORDER BY us DESC";
  std::shared_ptr<results::EventQuery> events;  ///< null: to be filled
  std::shared_ptr<Table> answer;                ///< null: nothing was asked
  std::string fault;                            ///< what was wrong with what was asked last
  bool more = false;                            ///< rows were left out
  std::uint64_t job = 0;
  TableView view;
};

void add_query_commands(const std::shared_ptr<ProfilePanel>& panel, Workbench& bench);
void draw_query(ProfilePanel& panel, const Ui& ui);

}  // namespace wide::gui
