#include "gui/panels/tries_panel.h"

#include "formats/error.h"
#include "gui/icons.h"
#include "gui/panels/shared/choices.h"
#include "gui/panels/shared/results_panels.h"
#include "gui/views/child.h"
#include "results/table.h"

namespace wide::gui {
namespace {

// The open model with what is chosen, a case of a run of its own.
std::vector<std::string> words_of(const Workbench& bench) {
  const auto& session = bench.session;
  const auto& source = session.model->source;
  SweepForm form{.preset = kSubjectSizes};
  if (source.subject.empty()) {
    form.model = source.models.front(), form.weights = source.weights;
  } else {
    form.subjects = {source.subject};
  }
  form.n = {static_cast<std::int64_t>(session.model->members.size())};
  if (const auto word = strategy_word(session.wish); word != "auto") form.strategies = {word};
  if (session.wish.mode != "eager") form.modes = {session.wish.mode};
  form.rivals = {"eager"};
  form.label = "try: " + name(session.wish);
  form.database = bench.results->records->database.string();
  return arguments(form);
}

void measure_try(const std::shared_ptr<TriesPanel>& panel, Workbench& bench) {
  auto& session = bench.session;
  if (session.edited()) note_try(session.tries, session.estimated());
  auto words = words_of(bench);
  words.insert(words.begin(), bench.host.program);
  const auto& records = bench.results->records;
  panel->job = bench.jobs.start(Lane::kMeasure, "Measuring a pass: " + name(session.wish),
                                [&bench, records, words, database = records->database, wish = session.wish,
                                 source = session.model->source](const JobContext& context) -> Apply {
                                  SweepProgress progress;
                                  ChildTask task{.argv = words};
                                  task.cancelled = [&context] { return context.cancelled(); };
                                  task.line = [&](const std::string& line) {
                                    if (take_line(line, progress)) context.progress(-1, progress.last);
                                  };
                                  const auto end = run_child(task);
                                  if (end.cancelled) throw JobCancelled();
                                  if (progress.run == 0) throw Error("measure", complaint(end));
                                  const auto run =
                                      std::make_shared<RunData>(read_run(database, progress.run));
                                  if (run->cases.empty()) throw Error("measure", complaint(end));
                                  return [&bench, records, wish, source, run] {
                                    ++records->revision;
                                    auto& now = bench.session;
                                    if (!now.model || !(now.model->source == source))
                                      return;  // another model was opened
                                    note_measured(now.tries, wish, run->cases.front(), run->run.id);
                                    if (now.edited() && now.wish == wish) bench.build();
                                  };
                                });
}

std::string cannot_try(const Workbench& bench) {
  if (!bench.session.model) return "no model is open";
  if (bench.session.model->source.models.size() > 1) return "several .pt2 files are not measured as one";
  if (bench.host.program.empty()) return "this window was not started by the program that measures";
  if (bench.results->records->database.empty()) return "there is no place to keep results; set HOME";
  return "";
}

// Made anew when something was tried or measured.
void keep_up(TriesPanel& panel, const std::vector<Try>& tries) {
  const auto same = [](const Try& a, const Try& b) {
    return a.wish == b.wish && a.run == b.run && a.built == b.built && a.predicted_us == b.predicted_us;
  };
  if (panel.table && std::equal(tries.begin(), tries.end(), panel.shown.begin(), panel.shown.end(), same))
    return;
  panel.shown = tries;
  panel.table = tries_table(tries);
  panel.compared.reset();
  panel.view.refit = panel.compared_view.refit = true;
  const auto last = tries.empty() ? 0 : tries.size() - 1;
  panel.first = std::min(panel.first, last), panel.second = std::min(panel.second, last);
}

void draw_two(TriesPanel& panel, const Ui& ui) {
  const auto &first = panel.shown[panel.first], &second = panel.shown[panel.second];
  if (!panel.compared) panel.compared = tries_compared(first, second);
  heading(ui,
          (results::printable(name(first.wish), 60) + "  to  " + results::printable(name(second.wish), 60))
              .c_str());
  TableOptions options;
  options.id = "##compared";
  options.chosen = [&](std::size_t row) {
    return panel.compared->text(row, 0) == ui.selection.node && !ui.selection.node.empty();
  };
  if (const auto row = draw_table(ui, *panel.compared, panel.compared_view, options))
    ui.selection.choose_node(std::string(panel.compared->text(*row, 0)));
}

}  // namespace

void add_commands(const std::shared_ptr<TriesPanel>& panel, Workbench& bench) {
  bench.commands.add({.id = "tries.measure",
                      .title = "Build what is chosen and measure a pass",
                      .menu = "Run",
                      .icon = icon::kClock,
                      .run = [panel, &bench](const std::string&) { measure_try(panel, bench); },
                      .refuse = [&bench] { return cannot_try(bench); }});
  bench.commands.add(
      {.id = "tries.take",
       .title = "Choose what the marked try has",
       .icon = icon::kReset,
       .run = [panel,
               &bench](const std::string&) { bench.session.wish = bench.session.tries[panel->first].wish; },
       .refuse =
           [panel, &bench] {
             const auto& tries = bench.session.tries;
             if (panel->first >= tries.size()) return "no try is marked";
             return tries[panel->first].wish == bench.session.wish ? "it is what is chosen now" : "";
           }});
}

void draw(TriesPanel& panel, Workbench& bench, const Ui& ui) {
  keep_up(panel, bench.session.tries);
  command_button(ui, "tries.measure", "\xef\x80\x97  Build and measure a pass###measure_try");
  beside("\xef\x8b\xaa  Take the marked one###take");
  command_button(ui, "tries.take", "\xef\x8b\xaa  Take the marked one###take");
  faint_text(ui, "A row a choice. Click one; Ctrl+click another to compare both node by node.");
  TableOptions options;
  options.id = "##tries";
  options.chosen = [&](std::size_t row) { return row == panel.first || row == panel.second; };
  options.tip = [&](std::size_t row) {
    return name(panel.shown[row].wish) + "\n" +
           std::string(panel.table->text(row, panel.table->column("state")));
  };
  const bool two = panel.first != panel.second;
  if (two) {
    const float line = ImGui::GetTextLineHeightWithSpacing();
    options.height = std::min(0.45F * ImGui::GetContentRegionAvail().y,
                              (static_cast<float>(panel.shown.size()) + 2.5F) * line);
    options.height = std::max(options.height, 5 * line);
  }
  if (const auto row = draw_table(ui, *panel.table, panel.view, options)) {
    (ImGui::GetIO().KeyCtrl ? panel.second : panel.first) = *row;
    if (!ImGui::GetIO().KeyCtrl) panel.second = *row;
    panel.compared.reset();
  }
  if (two) draw_two(panel, ui);
}

}  // namespace wide::gui
