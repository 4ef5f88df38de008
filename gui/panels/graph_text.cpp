// The graph as text, after any stage.
#include <algorithm>

#include "gui/panels/graph_panel.h"

namespace wide::gui {
namespace {

// "%name" that a line of text defines; empty: none.
std::string defined_in(std::string_view line) {
  if (line.empty() || line.front() != '%') return {};
  return std::string(line.substr(1, line.find_first_of(" ,:", 1) - 1));
}

// The stage that is chosen, else the one that shows strategies; null: there is none.
const StageView* stage_of(const GraphPanel& panel, const ModelView& model) {
  const auto wanted = panel.stage.empty() ? std::string("widen") : panel.stage;
  const auto found = std::find_if(model.stages.begin(), model.stages.end(),
                                  [&](const auto& one) { return one.name == wanted; });
  if (found != model.stages.end()) return &*found;
  return model.stages.empty() ? nullptr : &model.stages.back();
}

}  // namespace

void draw_text(GraphPanel& panel, const ModelView& model, const Ui& ui) {
  const auto* found = stage_of(panel, model);
  if (!found) return;
  const auto& stage = *found;
  if (ImGui::BeginChild("##text", {0, 0}, 0, ImGuiWindowFlags_HorizontalScrollbar)) {
    ImGui::PushFont(ui.fonts.mono, 0);
    std::string_view rest = stage.text;
    std::string at;  // a note below a node belongs to it
    // A node chosen in another panel comes into view.
    const bool reveal = panel.shown_line != ui.selection.node;
    panel.shown_line = ui.selection.node;
    for (int number = 0; !rest.empty(); ++number) {
      const auto end = std::min(rest.find('\n'), rest.size());
      const auto line = rest.substr(0, end);
      rest.remove_prefix(std::min(end + 1, rest.size()));
      if (const auto name = defined_in(line); !name.empty()) at = name;
      if (!panel.filter.empty() && line.find(panel.filter) == std::string_view::npos) continue;
      ImGui::PushID(number);
      const bool note =
          line.find_first_not_of(' ') != std::string_view::npos && line[line.find_first_not_of(' ')] == '#';
      const auto* known = at.empty() ? nullptr : model.find(at);
      ImGui::PushStyleColor(ImGuiCol_Text, note ? ui.theme.faint : ui.theme.text);
      const auto begin = ImGui::GetCursorScreenPos();
      const float width = ImGui::CalcTextSize(line.data(), line.data() + line.size()).x;
      if (ImGui::Selectable("###line", known != nullptr && ui.selection.node == at, 0,
                            {std::max(width, ImGui::GetContentRegionAvail().x), 0}) &&
          known) {
        ui.selection.choose_node(panel.shown_line = at);
      }
      if (reveal && known != nullptr && ui.selection.node == at && !note) ImGui::SetScrollHereY(0.5F);
      ImGui::GetWindowDrawList()->AddText(begin, ImGui::GetColorU32(ImGuiCol_Text), line.data(),
                                          line.data() + line.size());
      ImGui::PopStyleColor();
      ImGui::PopID();
    }
    ImGui::PopFont();
  }
  ImGui::EndChild();
}

void draw_stage_choice(GraphPanel& panel, const ModelView& model, const Ui& ui) {
  same_line_if_fits("after canonicalize   ");
  ImGui::SetNextItemWidth(std::min(10 * em(), ImGui::GetContentRegionAvail().x));
  const auto* found = stage_of(panel, model);
  const auto shown = found ? found->name : std::string();
  if (begin_combo("##stage", "after " + shown)) {
    for (const auto& stage : model.stages) {
      if (ImGui::Selectable(stage.name.c_str(), stage.name == shown)) panel.stage = stage.name;
    }
    ImGui::EndCombo();
  }
  same_line_if_fits("xxx Copy as command line");
  auto line = "widebench trace " + arguments(model.source) + arguments(model.wish);
  if (!shown.empty()) line.append(" --after ").append(shown);
  copy_command_line(ui, line);
}

}  // namespace wide::gui
