#pragma once
// Measures subjects or the open model over N, and shows what came out.

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "gui/panels/shared/choices.h"
#include "gui/panels/shared/over_n_plot.h"
#include "gui/panels/shared/records.h"
#include "gui/panels/shared/table_view.h"
#include "gui/views/history_data.h"
#include "gui/views/sweep_form.h"
#include "gui/views/sweep_progress.h"
#include "gui/views/sweep_rows.h"
#include "gui/workbench.h"

namespace wide::gui {

struct SweepPanel {
  std::shared_ptr<Records> records;

  // The form.
  SweepForm form;
  std::string counts;                ///< as typed; form.n where it can be read
  bool open_model = true;            ///< measure the open model instead of subjects, where there is one
  ModelSource model;                 ///< that was open when the form was last drawn
  std::string pasted;                ///< a command line to read
  std::string fault;                 ///< what is wrong with the form; empty: nothing
  std::size_t cases = 0;             ///< that the form makes; 0: not known
  std::optional<SweepForm> counted;  ///< form that `fault` and `cases` are of
  std::vector<app::SubjectInfo> subjects;
  std::vector<Choice> presets;

  bool fold = false;       ///< the form makes room for what is measured
  bool open_gate = false;  ///< the form is to be unfolded, and the part about the gate

  // What runs.
  std::uint64_t job = 0;
  SweepProgress progress;

  // What is shown.
  std::shared_ptr<RunData> run;  ///< null: nothing was measured yet
  OverNPlot plot;
  std::size_t broken = 0;        ///< cases that failed their proof or could not run
  std::size_t unreliable = 0;    ///< cases that passed and whose times allow no verdict
  std::string counted_verdicts;  ///< "pass 41, fail 2"
  GateSaid gate;                 ///< of the run that was held against a baseline last
  std::string gated_against;     ///< that baseline
  bool asked = false;            ///< whether the newest run of the database was looked for
  std::string subject;           ///< of which it was looked for; empty: of any
  bool built_in = false;         ///< that subject is
  std::uint64_t reading = 0;     ///< the job that reads a run of it; 0: none did
  std::uint64_t looked = 0;      ///< revision of the records by which the run that is shown was still there
  TableView view;
};

void draw(SweepPanel& panel, Workbench& bench, const Ui& ui);
void add_commands(const std::shared_ptr<SweepPanel>& panel, Workbench& bench);

/// The form as it will be measured: with the open model where that is wanted, and the database.
SweepForm form_of(const SweepPanel& panel, const Workbench& bench);
/// Counts cases and finds faults where the form has changed.
void check_form(SweepPanel& panel, const Workbench& bench);
/// Takes over a command line. Returns what could not be understood.
std::string take_command(SweepPanel& panel, const std::string& line);

/// The form as a command line to be kept, and back; whether the open model is measured goes with it.
std::string kept_form(const SweepPanel& panel);
void take_kept_form(SweepPanel& panel, const std::string& kept);

void start_sweep(const std::shared_ptr<SweepPanel>& panel, Workbench& bench);
/// Measures what is left of a stored run.
void resume_sweep(const std::shared_ptr<SweepPanel>& panel, Workbench& bench, std::int64_t run);
/// Why nothing can be measured now; empty: it can.
std::string cannot_measure(const SweepPanel& panel, const Workbench& bench);
/// Whether the run that is shown has cases of it.
bool shows(const SweepPanel& panel, const std::string& subject, bool built_in);
/// Reads a run on a job and shows it; 0: the newest of what is to be measured, or none.
void load_run(const std::shared_ptr<SweepPanel>& panel, Workbench& bench, std::int64_t run);
/// Shows the newest run where the one that is shown was deleted.
void look_again(const std::shared_ptr<SweepPanel>& panel, Workbench& bench);
void show_run(SweepPanel& panel, std::shared_ptr<RunData> run);
/// What is plotted, made anew of the run that is shown.
void plot_run(SweepPanel& panel);

void draw_form(SweepPanel& panel, Workbench& bench, const Ui& ui);
void draw_gate_form(SweepPanel& panel, Workbench& bench, const Ui& ui);
/// Of the run that is shown; nothing where it was held against none.
void draw_gate_verdict(const SweepPanel& panel, Workbench& bench, const Ui& ui);

}  // namespace wide::gui
