#pragma once
// The history of runs: find, note, compare, follow.

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "gui/panels/shared/over_n_plot.h"
#include "gui/panels/shared/records.h"
#include "gui/panels/shared/snapshot.h"
#include "gui/panels/shared/table_view.h"
#include "gui/views/dashboard.h"
#include "gui/views/forest.h"
#include "gui/views/history_data.h"
#include "gui/workbench.h"
#include "results/trend.h"

namespace wide::gui {

enum class HistoryTab : std::uint8_t { kRun, kCompare, kOverN, kTrend, kDashboard };

struct HistoryPanel {
  std::shared_ptr<Records> records;
  std::shared_ptr<HistoryData> data;  ///< null: not read yet
  std::uint64_t read = 0;             ///< revision of the records that was read
  bool asked = false;                 ///< a reading is under way
  std::uint64_t reading = 0;          ///< the job of the last one; 0: there was none
  double looked = 0;                  ///< Ui::now when others were last looked for who stored something
  std::string fault;                  ///< why it could not be read; empty: it could

  std::shared_ptr<RunData> run;  ///< the run that is looked at; null: none
  std::vector<CompareData> comparisons;
  std::vector<std::int64_t> compared;  ///< runs that `comparisons` are of, the first one the base
  std::size_t comparison = 0;          ///< which of them is shown
  bool across_machines = false;
  bool forest = false;                        ///< the comparison as a plot, else as a table
  std::vector<ForestRow> forest_rows;         ///< of the comparison that is shown, as its table shows them
  const CompareData* forest_of = nullptr;     ///< that these are of; null: to be made anew
  std::vector<std::uint32_t> forest_of_rows;  ///< and of what its table showed

  std::vector<PinnedSubject> pinned;   ///< cards of the dashboard
  std::vector<std::string> pinned_of;  ///< subjects that were asked for
  std::uint64_t pinned_read = 0;       ///< revision of the records that they are of

  std::vector<std::shared_ptr<RunData>> laid_over;  ///< runs whose curves over N are shown together
  std::vector<std::int64_t> laid_over_of;           ///< as they were asked for
  std::string laid_over_subject;                    ///< the only one that is plotted; empty: all
  OverNPlot over_n;
  results::Trend trend;    ///< of `subject`
  std::string subject;     ///< empty: none chosen
  std::size_t series = 0;  ///< which one is drawn
  TableView runs, cases, changes;
  std::string tag, note;  ///< as typed
  std::optional<HistoryTab> raise;
  bool low = false;       ///< there is no room for the runs above the tabs: they are a tab
  bool deleting = false;  ///< the question is to be asked
  std::string replacing;  ///< the baseline of other runs that is to be asked about; empty: none
  Snapshot trend_picture, forest_picture;
};

void draw(HistoryPanel& panel, Workbench& bench, const Ui& ui);
void add_commands(const std::shared_ptr<HistoryPanel>& panel, Workbench& bench);

// Jobs; all show what they read when they are done.
void read_runs(const std::shared_ptr<HistoryPanel>& panel, Workbench& bench);
void look_at(const std::shared_ptr<HistoryPanel>& panel, Workbench& bench, std::int64_t run);
void compare_chosen(const std::shared_ptr<HistoryPanel>& panel, Workbench& bench);
/// Reads the chosen runs, or else the one that is looked at, to lay their curves over one another.
void lay_over(const std::shared_ptr<HistoryPanel>& panel, Workbench& bench);
/// What is plotted over N, made anew of the runs that were read.
void plot_laid_over(HistoryPanel& panel);
void show_trend(const std::shared_ptr<HistoryPanel>& panel, Workbench& bench, const std::string& subject);
/// Reads what the dashboard shows of these subjects.
void read_dashboard(const std::shared_ptr<HistoryPanel>& panel, Workbench& bench);
/// Does something to the store, then reads anew.
void change(const std::shared_ptr<HistoryPanel>& panel, Workbench& bench, const std::string& title,
            std::function<void(results::Store&)> act);

void draw_run(HistoryPanel& panel, const Ui& ui);
void draw_comparison(HistoryPanel& panel, const Ui& ui);
void draw_forest(HistoryPanel& panel, const Ui& ui, const CompareData& data);
void draw_over_n_tab(HistoryPanel& panel, const Ui& ui);
void draw_trend(HistoryPanel& panel, const Ui& ui);
void draw_dashboard(HistoryPanel& panel, const Ui& ui);

}  // namespace wide::gui
