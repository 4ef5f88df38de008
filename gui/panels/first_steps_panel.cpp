#include "gui/panels/first_steps_panel.h"

#include <algorithm>
#include <vector>

#include "gui/icons.h"
#include "gui/panels/shared/results_panels.h"

namespace wide::gui {
namespace {

struct GuideStep {
  const char *title, *text, *command, *button;
  bool done;
};

std::vector<GuideStep> steps_of(const FirstStepsPanel& panel, const Workbench& bench) {
  const auto& session = bench.session;
  const auto& results = *bench.results;
  const bool open = session.model != nullptr;
  const auto& sweep = *results.sweep;
  const bool of_it =
      sweep.job != 0 || (open && shows(sweep, session.model->name,
                                       !session.model->source.subject.empty()));  // measured now, or earlier
  const bool measured = sweep.run && sweep.run->run.id > 0 && of_it && sweep.run->cases.size() > sweep.broken;
  return {
      {"Open a model",
       "An exported model (.pt2) and its checkpoints, a member each: Ctrl+O, or drop them into the window. "
       "The "
       "sample has four.",
       "file.sample", "Load the sample###step_open", open},
      {"Look at its graph", "What each operation is, how it runs for all members at once, and its time.",
       "view.graph", "Graph###step_graph", open && panel.graph},
      {"See what could be chosen",
       "For each operation all ways to run it, with times, and why some refuse. A choice is an estimate "
       "until "
       "it is built.",
       "view.strategies", "Strategies###step_strategies", open && panel.strategies},
      {"Validate",
       "Every member against its own separate run: the numbers are the same, or it says where not.",
       "strategies.validate", "Validate###step_validate", session.proof.has_value() && session.proof->passed},
      {"Sweep N", "All members at once against one after the other and the best rival, for several N.",
       "sweep.start", "Start the sweep###step_sweep", measured},
      {"See why", "What ran, wide and separately: timeline, kernels, gain, and what holds the speed-up back.",
       "profile.start", "Profile###step_profile", results.profile->data != nullptr},
      {"Compare two runs",
       "Sweep once more after a change: click the earlier run, Ctrl+click the later one, then Compare.",
       "view.history", "History###step_history", !results.history->comparisons.empty()},
  };
}

}  // namespace

StepsDone steps_done(const FirstStepsPanel& panel, const Workbench& bench) {
  const auto steps = steps_of(panel, bench);
  const auto done = std::count_if(steps.begin(), steps.end(), [](const GuideStep& one) { return one.done; });
  return {static_cast<std::size_t>(done), steps.size()};
}

void draw(FirstStepsPanel& panel, Workbench& bench, const Ui& ui) {
  const auto steps = steps_of(panel, bench);
  const auto next = std::find_if(steps.begin(), steps.end(), [](const GuideStep& one) { return !one.done; });
  for (std::size_t i = 0; i < steps.size(); ++i) {
    const auto& step = steps[i];
    ImGui::PushFont(ui.fonts.bold, 0);
    ImGui::PushTextWrapPos(0);
    if (step.done) {
      badge(ui, Level::kInfo, step.title);
    } else {
      ImGui::Text("%d   %s", static_cast<int>(i + 1), step.title);
    }
    ImGui::PopTextWrapPos();
    ImGui::PopFont();
    if (step.done) continue;
    faint_text(ui, step.text);
    const bool is_next = static_cast<std::size_t>(next - steps.begin()) == i;
    if (is_next) ImGui::PushStyleColor(ImGuiCol_Button, faded(ui.theme.accent, 0.35F));
    const bool pressed = command_button(ui, step.command, step.button);
    if (is_next) ImGui::PopStyleColor();
    if (i == 0) {
      same_line_if_fits("Open…");
      command_button(ui, "file.open", "Open…###step_file");
    }
    if (pressed && std::string_view(step.command) == "view.graph") panel.graph = true;
    if (pressed && std::string_view(step.command) == "view.strategies") panel.strategies = true;
    if (pressed && std::string_view(step.command) == "sweep.start") ui.commands.run("view.sweep");
    if (pressed && std::string_view(step.command) == "profile.start") ui.commands.run("view.profile");
    ImGui::Dummy({0, 0.3F * em()});
  }
  if (next == steps.end()) faint_text(ui, "That is all there is to it. F1 lists the keys.");
  ImGui::Separator();
  if (ImGui::Button("Close the guide###close_guide")) {
    for (auto& one : bench.panels) {
      if (one.id == "first_steps") one.open = false;
    }
    bench.settings.first_steps = false;
    bench.apply_settings();
  }
  faint_text(ui, "View, Show First steps, brings it back.");
}

}  // namespace wide::gui
