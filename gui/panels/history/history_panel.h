#pragma once
// The history of runs: find, note, compare, follow.

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "gui/panels/shared/records.h"
#include "gui/panels/shared/save_dialog.h"
#include "gui/panels/shared/snapshot.h"
#include "gui/panels/shared/table_view.h"
#include "gui/views/history_data.h"
#include "gui/workbench.h"
#include "results/trend.h"

namespace wide::gui {

enum class HistoryTab : std::uint8_t { kRun, kCompare, kTrend };

struct HistoryPanel {
  std::shared_ptr<Records> records;
  std::shared_ptr<HistoryData> data;  ///< null: not read yet
  std::uint64_t read = 0;             ///< revision of the records that was read
  bool asked = false;                 ///< a reading is under way
  std::string fault;                  ///< why it could not be read; empty: it could

  std::shared_ptr<RunData> run;  ///< the run that is looked at; null: none
  std::vector<CompareData> comparisons;
  std::vector<std::int64_t> compared;  ///< runs that `comparisons` are of, the first one the base
  std::size_t comparison = 0;          ///< which of them is shown
  bool across_machines = false;
  results::Trend trend;    ///< of `subject`
  std::string subject;     ///< empty: none chosen
  std::size_t series = 0;  ///< which one is drawn
  TableView runs, cases, changes;
  std::string tag, note;  ///< as typed
  std::optional<HistoryTab> raise;
  bool deleting = false;  ///< the question is to be asked
  std::string replacing;  ///< the baseline of other runs that is to be asked about; empty: none
  SaveDialog save;
  Snapshot picture;
};

void draw(HistoryPanel& panel, Workbench& bench, const Ui& ui);
void add_commands(const std::shared_ptr<HistoryPanel>& panel, Workbench& bench);

// Jobs; all show what they read when they are done.
void read_runs(const std::shared_ptr<HistoryPanel>& panel, Workbench& bench);
void look_at(const std::shared_ptr<HistoryPanel>& panel, Workbench& bench, std::int64_t run);
void compare_chosen(const std::shared_ptr<HistoryPanel>& panel, Workbench& bench);
void show_trend(const std::shared_ptr<HistoryPanel>& panel, Workbench& bench, const std::string& subject);
/// Does something to the store, then reads anew.
void change(const std::shared_ptr<HistoryPanel>& panel, Workbench& bench, const std::string& title,
            std::function<void(results::Store&)> act);

void draw_run(HistoryPanel& panel, const Ui& ui);
void draw_comparison(HistoryPanel& panel, const Ui& ui);
void draw_trend(HistoryPanel& panel, const Ui& ui);

}  // namespace wide::gui
