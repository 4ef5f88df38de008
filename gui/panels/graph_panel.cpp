#include "gui/panels/graph_panel.h"

#include <imgui_node_editor.h>
#include <imgui_stdlib.h>

#include <algorithm>
#include <cmath>

#include "gui/icons.h"

namespace ed = ax::NodeEditor;

namespace wide::gui {

struct GraphPanel::Editor {
  Editor() {
    ed::Config config;
    config.SettingsFile = nullptr;
    config.EnableSmoothZoom = true;
    // As in the timeline: the left button moves. Boxes stay where they are; clicks are ours.
    config.NavigateButtonIndex = ImGuiMouseButton_Left;
    config.SelectButtonIndex = config.ContextMenuButtonIndex = ImGuiMouseButton_Middle;
    config.DragButtonIndex = 3;
    context = ed::CreateEditor(&config);
  }
  ~Editor() { ed::DestroyEditor(context); }
  Editor(const Editor&) = delete;
  Editor& operator=(const Editor&) = delete;
  ed::EditorContext* context = nullptr;
};

GraphPanel::GraphPanel() = default;
GraphPanel::~GraphPanel() = default;

namespace {

constexpr float kWidth = 9.8F, kHeight = 3.9F, kGapX = 1.9F, kGapY = 1.1F;  // of a box, in em
constexpr std::size_t kManyNodes = 60;                                      // beyond, modules start folded

// Ids of the editor: boxes count from 1; pins and links follow.
ed::NodeId node_id(std::size_t box) {
  return box * 3 + 1;
}
ed::PinId in_pin(std::size_t box) {
  return box * 3 + 2;
}
ed::PinId out_pin(std::size_t box) {
  return box * 3 + 3;
}
std::size_t box_of(ed::NodeId id) {
  return (id.Get() - 1) / 3;
}

const ImVec4& colour_of(const Theme& theme, const NodeView& node) {
  if (node.strategy == "sequential") return theme.warning;
  if (!node.choosable()) return theme.neutral;
  return theme.wide;
}

struct BoxText {
  std::string title, line, time;
  ImVec4 colour;
};

BoxText text_of(const GraphBox& box, const ModelView& model, const Theme& theme) {
  if (box.nodes.empty()) return {box.key.substr(6), "input", "", theme.other};
  double us = 0;
  bool sequential = false, measured = true;
  for (const auto i : box.nodes) {
    us += model.graph[i].microseconds;
    sequential = sequential || model.graph[i].strategy == "sequential";
    measured = measured && (model.graph[i].measured || model.graph[i].microseconds == 0);
  }
  const auto time = us > 0 ? (measured ? "" : "~") + time_text(us) : std::string();
  if (!box.module.empty()) {
    auto count = std::to_string(box.nodes.size()) + " operations";
    if (sequential) count = std::string(icon::kWarning) + " " + count;
    return {std::string(icon::kModels) + " " + box.module, count, time,
            sequential ? theme.warning : theme.good};
  }
  const auto& node = model.graph[box.nodes.front()];
  auto line = node.strategy;
  if (sequential) line = std::string(icon::kWarning) + " " + line;
  if (!node.layout.empty() && node.choosable())
    line.append(" ").append(icon::kCollapse).append(" ").append(node.layout);
  return {node.kind, line, time, colour_of(theme, node)};
}

// What is written in a box: drawn over the picture, since letters of a scaled picture are blurred.
struct Written {
  ImVec2 at;  ///< in the picture
  std::string text;
  ImVec4 colour;
  bool bold = false;
};

void draw_box(std::size_t index, const GraphBox& box, const ModelView& model, const Ui& ui, bool faded_out,
              std::vector<Written>& written) {
  const auto text = text_of(box, model, ui.theme);
  const float e = em();
  const float alpha = faded_out ? 0.35F : 1.0F;
  ImGui::PushStyleVar(ImGuiStyleVar_Alpha, alpha);
  ed::BeginNode(node_id(index));
  const auto at = ImGui::GetCursorScreenPos();
  const ImVec2 size{kWidth * e, kHeight * e};
  ImGui::Dummy(size);
  auto* list = ImGui::GetWindowDrawList();
  const auto ink = [&](const ImVec4& colour) { return ImGui::GetColorU32(colour); };
  const float left = at.x + 0.7F * e, room = size.x - 1.0F * e;
  list->AddRectFilled({at.x, at.y}, {at.x + 0.28F * e, at.y + size.y}, ink(text.colour), 0.1F * e);
  ImGui::PushFont(ui.fonts.bold, 0);
  written.push_back({{left, at.y + 0.30F * e}, fitting(text.title, room), faded(ui.theme.text, alpha), true});
  ImGui::PopFont();
  written.push_back({{left, at.y + 1.45F * e}, fitting(text.line, room), faded(ui.theme.faint, alpha)});
  written.push_back({{left, at.y + 2.55F * e}, text.time, faded(ui.theme.text, alpha)});
  if (const double share = model.pass_us; share > 0 && !box.nodes.empty()) {
    double us = 0;
    for (const auto i : box.nodes) us += model.graph[i].microseconds;
    const float width = 4.5F * e * static_cast<float>(std::min(1.0, us / share));
    const ImVec2 bar{at.x + size.x - 5.0F * e, at.y + 2.85F * e};
    list->AddRectFilled(bar, {bar.x + 4.5F * e, bar.y + 0.4F * e}, ink(faded(ui.theme.hairline, 0.8F)));
    list->AddRectFilled(bar, {bar.x + width, bar.y + 0.4F * e}, ink(text.colour));
  }
  // Where links end: the middle of the sides. Within the box, so that it does not grow.
  const auto pin = [&](ed::PinId id, ed::PinKind kind, float x) {
    ImGui::SetCursorScreenPos(at);
    ed::BeginPin(id, kind);
    ed::PinRect({x - 1, at.y + size.y * 0.4F}, {x + 1, at.y + size.y * 0.6F});
    ed::PinPivotRect({x, at.y + size.y / 2}, {x, at.y + size.y / 2});
    ed::EndPin();
  };
  pin(in_pin(index), ed::PinKind::Input, at.x);
  pin(out_pin(index), ed::PinKind::Output, at.x + size.x);
  ed::EndNode();
  ImGui::PopStyleVar();
}

// With letters of the size that they have on the screen; unreadable ones are left out.
void write_texts(const GraphPanel& panel, const std::vector<Written>& written, const Ui& ui, ImVec2 low,
                 ImVec2 high) {
  constexpr float kLeast = 4;  // pixels
  const float size = std::round(2 * em() * panel.zoom) / 2;
  if (size < kLeast) return;
  auto* list = ImGui::GetWindowDrawList();
  list->PushClipRect(low, high, true);
  for (const auto& one : written) {
    const ImVec2 at{panel.origin.x + one.at.x * panel.zoom, panel.origin.y + one.at.y * panel.zoom};
    if (at.x > high.x || at.y > high.y || at.y + size < low.y || at.x + kWidth * size < low.x) continue;
    list->AddText(one.bold ? ui.fonts.bold : ui.fonts.text, size, at, packed(one.colour), one.text.c_str());
  }
  list->PopClipRect();
}

// A box in full: its text may be cut where it stands.
std::string about(const GraphBox& box, const ModelView& model, const Ui& ui) {
  const auto text = text_of(box, model, ui.theme);
  auto whole = text.title;
  if (box.module.empty() && !box.nodes.empty())
    whole.append("  %").append(model.graph[box.nodes.front()].name);
  whole.append("\n").append(text.line);
  if (!text.time.empty()) whole.append("\n").append(text.time);
  if (!box.module.empty()) whole.append("\nA double click opens it by one level.");
  return whole;
}

// A new model, another folding, another size of text or of the panel: the picture is made anew.
void refresh(GraphPanel& panel, const Session& session, ImVec2 room) {
  const bool other_model = panel.made_of != session.revision;
  if (other_model) {
    if (panel.source != session.model->source) {
      panel.source = session.model->source;
      panel.folded =
          session.model->graph.size() > kManyNodes ? fold_all(*session.model) : std::set<std::string>();
      panel.level = panel.folded.empty() ? module_levels(*session.model) : -1;
      panel.fit = 3;
    }
    panel.made_of = session.revision;
  }
  const double wide = room.x / ((kWidth + kGapX) * em()), high = room.y / ((kHeight + kGapY) * em());
  auto made_for = std::to_string(em()) + (panel.constants ? " all" : "") + " " + std::to_string(wide) + " " +
                  std::to_string(high);
  for (const auto& path : panel.folded) made_for.append(" ").append(path);
  if (!other_model && made_for == panel.made_for) return;
  const auto boxes_before = panel.picture.boxes.size();
  panel.made_for = made_for;
  panel.picture = picture_of(*session.model, panel.folded, panel.constants);
  wrap(panel.picture, wide, high);
  if (panel.picture.boxes.size() != boxes_before) panel.editor.reset();
  if (!panel.editor) {
    panel.editor = std::make_unique<GraphPanel::Editor>();
    panel.fit = 3;
  }
  panel.shown_node.clear();
  ed::SetCurrentEditor(panel.editor->context);
  for (std::size_t i = 0; i < panel.picture.boxes.size(); ++i) {
    const auto& box = panel.picture.boxes[i];
    ed::SetNodePosition(node_id(i), {static_cast<float>(box.x) * (kWidth + kGapX) * em(),
                                     static_cast<float>(box.y) * (kHeight + kGapY) * em()});
  }
  ed::SetCurrentEditor(nullptr);
}

std::size_t box_with(const GraphPicture& picture, const ModelView& model, const std::string& node) {
  for (std::size_t i = 0; i < picture.boxes.size(); ++i) {
    for (const auto k : picture.boxes[i].nodes) {
      if (model.graph[k].name == node) return i;
    }
  }
  return picture.boxes.size();
}

void style_editor(const Theme& theme) {
  auto& style = ed::GetStyle();
  style.NodePadding = {0, 0, 0, 0};
  style.NodeRounding = 0.25F * em();
  style.NodeBorderWidth = 1;
  style.HoveredNodeBorderWidth = 2;
  style.SelectedNodeBorderWidth = 2.5F;
  style.LinkStrength = 3 * em();
  style.PinArrowSize = 0;
  auto& colours = style.Colors;
  colours[ed::StyleColor_Bg] = faded(theme.window, 0);
  colours[ed::StyleColor_Grid] = faded(theme.hairline, 0.25F);
  colours[ed::StyleColor_NodeBg] = theme.raised;
  colours[ed::StyleColor_NodeBorder] = theme.hairline;
  colours[ed::StyleColor_HovNodeBorder] = colours[ed::StyleColor_SelNodeBorder] = theme.accent;
}

// What is selected in the window is marked and comes into view.
void follow_selection(GraphPanel& panel, const ModelView& model, const Ui& ui, ImVec2 low, ImVec2 high) {
  if (panel.shown_node == ui.selection.node) return;
  panel.shown_node = ui.selection.node;
  const auto box = box_with(panel.picture, model, ui.selection.node);
  if (box >= panel.picture.boxes.size()) return;
  ed::SelectNode(node_id(box));
  const auto at = ed::CanvasToScreen(ed::GetNodePosition(node_id(box)));
  const bool seen = at.x >= low.x && at.y >= low.y && at.x < high.x - 2 * em() && at.y < high.y - 2 * em();
  if (!seen && panel.fit == 0) ed::NavigateToSelection(false, 0.25F);
}

// A click selects, a double click opens a module by a level or folds what is around an operation.
void react(GraphPanel& panel, const ModelView& model, const Ui& ui, const GraphBox& box) {
  if (box.nodes.empty()) return;
  const auto& first = model.graph[box.nodes.front()];
  if (ImGui::IsMouseDoubleClicked(ImGuiMouseButton_Left)) {
    if (box.module.empty()) {
      fold_around(model, panel.folded, first.module);
    } else {
      unfold_once(model, panel.folded, box.module);
    }
    return;
  }
  const auto drag = ImGui::GetMouseDragDelta(ImGuiMouseButton_Left, 0);
  const bool moved = std::hypot(drag.x, drag.y) > 0.3F * em();
  if (!ImGui::IsMouseReleased(ImGuiMouseButton_Left) || moved) return;
  const bool inside = std::any_of(box.nodes.begin(), box.nodes.end(),
                                  [&](std::size_t i) { return model.graph[i].name == ui.selection.node; });
  if (!inside) ui.selection.choose_node(first.name);
}

// A panel of another size shows all of the graph again, unless the person has moved it.
void note_room(GraphPanel& panel, ImVec2 room) {
  const bool still = !panel.has_fitted || (std::abs(panel.fitted.x - panel.origin.x) < 1 &&
                                           std::abs(panel.fitted.y - panel.origin.y) < 1);
  const bool resized = room.x != panel.room.x || room.y != panel.room.y;
  if (resized && panel.room.x > 0 && still && panel.fit == 0) panel.fit = 2;
  panel.room = room;
}

void draw_nodes(GraphPanel& panel, const Session& session, const Ui& ui) {
  const auto low = ImGui::GetCursorScreenPos(), room = ImGui::GetContentRegionAvail();
  const ImVec2 high{low.x + room.x, low.y + room.y};
  refresh(panel, session, room);
  note_room(panel, room);
  const auto& model = *session.model;
  ed::SetCurrentEditor(panel.editor->context);
  style_editor(ui.theme);
  ed::EnableShortcuts(false);
  ed::Begin("##nodes");
  std::vector<Written> written;
  for (std::size_t i = 0; i < panel.picture.boxes.size(); ++i) {
    const bool faded_out = !matches(panel.picture.boxes[i], model, panel.filter);
    draw_box(i, panel.picture.boxes[i], model, ui, faded_out, written);
  }
  std::size_t link = panel.picture.boxes.size() * 3 + 4;
  for (const auto& [from, to] : panel.picture.links) {
    ed::Link(link++, out_pin(from), in_pin(to), faded(ui.theme.neutral, 0.8F), 1.5F);
  }
  follow_selection(panel, model, ui, low, high);
  panel.origin = ed::CanvasToScreen({0, 0});
  panel.zoom = (ed::CanvasToScreen({1000, 0}).x - panel.origin.x) / 1000;
  if (panel.has_fitted && panel.fit == 1) panel.has_fitted = false;
  const bool fits = panel.fit > 0 && --panel.fit == 0;
  if (fits) ed::NavigateToContent(0);
  const auto hovered = ed::GetHoveredNode();
  ed::End();
  if (!panel.has_fitted && panel.fit == 0 && !fits) panel.fitted = panel.origin, panel.has_fitted = true;
  ed::SetCurrentEditor(nullptr);
  write_texts(panel, written, ui, low, high);
  panel.snapshot.area(ui, low, high);
  if (!hovered) return;
  const auto& box = panel.picture.boxes[box_of(hovered)];
  tooltip(about(box, model, ui));
  react(panel, model, ui, box);
}

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

void draw_bar(GraphPanel& panel, const ModelView& model, const Ui& ui) {
  if (ImGui::RadioButton("Nodes", !panel.text)) panel.text = false;
  ImGui::SameLine();
  if (ImGui::RadioButton("Text", panel.text)) panel.text = true;
  same_line_if_fits("filter words");
  ImGui::SetNextItemWidth(std::min(10 * em(), ImGui::GetContentRegionAvail().x));
  ImGui::InputTextWithHint("##filter", "filter", &panel.filter);
  if (panel.text) return draw_stage_choice(panel, model, ui);
  const bool searched = ImGui::IsItemDeactivated() && ImGui::IsKeyPressed(ImGuiKey_Enter);
  if (searched) ui.commands.run("graph.next");
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

void draw(GraphPanel& panel, Workbench& bench, const Ui& ui) {
  if (!bench.session.model) {
    empty_state(ui, icon::kGraph, "No model is open",
                "The graph of a model will be here: its operations as nodes with strategy and time, or as "
                "text after any stage.",
                "file.sample", "Load a sample###sample");
    return;
  }
  panel.save.draw(ui);
  draw_bar(panel, *bench.session.model, ui);
  if (panel.text) {
    draw_text(panel, *bench.session.model, ui);
  } else {
    draw_nodes(panel, bench.session, ui);
  }
}

}  // namespace wide::gui
