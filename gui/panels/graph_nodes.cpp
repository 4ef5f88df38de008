// The graph as nodes: what is shown, and what the mouse and the keys do with it.
#include <algorithm>
#include <cmath>

#include "gui/panels/graph_paint.h"
#include "gui/panels/shared/results_panels.h"

namespace wide::gui {
namespace {

constexpr std::size_t kManyNodes = 60;              // beyond, modules start folded
constexpr float kLeastZoom = 0.02F, kMostZoom = 4;  // zoom

// A new model, another folding, another size of text or of the panel: the picture is made anew.
void refresh_picture(GraphPanel& panel, const Session& session, ImVec2 room) {
  const bool other_model = panel.made_of != session.revision;
  if (other_model) {
    if (panel.source != session.model->source) {
      panel.source = session.model->source;
      panel.folded =
          session.model->graph.size() > kManyNodes ? fold_all(*session.model) : std::set<std::string>();
      panel.level = panel.folded.empty() ? module_levels(*session.model) : -1;
      panel.colour = panel.colour == GraphColour::kPlan ? GraphColour::kStrategy : panel.colour;
      panel.fit = true;
    }
    panel.made_of = session.revision;
  }
  const double wide = room.x / ((kBoxWidth + kBoxGapX) * em()),
               high = room.y / ((kBoxHeight + kBoxGapY) * em());
  auto made_for = std::to_string(em()) + (panel.constants ? " all" : "") + " " + std::to_string(wide) + " " +
                  std::to_string(high);
  for (const auto& path : panel.folded) made_for.append(" ").append(path);
  if (!other_model && made_for == panel.made_for) return;
  const auto boxes_before = panel.picture.boxes.size();
  panel.made_for = made_for;
  panel.picture = picture_of(*session.model, panel.folded, panel.constants);
  wrap(panel.picture, wide, high);
  if (panel.picture.boxes.size() != boxes_before) panel.fit = true;
  panel.shown_node.clear();
}

// Times and differences, made anew where what they are of has changed.
void refresh_marks(GraphPanel& panel, const Workbench& bench) {
  const auto& session = bench.session;
  const auto& profile = bench.results->profile->data;
  const GraphPanel::MarkedOf of{session.revision, panel.colour, session.wish, panel.other, profile.get()};
  if (of == panel.marked_of) return;
  panel.marked_of = of;
  panel.marks = {};
  if (panel.colour == GraphColour::kTime) panel.marks = marks_of_times(*session.model, profile.get());
  if (panel.colour != GraphColour::kPlan) return;
  const auto& tries = session.tries;
  const auto other =
      std::find_if(tries.begin(), tries.end(), [&](const Try& one) { return one.wish == panel.other; });
  if (other == tries.end()) {
    panel.colour = GraphColour::kStrategy;
    return;
  }
  panel.marks =
      marks_of_plans(*session.model, session.edited() ? session.estimated() : try_of(*session.model), *other);
}

std::size_t box_with(const GraphPicture& picture, const ModelView& model, const std::string& node) {
  for (std::size_t i = 0; i < picture.boxes.size() && !node.empty(); ++i) {
    for (const auto k : picture.boxes[i].nodes) {
      if (model.graph[k].name == node) return i;
    }
  }
  return picture.boxes.size();
}

std::size_t box_under(const GraphPicture& picture, const GraphPlace& place, ImVec2 mouse) {
  const auto size = place.size();
  for (std::size_t i = 0; i < picture.boxes.size(); ++i) {
    const auto at = place.corner(picture.boxes[i]);
    if (mouse.x >= at.x && mouse.y >= at.y && mouse.x < at.x + size.x && mouse.y < at.y + size.y) return i;
  }
  return picture.boxes.size();
}

GraphPlace place_of(const GraphPanel& panel, ImVec2 low, ImVec2 room) {
  return {low,
          {low.x + room.x, low.y + room.y},
          {low.x + panel.shift.x, low.y + panel.shift.y},
          em() * panel.zoom};
}

// All of it in the middle; small graphs do not become larger than life.
void fit_all(GraphPanel& panel, ImVec2 room) {
  const auto bounds = bounds_of(panel.picture);
  const float wide = (bounds.high.x - bounds.low.x) * em(), high = (bounds.high.y - bounds.low.y) * em();
  if (!(wide > 0) || !(high > 0) || room.x < em() || room.y < em()) return;
  const float edge = 0.8F * em();
  panel.zoom =
      std::clamp(std::min((room.x - 2 * edge) / wide, (room.y - 2 * edge) / high), kLeastZoom, 1.25F);
  panel.shift = {(room.x - wide * panel.zoom) / 2 - bounds.low.x * em() * panel.zoom,
                 (room.y - high * panel.zoom) / 2 - bounds.low.y * em() * panel.zoom};
  panel.fit = panel.moved = false;
}

void zoom_at(GraphPanel& panel, ImVec2 at, float by) {
  const float zoom = std::clamp(panel.zoom * by, kLeastZoom, kMostZoom);
  panel.shift = {at.x - (at.x - panel.shift.x) * zoom / panel.zoom,
                 at.y - (at.y - panel.shift.y) * zoom / panel.zoom};
  panel.zoom = zoom, panel.moved = true;
}

// Some of the picture stays in sight, however far it is moved.
void hold(GraphPanel& panel, ImVec2 room) {
  const auto bounds = bounds_of(panel.picture);
  const float unit = em() * panel.zoom, edge = 2 * em();
  panel.shift.x = std::clamp(panel.shift.x, edge - bounds.high.x * unit, room.x - edge - bounds.low.x * unit);
  panel.shift.y = std::clamp(panel.shift.y, edge - bounds.high.y * unit, room.y - edge - bounds.low.y * unit);
}

void centre_on(GraphPanel& panel, ImVec2 room, ImVec2 at_em) {
  const float unit = em() * panel.zoom;
  panel.shift = {room.x / 2 - at_em.x * unit, room.y / 2 - at_em.y * unit};
  panel.moved = true;
}

// What is selected in the window comes into view.
void follow_selection(GraphPanel& panel, const Ui& ui, const GraphPlace& place, ImVec2 room,
                      std::size_t selected) {
  if (panel.shown_node == ui.selection.node) return;
  panel.shown_node = ui.selection.node;
  if (selected >= panel.picture.boxes.size()) return;
  const auto& box = panel.picture.boxes[selected];
  const auto at = place.corner(box), size = place.size();
  const bool seen = at.x >= place.low.x && at.y >= place.low.y && at.x + size.x / 2 <= place.high.x &&
                    at.y + size.y / 2 <= place.high.y;
  if (seen) return;
  centre_on(panel, room,
            {static_cast<float>(box.x) * (kBoxWidth + kBoxGapX) + kBoxWidth / 2,
             static_cast<float>(box.y) * (kBoxHeight + kBoxGapY) + kBoxHeight / 2});
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
  if (!ImGui::IsItemDeactivated() || moved) return;
  const bool inside = std::any_of(box.nodes.begin(), box.nodes.end(),
                                  [&](std::size_t i) { return model.graph[i].name == ui.selection.node; });
  if (!inside) ui.selection.choose_node(first.name);
}

// The left button moves the picture, or on the map what of it is in sight; the wheel zooms at the mouse.
void move_by_mouse(GraphPanel& panel, const GraphPlace& place, const GraphPlace& map, ImVec2 room) {
  const auto& io = ImGui::GetIO();
  const bool over_map = io.MousePos.x >= map.low.x && io.MousePos.y >= map.low.y &&
                        io.MousePos.x < map.high.x && io.MousePos.y < map.high.y;
  if (ImGui::IsItemActivated()) panel.on_map = over_map;
  if (ImGui::IsItemActive() && panel.on_map) {
    centre_on(panel, room,
              {(io.MousePos.x - map.origin.x) / map.unit, (io.MousePos.y - map.origin.y) / map.unit});
  } else if (ImGui::IsItemActive() && ImGui::IsMouseDragging(ImGuiMouseButton_Left, 0.3F * em())) {
    panel.shift.x += io.MouseDelta.x, panel.shift.y += io.MouseDelta.y;
    panel.moved = panel.moved || io.MouseDelta.x != 0 || io.MouseDelta.y != 0;
  }
  if (!ImGui::IsItemHovered() || io.MouseWheel == 0) return;
  zoom_at(panel, {io.MousePos.x - place.low.x, io.MousePos.y - place.low.y}, std::pow(1.2F, io.MouseWheel));
}

void move_by_keys(GraphPanel& panel, ImVec2 room) {
  if (ImGui::GetIO().WantTextInput) return;
  const float step = 4 * em();
  const auto move = [&](ImGuiKey key, float x, float y) {
    if (!ImGui::IsKeyPressed(key)) return;
    panel.shift.x += x * step, panel.shift.y += y * step, panel.moved = true;
  };
  move(ImGuiKey_LeftArrow, 1, 0), move(ImGuiKey_RightArrow, -1, 0);
  move(ImGuiKey_UpArrow, 0, 1), move(ImGuiKey_DownArrow, 0, -1);
  if (ImGui::IsKeyPressed(ImGuiKey_F, false)) fit_all(panel, room);
}

}  // namespace

void draw_nodes(GraphPanel& panel, Workbench& bench, const Ui& ui) {
  const auto& model = *bench.session.model;
  refresh_marks(panel, bench);
  const bool legend = panel.colour != GraphColour::kStrategy;
  const auto low = ImGui::GetCursorScreenPos();
  auto room = ImGui::GetContentRegionAvail();
  if (legend) room.y -= ImGui::GetTextLineHeightWithSpacing();
  room = {std::max(1.0F, room.x), std::max(1.0F, room.y)};
  refresh_picture(panel, bench.session, room);
  const bool resized = room.x != panel.room.x || room.y != panel.room.y;
  panel.room = room;
  if (panel.fit || (resized && !panel.moved)) fit_all(panel, room);
  auto place = place_of(panel, low, room);
  const auto selected = box_with(panel.picture, model, ui.selection.node);
  follow_selection(panel, ui, place, room, selected);

  ImGui::InvisibleButton("##nodes", room);
  ImGui::SetItemKeyOwner(ImGuiKey_MouseWheelY);
  place = place_of(panel, low, room);
  move_by_mouse(panel, place, place_of_map(panel, place), room);
  const bool active = ImGui::IsItemActive(), under = ImGui::IsItemHovered();
  if (under || ImGui::IsItemFocused()) move_by_keys(panel, room);
  hold(panel, room);
  place = place_of(panel, low, room);
  panel.origin = place.origin;
  const auto map = place_of_map(panel, place);
  panel.mapped = map.low.x < map.high.x;
  const auto mouse = ImGui::GetIO().MousePos;
  const bool over_map = panel.mapped && mouse.x >= map.low.x && mouse.y >= map.low.y &&
                        mouse.x < map.high.x && mouse.y < map.high.y;
  const auto none = panel.picture.boxes.size();
  const auto hovered = under && !over_map && !panel.on_map ? box_under(panel.picture, place, mouse) : none;
  paint_graph(panel, model, ui, place, hovered, selected);
  if (panel.mapped) paint_map(panel, model, ui, map, place);
  panel.snapshot.area(ui, place.low, place.high);
  if (hovered < none) {
    const auto box = panel.picture.boxes[hovered];
    if (!active) tooltip(about(panel, box, model));
    react(panel, model, ui, box);
  }
  if (!active) panel.on_map = false;
  if (legend) draw_graph_legend(panel, ui);
}

}  // namespace wide::gui
