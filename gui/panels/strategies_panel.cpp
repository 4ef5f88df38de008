#include "gui/panels/strategies_panel.h"

#include <imgui_stdlib.h>

#include <algorithm>

#include "gui/icons.h"
#include "presets/case_fields.h"

namespace wide::gui {
namespace {

// A pass as built: measured where all nodes that take time are.
std::string pass_text(const ModelView& model) {
  return time_text(model.pass_us, std::ranges::all_of(model.graph, [](const NodeView& node) {
                     return node.measured || node.microseconds == 0;
                   }));
}

void draw_bar(StrategiesPanel& panel, Workbench& bench, const Ui& ui) {
  auto& session = bench.session;
  const bool changed = session.edited();
  if (changed) ImGui::PushStyleColor(ImGuiCol_Button, faded(ui.theme.accent, 0.45F));
  command_button(ui, "strategies.build", "\xef\x9b\xa3  Build###build");
  if (changed) ImGui::PopStyleColor();
  same_line_if_fits("xxx Validate");
  command_button(ui, "strategies.validate", "\xef\x89\x8e  Validate###validate");
  same_line_if_fits("xxx Measure");
  command_button(ui, "strategies.measure", "\xef\x80\x97  Measure###measure");
  same_line_if_fits("xxx Reset");
  command_button(ui, "strategies.reset", "\xef\x8b\xaa  Reset###reset");
  same_line_if_fits("xxx Copy as command line");
  copy_command_line(ui, "widebench test " + arguments(session.model->source) + arguments(session.wish));

  const bool strategies = !panel.proof && !panel.tried;
  if (ImGui::RadioButton("Nodes", strategies && !panel.by_kind))
    panel.proof = panel.tried = panel.by_kind = false;
  ImGui::SameLine();
  if (ImGui::RadioButton("Kinds", strategies && panel.by_kind))
    panel.proof = panel.tried = false, panel.by_kind = true;
  ImGui::SameLine();
  ImGui::BeginDisabled(!session.proof);
  if (ImGui::RadioButton("Proof", panel.proof && !panel.tried)) panel.proof = true, panel.tried = false;
  ImGui::EndDisabled();
  same_line_if_fits("xxxx Tries");
  if (ImGui::RadioButton("Tries", panel.tried)) panel.tried = true;
  same_line_if_fits("mode reduce-overhead");
  ImGui::SetNextItemWidth(std::min(11 * em(), ImGui::GetContentRegionAvail().x));
  if (begin_combo("##mode", "mode " + session.wish.mode)) {
    for (const auto& mode : presets::kModes) {
      if (ImGui::Selectable(mode.c_str(), session.wish.mode == mode)) session.wish.mode = mode;
    }
    ImGui::EndCombo();
  }
  same_line_if_fits("filter words");
  ImGui::SetNextItemWidth(std::min(10 * em(), ImGui::GetContentRegionAvail().x));
  ImGui::InputTextWithHint("##filter", "filter", &panel.filter);
  if (changed) {
    const auto& model = *session.model;
    auto text = "changed, not built yet: " + time_text(session.estimated_pass_us(), false) +
                " a pass is an estimate; as built " + pass_text(model);
    if (session.wish.mode != model.wish.mode) text.append("; what the mode gives is known once it is built");
    badge(ui, Level::kWarning, text);
    command_button(ui, "strategies.measure", "Build and measure###build_measure");
  } else {
    const auto& model = *session.model;
    faint_text(ui, model.schedule + "; " + pass_text(model) + " a pass by these times; " +
                       std::to_string(model.conversions) + " layout changes, " +
                       std::to_string(model.copies) + " copies");
  }
}

}  // namespace

void add_commands(StrategiesPanel& panel, Workbench& bench) {
  const auto no_model = [&bench] { return bench.session.model ? "" : "no model is open"; };
  bench.commands.add({.id = "strategies.build",
                      .title = "Build the model with these strategies",
                      .menu = "Run",
                      .icon = icon::kBuild,
                      .chord = ImGuiMod_Ctrl | ImGuiKey_B,
                      .run = [&bench](const std::string&) { bench.build(); },
                      .refuse = no_model});
  bench.commands.add({.id = "strategies.validate",
                      .title = "Validate every member",
                      .menu = "Run",
                      .icon = icon::kProve,
                      .chord = ImGuiMod_Ctrl | ImGuiMod_Shift | ImGuiKey_V,
                      .run = [&bench](const std::string&) { bench.prove(); },
                      .refuse =
                          [&bench] {
                            if (!bench.session.model) return "no model is open";
                            return bench.session.edited() ? "build the changed strategies first" : "";
                          }});
  bench.commands.add({.id = "strategies.measure",
                      .title = "Measure the strategies of every node",
                      .menu = "Run",
                      .icon = icon::kClock,
                      .run = [&bench](const std::string&) { bench.measure(); },
                      .refuse = no_model});
  bench.commands.add(
      {.id = "strategies.reset",
       .title = "Let AUTO choose everywhere",
       .menu = "Run",
       .icon = icon::kReset,
       .run = [&bench](const std::string&) { bench.session.wish = {.mode = bench.session.wish.mode}; },
       .refuse =
           [&bench] {
             const auto& wish = bench.session.wish;
             return wish.by_kind.empty() && wish.by_value.empty() && wish.all == "auto"
                        ? "AUTO chooses everywhere already"
                        : "";
           }});
  add_commands(panel.tries, bench);
}

void draw(StrategiesPanel& panel, Workbench& bench, const Ui& ui) {
  auto& session = bench.session;
  if (!session.model) {
    empty_state(ui, icon::kStrategies, "No model is open",
                "How each operation runs will be here: what AUTO chose, what the others would cost, and why "
                "some refuse.",
                "file.sample", "Load a sample###sample");
    return;
  }
  if (session.proof && panel.proved != session.revision) {
    panel.proof = session.proof->refusal.empty();
    panel.tried = panel.tried && !panel.proof;
    panel.proved = session.revision;
  }
  if (!session.proof) {
    panel.proof = false;
    panel.proved = 0;
  }
  draw_bar(panel, bench, ui);
  if (panel.tried) {
    draw(*panel.tries, bench, ui);
  } else if (panel.proof) {
    draw_proof(*session.proof, ui);
  } else if (panel.by_kind) {
    draw_by_kind(panel, session, ui);
  } else {
    draw_by_node(panel, session, ui);
  }
}

}  // namespace wide::gui
