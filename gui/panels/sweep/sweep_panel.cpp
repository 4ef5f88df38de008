#include "gui/panels/sweep/sweep_panel.h"

#include <algorithm>

#include "gui/icons.h"
#include "gui/panels/shared/plot_export.h"
#include "gui/views/quantity.h"
#include "results/reliability.h"
#include "results/table.h"

namespace wide::gui {
namespace {

void draw_actions(SweepPanel& panel, const Ui& ui) {
  const auto job = ui.jobs.find(panel.job);
  const bool running = job && job->state < JobState::kDone;
  if (running) {
    command_button(ui, "sweep.cancel", "\xef\x81\x8d  Cancel###cancel");
  } else {
    std::string label = icon::kRun;
    label.append("  Start");
    if (panel.cases > 0)
      label.append(": ")
          .append(show_count({static_cast<double>(panel.cases)}))
          .append(panel.cases == 1 ? " case" : " cases");
    if (!panel.form.gate.baseline.empty()) label.append(", then the gate");
    ImGui::PushStyleColor(ImGuiCol_Button, faded(ui.theme.accent, 0.35F));
    command_button(ui, "sweep.start", label.append("###start").c_str());
    ImGui::PopStyleColor();
    beside("Resume###resume");
    command_button(ui, "sweep.resume", "Resume###resume");
  }
  beside("\xef\x84\xa0  Copy as command line###copy");
  command_button(ui, "sweep.copy_command", "\xef\x84\xa0  Copy as command line###copy");
  if (!running && !panel.fault.empty()) badge(ui, Level::kWarning, panel.fault);
  if (!running) return;
  progress_bar(ui, std::max(0.0, panel.progress.fraction()), panel.progress.text());
  if (!panel.progress.last.empty()) faint_text(ui, panel.progress.last);
}

void draw_exports(const Ui& ui) {
  if (ImGui::Button("\xef\x95\xae  Table###export")) ImGui::OpenPopup("exports");
  if (!ImGui::BeginPopup("exports")) return;
  for (const char* id : {"sweep.export_csv", "sweep.export_json"}) {
    const auto* command = ui.commands.find(id);
    if (command != nullptr &&
        ImGui::MenuItem(command->title.c_str(), nullptr, false, ui.commands.refusal(id).empty()))
      ui.commands.run(id);
  }
  ImGui::EndPopup();
}

void draw_headline(SweepPanel& panel, Workbench& bench, const Ui& ui) {
  const auto& run = panel.run->run;
  ImGui::AlignTextToFramePadding();
  ImGui::PushFont(ui.fonts.bold, 0);
  std::string title = run.id > 0 ? "run " + std::to_string(run.id) : "sample, not measured";
  ImGui::TextUnformatted(title.c_str());
  ImGui::PopFont();
  ImGui::SameLine();
  std::string about(results::name(run.status));
  if (!panel.counted_verdicts.empty()) about.append(", ").append(panel.counted_verdicts);
  ImGui::PushStyleColor(ImGuiCol_Text, ui.theme.faint);
  ImGui::TextUnformatted(about.c_str());
  ImGui::PopStyleColor();
  beside(11 * em());
  if (choose_over_n(panel.plot)) plot_run(panel);
  draw_plot_exports(ui, "sweep.plot");
  beside("\xef\x95\xae  Table");
  draw_exports(ui);
  draw_gate_verdict(panel, bench, ui);
  if (panel.unreliable > 0) {
    std::string text = show_count({static_cast<double>(panel.unreliable)});
    text.append(panel.unreliable == 1 ? " case is " : " cases are ").append(results::kUnreliable);
    badge(ui, Level::kWarning, text);
  }
  if (panel.broken == 0) return;
  std::string text = std::to_string(panel.broken);
  text.append(panel.broken == 1 ? " case did not pass: it has no speed-up"
                                : " cases did not pass: they have no speed-up");
  badge(ui, Level::kError, text);
  beside("Show them");
  if (ImGui::SmallButton("Show them")) {
    panel.view.filter = "-verdict:faster -verdict:slower -verdict:same -verdict:inconclusive -verdict:pass";
    panel.run->table.filter(panel.view.filter);
  }
}

void draw_cases(SweepPanel& panel, const Ui& ui) {
  auto& data = *panel.run;
  draw_filter(ui, data.table, panel.view);
  TableOptions options;
  options.verdict = "verdict";
  options.chosen = [&](std::size_t row) {
    return !ui.selection.case_key.empty() && data.cases[row].key == ui.selection.case_key;
  };
  options.tip = [&](std::size_t row) {
    const auto& record = data.cases[row];
    auto text = record.key;
    if (const auto why = reason_text(record); !why.empty()) text.append("\n").append(why);
    if (const auto rivals = rivals_text(record); !rivals.empty()) text.append("\n").append(rivals);
    if (!record.stop_reason.empty())
      text.append("\n")
          .append(std::to_string(record.rounds))
          .append(" rounds, ended by ")
          .append(record.stop_reason);
    return text;
  };
  if (const auto row = draw_table(ui, data.table, panel.view, options))
    ui.selection.choose_case(data.cases[*row].key);
}

// What was measured of another model is no result of the open one.
void follow_model(SweepPanel& panel, const Workbench& bench, const Ui& ui) {
  const auto& model = bench.session.model;
  const auto subject = panel.open_model && model ? model->name : std::string();
  const bool built_in = model && !model->source.subject.empty();
  if (panel.asked && panel.subject == subject && panel.built_in == built_in) return;
  panel.asked = true;
  panel.subject = subject;
  panel.built_in = built_in;
  const bool sample = panel.run && panel.run->run.id == 0;
  if (sample || (panel.run && (subject.empty() || shows(panel, subject, built_in)))) return;
  panel.run.reset();
  ui.commands.run("sweep.show_run");
}

// History, or another program, may delete what is shown.
void follow_records(SweepPanel& panel, const Ui& ui) {
  const auto job = ui.jobs.find(panel.job);
  const bool running = job && job->state < JobState::kDone;
  if (!panel.run || panel.run->run.id == 0 || running || panel.looked == panel.records->revision) return;
  panel.looked = panel.records->revision;
  ui.commands.run("sweep.look_again");
}

void draw_nothing(const SweepPanel& panel, const Workbench& bench, const Ui& ui) {
  const auto is = [&](std::uint64_t id, std::initializer_list<JobState> states) {
    const auto job = id == 0 ? std::nullopt : bench.jobs.find(id);
    return job && std::find(states.begin(), states.end(), job->state) != states.end();
  };
  if (is(panel.job, {JobState::kWaiting, JobState::kRunning}))
    return faint_text(ui, "What is measured will stand here.");
  if (is(panel.job, {JobState::kFailed})) {
    const auto why = bench.jobs.find(panel.job)->text;
    return empty_state(ui, icon::kWarning, "The sweep did not start", why.c_str(), "sweep.start",
                       "Try again###again");
  }
  if (is(panel.reading, {JobState::kWaiting, JobState::kRunning}))
    return faint_text(ui, "Reading the last sweep\xe2\x80\xa6");
  std::string text;
  if (!panel.subject.empty()) text = "No run of " + results::printable(panel.subject, 60) + " is kept. ";
  text +=
      "Speed-up over N with its interval, and a table of all cases, will stand here. The small sweep takes "
      "under three minutes.";
  empty_state(ui, icon::kSweep, "Nothing is measured yet", text.c_str(), "sweep.start_small",
              "Measure the small sweep");
}

}  // namespace

void draw(SweepPanel& panel, Workbench& bench, const Ui& ui) {
  follow_model(panel, bench, ui);
  follow_records(panel, ui);
  ImGui::SetNextItemOpen(panel.open_gate || (panel.run == nullptr && !panel.fold),
                         panel.fold || panel.open_gate ? ImGuiCond_Always : ImGuiCond_Once);
  panel.fold = false;
  if (ImGui::CollapsingHeader("What to measure###form")) {
    draw_form(panel, bench, ui);
  } else {
    check_form(panel, bench);
  }
  draw_actions(panel, ui);
  if (!panel.run) {
    draw_nothing(panel, bench, ui);
  } else {
    ImGui::Separator();
    draw_headline(panel, bench, ui);
    const float room = ImGui::GetContentRegionAvail().y;
    if (!panel.plot.series.empty()) draw_over_n(panel.plot, ui, std::max(10 * em(), 0.52F * room));
    draw_cases(panel, ui);
  }
}

}  // namespace wide::gui
