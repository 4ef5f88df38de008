#include "gui/panels/graph_panel.h"

#include <imgui_stdlib.h>

#include <algorithm>

#include "gui/icons.h"

namespace wide::gui {
namespace {

// How the nodes run, the time they take, or what another try does otherwise.
void choose_colour(GraphPanel& panel, const Session& session) {
  const auto title = [](const Try& one) { return "against " + name(one.wish); };
  std::string shown = panel.colour == GraphColour::kTime ? "by time" : "by strategy";
  if (panel.colour == GraphColour::kPlan) shown = "against " + name(panel.other);
  same_line_if_fits("by strategy      v");
  ImGui::SetNextItemWidth(std::min(9 * em(), ImGui::GetContentRegionAvail().x));
  const bool opened = begin_combo("##colour", shown);
  if (!opened && ImGui::IsItemHovered(ImGuiHoveredFlags_ForTooltip))
    tooltip("What colours say: how a node runs, the time it takes, or what a try does otherwise");
  if (!opened) return;
  if (ImGui::Selectable("by strategy###strategy", panel.colour == GraphColour::kStrategy))
    panel.colour = GraphColour::kStrategy;
  if (ImGui::Selectable("by time###time", panel.colour == GraphColour::kTime))
    panel.colour = GraphColour::kTime;
  const auto& now = session.wish;
  int others = 0;
  for (const auto& one : session.tries) {
    if (one.wish == now) continue;
    ImGui::PushID(others++);
    const bool chosen = panel.colour == GraphColour::kPlan && panel.other == one.wish;
    if (ImGui::Selectable((title(one) + "###against").c_str(), chosen))
      panel.colour = GraphColour::kPlan, panel.other = one.wish;
    ImGui::PopID();
  }
  if (others == 0) ImGui::TextDisabled("a changed strategy can be compared");
  ImGui::EndCombo();
}

void draw_bar(GraphPanel& panel, const Session& session, const Ui& ui) {
  const auto& model = *session.model;
  if (ImGui::RadioButton("Nodes", !panel.text)) panel.text = false;
  ImGui::SameLine();
  if (ImGui::RadioButton("Text", panel.text)) panel.text = true;
  same_line_if_fits("filter words");
  ImGui::SetNextItemWidth(std::min(10 * em(), ImGui::GetContentRegionAvail().x));
  ImGui::InputTextWithHint("##filter", "filter", &panel.filter);
  if (panel.text) return draw_stage_choice(panel, model, ui);
  const bool searched = ImGui::IsItemDeactivated() && ImGui::IsKeyPressed(ImGuiKey_Enter);
  if (searched) ui.commands.run("graph.next");
  if (!panel.filter.empty()) {
    const auto found = std::to_string(found_by_filter(panel, model)) + " found";
    same_line_if_fits(found.c_str());
    ImGui::AlignTextToFramePadding();
    ImGui::TextUnformatted(found.c_str());
  }
  choose_colour(panel, session);
  same_line_if_fits("xxx Fit");
  command_button(ui, "graph.fit", "\xef\x8c\x9e  Fit###fit");
  same_line_if_fits("Fold all");
  command_button(ui, "graph.fold", "Fold all###fold");
  same_line_if_fits("- Level +");
  command_button(ui, "graph.shallower", "\xef\x81\xa8###shallower");
  ImGui::SameLine();
  command_button(ui, "graph.deeper", "\xef\x81\xa7###deeper");
  same_line_if_fits("Unfold all");
  command_button(ui, "graph.unfold", "Unfold all###unfold");
  same_line_if_fits("xxx Export");
  command_button(ui, "graph.export_png", "\xef\x95\xae  Export###export");
  if (model.constant == 0) return;
  same_line_if_fits("xxx Constants");
  ImGui::Checkbox("Constants", &panel.constants);
  if (ImGui::IsItemHovered(ImGuiHoveredFlags_ForTooltip))
    tooltip("Show what is computed once, at build, too");
}

}  // namespace

bool matches(const GraphBox& box, const ModelView& model, const std::string& filter) {
  if (filter.empty() || box.key.find(filter) != std::string::npos) return true;
  return std::any_of(box.nodes.begin(), box.nodes.end(), [&](std::size_t i) {
    const auto& node = model.graph[i];
    return node.op.find(filter) != std::string::npos || node.strategy.find(filter) != std::string::npos ||
           node.module.find(filter) != std::string::npos;
  });
}

std::size_t found_by_filter(const GraphPanel& panel, const ModelView& model) {
  const auto& boxes = panel.picture.boxes;
  return static_cast<std::size_t>(std::count_if(boxes.begin(), boxes.end(), [&](const GraphBox& box) {
    return !box.nodes.empty() && matches(box, model, panel.filter);
  }));
}

void draw(GraphPanel& panel, Workbench& bench, const Ui& ui) {
  if (!bench.session.model) {
    empty_state(ui, icon::kGraph, "No model is open",
                "The graph of a model will be here: its operations as nodes with strategy and time, or as "
                "text after any stage.",
                "file.sample", "Load a sample###sample");
    return;
  }
  draw_bar(panel, bench.session, ui);
  if (panel.text) {
    draw_text(panel, *bench.session.model, ui);
  } else {
    draw_nodes(panel, bench, ui);
  }
}

}  // namespace wide::gui
