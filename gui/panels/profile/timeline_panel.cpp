#include "gui/panels/profile/timeline_panel.h"

#include <imgui_internal.h>

#include <algorithm>
#include <cmath>

#include "gui/views/quantity.h"

namespace wide::gui {
namespace {

LaneLayout layout_of(const TimelinePanel& panel, ImVec2 low, ImVec2 high) {
  return {low, high, 1.35F * em(), 1.25F * em(), 1.1F * em(), panel.scroll};
}

std::optional<SlicePlace> place_under(const TimelinePanel& panel, const ProfileData& data,
                                      const LaneLayout& layout, ImVec2 mouse) {
  if (mouse.x < layout.low.x || mouse.x >= layout.high.x || mouse.y < layout.low.y ||
      mouse.y >= layout.high.y)
    return std::nullopt;
  const auto tops = lane_tops(data.timeline, layout);
  for (std::size_t lane = 0; lane < data.timeline.lanes.size(); ++lane) {
    const float y = mouse.y - tops[lane] - layout.header;
    const auto& rows = data.timeline.lanes[lane].rows;
    if (y < 0 || y >= layout.row * static_cast<float>(rows.size())) continue;
    const auto row = std::min(rows.size() - 1, static_cast<std::size_t>(y / layout.row));
    const double time = panel.view.time_of(mouse.x - layout.low.x);
    const auto index = rows[row].at(time, 2 * panel.view.scale());
    if (index) return SlicePlace{lane, row, *index};
  }
  return std::nullopt;
}

void select(TimelinePanel& panel, const ProfileData& data, const Ui& ui, std::optional<SlicePlace> place) {
  panel.selected = place;
  choose_node_of(panel, data, ui.selection);
}

void keys(TimelinePanel& panel, const ProfileData& data, const Ui& ui) {
  if (ImGui::GetIO().WantTextInput) return;
  if (ImGui::IsKeyPressed(ImGuiKey_M, false)) ui.commands.run("profile.mark");
  if (ImGui::IsKeyPressed(ImGuiKey_I, false)) mark_edge(panel, data, true);
  if (ImGui::IsKeyPressed(ImGuiKey_O, false) && !ImGui::GetIO().KeyCtrl) mark_edge(panel, data, false);
  if (ImGui::IsKeyPressed(ImGuiKey_B, false) && !ImGui::GetIO().KeyCtrl) ui.commands.run("profile.bookmark");
  if (ImGui::IsKeyPressed(ImGuiKey_N))
    ui.commands.run(ImGui::GetIO().KeyShift ? "profile.previous_bookmark" : "profile.next_bookmark");
  if (ImGui::IsKeyPressed(ImGuiKey_R, false)) ui.commands.run("profile.explain");
  if (ImGui::IsKeyPressed(ImGuiKey_S))
    ui.commands.run(ImGui::GetIO().KeyShift ? "profile.slower" : "profile.slowest");
  if (ImGui::IsKeyPressed(ImGuiKey_F, false)) fit(panel);
  if (ImGui::IsKeyPressed(ImGuiKey_Z, false)) zoom_to_selection(panel, data);
  if (ImGui::IsKeyPressed(ImGuiKey_Escape, false)) panel.measured.reset(), panel.selected.reset();
  const double step = panel.view.width() / 10;
  if (ImGui::IsKeyPressed(ImGuiKey_LeftArrow)) panel.view.pan(step);
  if (ImGui::IsKeyPressed(ImGuiKey_RightArrow)) panel.view.pan(-step);
  if (ImGui::IsKeyPressed(ImGuiKey_UpArrow)) panel.view.zoom(1.3, panel.view.width() / 2);
  if (ImGui::IsKeyPressed(ImGuiKey_DownArrow)) panel.view.zoom(1 / 1.3, panel.view.width() / 2);
}

void wheel(TimelinePanel& panel, float x) {
  const auto& io = ImGui::GetIO();
  if (io.KeyCtrl) {
    panel.scroll -= io.MouseWheel * 3 * em();
  } else if (io.MouseWheel != 0) {
    panel.view.zoom(std::pow(1.25, io.MouseWheel), x);
  }
  if (io.MouseWheelH != 0) panel.view.pan(io.MouseWheelH * 4 * em());
}

// A drag on the ruler or with Shift measures; any other moves what is shown.
void drag(TimelinePanel& panel, const ProfileData& data, ImVec2 low, bool on_ruler) {
  const auto& io = ImGui::GetIO();
  const double time = panel.view.time_of(io.MousePos.x - low.x);
  const double reach = 0.4 * em() * panel.view.scale();
  if (ImGui::IsItemActivated() && (io.KeyShift || on_ruler))
    panel.measuring = snapped(data.timeline, time, reach);
  if (!ImGui::IsItemActive()) return;
  if (panel.measuring) {
    const double to = snapped(data.timeline, time, reach);
    panel.measured = Measure{std::min(*panel.measuring, to), std::max(*panel.measuring, to)};
    if (panel.measured->length() <= 0) panel.measured.reset();
  } else if (ImGui::IsMouseDragging(ImGuiMouseButton_Left, 2)) {
    panel.view.pan(io.MouseDelta.x);
    panel.scroll -= io.MouseDelta.y;
  }
}

void tooltip_of(const TimelinePanel& panel, const ProfileData& data, const Ui& ui) {
  const auto& place = *panel.hovered;
  const auto capture = data.timeline.lanes[place.lane].capture;
  const auto item = data.timeline.lanes[place.lane].rows[place.row].item(place.index);
  if (!ImGui::BeginTooltip()) return;
  ImGui::PushTextWrapPos(32 * em());
  const auto lines = describe(data.traces[capture], data.structures[capture], item);
  for (std::size_t i = 0; i < lines.size(); ++i) {
    if (i == 0) ImGui::PushFont(ui.fonts.bold, 0);
    ImGui::TextUnformatted(lines[i].c_str());
    if (i == 0) ImGui::PopFont();
  }
  ImGui::PopTextWrapPos();
  ImGui::EndTooltip();
}

// A node chosen in another panel: its first slice in wide comes into view.
void follow_selection(TimelinePanel& panel, const ProfileData& data, const Ui& ui) {
  if (panel.seen == ui.selection.revision) return;
  panel.seen = ui.selection.revision;
  if (ui.selection.node.empty()) return;
  for (std::size_t lane = 0; lane < data.timeline.lanes.size(); ++lane) {
    const auto& here = data.timeline.lanes[lane];
    if (here.capture != data.wide) continue;
    const auto& trace = data.traces[here.capture];
    for (std::size_t row = 0; row < here.rows.size(); ++row) {
      constexpr std::size_t kLookedAt = 100'000;  // of a first pass that is long there is enough in these
      for (std::size_t i = 0; i < std::min(kLookedAt, here.rows[row].size()); ++i) {
        const auto item = here.rows[row].item(i);
        const auto node = trace.slices.node(item);
        if (node < 0 || static_cast<std::size_t>(node) >= trace.nodes.size()) continue;
        if (trace.slices.kind(item) != profiler::Kind::kNode) continue;
        if (selection_name(trace.nodes[static_cast<std::size_t>(node)].name) != ui.selection.node) continue;
        panel.selected = SlicePlace{lane, row, i};
        panel.view.reveal(static_cast<double>(here.rows[row].start(i)));
        return;
      }
    }
  }
}

void draw_minimap_with_mouse(TimelinePanel& panel, const ProfileData& data, const Ui& ui, float width,
                             float height) {
  const auto low = ImGui::GetCursorScreenPos();
  ImGui::InvisibleButton("##minimap", {width, height});
  if (ImGui::IsItemActive()) {
    const double share = (ImGui::GetIO().MousePos.x - low.x) / width;
    const double middle = share * static_cast<double>(std::max<std::int64_t>(1, data.timeline.length));
    panel.view.pan((panel.view.from() + panel.view.to()) / 2 / panel.view.scale() -
                   middle / panel.view.scale());
  }
  draw_minimap(panel, data, ui, low, {low.x + width, low.y + height});
}

}  // namespace

void reset(TimelinePanel& panel) {
  panel = {.looked_for = panel.looked_for};
}

void fit(TimelinePanel& panel) {
  panel.view.fit();
}

bool zoom_to_selection(TimelinePanel& panel, const ProfileData& data) {
  if (panel.measured) {
    panel.view.show(panel.measured->from, panel.measured->to);
    return true;
  }
  if (!panel.selected) return false;
  const auto& row = data.timeline.lanes[panel.selected->lane].rows[panel.selected->row];
  panel.view.show(static_cast<double>(row.start(panel.selected->index)),
                  static_cast<double>(row.end(panel.selected->index)));
  return true;
}

void look_for(TimelinePanel& panel, const ProfileData& data, const std::string& text) {
  panel.looked_for = text;
  panel.search.look_for(text, data.timeline, data.traces);
}

bool go_to_next(TimelinePanel& panel, const ProfileData& data, bool forwards) {
  double time = panel.view.from();
  if (panel.selected) {
    const auto& row = data.timeline.lanes[panel.selected->lane].rows[panel.selected->row];
    time = static_cast<double>(row.start(panel.selected->index));
  }
  const auto place = panel.search.next(data.timeline, time, forwards);
  if (!place) return false;
  panel.selected = place;
  panel.view.reveal(
      static_cast<double>(data.timeline.lanes[place->lane].rows[place->row].start(place->index)));
  return true;
}

void choose_node_of(TimelinePanel& panel, const ProfileData& data, Selection& selection) {
  if (!panel.selected) return;
  const auto slice = slice_at(data.timeline, data.traces, *panel.selected);
  const auto& nodes = data.traces[data.timeline.lanes[panel.selected->lane].capture].nodes;
  if (slice.node >= 0 && static_cast<std::size_t>(slice.node) < nodes.size())
    selection.choose_node(selection_name(nodes[static_cast<std::size_t>(slice.node)].name));
  panel.seen = selection.revision;
}

void mark_edge(TimelinePanel& panel, const ProfileData& data, bool begin) {
  const double length = static_cast<double>(data.timeline.length);
  double from = std::max(0.0, panel.view.from()), to = std::min(panel.view.to(), length);
  if (panel.selected) {
    const auto& row = data.timeline.lanes[panel.selected->lane].rows[panel.selected->row];
    from = static_cast<double>(row.start(panel.selected->index));
    to = static_cast<double>(row.end(panel.selected->index));
  }
  auto marked = panel.measured.value_or(Measure{from, to});
  (begin ? marked.from : marked.to) = begin ? from : to;
  // Beyond the other edge that one goes along.
  if (marked.from >= marked.to) marked = {from, to};
  panel.measured = marked;
}

void draw_timeline(TimelinePanel& panel, const ProfileData& data, const Ui& ui, float below) {
  const auto room = ImGui::GetContentRegionAvail();
  const float ruler = 1.5F * em(), minimap = 2.2F * em(), gap = 0.3F * em();
  const float width = std::max(4 * em(), room.x);
  const float lanes = std::max(4 * em(), room.y - below - ruler - minimap - gap);
  panel.view.set_extent(0, static_cast<double>(std::max<std::int64_t>(1, data.timeline.length)));
  panel.view.set_width(width);
  if (!panel.fitted) panel.view.fit(), panel.fitted = true;
  follow_selection(panel, data, ui);

  const auto low = ImGui::GetCursorScreenPos();
  ImGui::InvisibleButton("##ruler", {width, ruler});
  ImGui::SetItemKeyOwner(ImGuiKey_MouseWheelY);
  if (ImGui::IsItemHovered()) wheel(panel, ImGui::GetIO().MousePos.x - low.x);
  drag(panel, data, low, true);
  bool dragging = ImGui::IsItemActive();
  ImGui::SetCursorScreenPos({low.x, low.y + ruler});
  ImGui::InvisibleButton("##lanes", {width, lanes});
  ImGui::SetItemKeyOwner(ImGuiKey_MouseWheelY);
  ImGui::SetItemKeyOwner(ImGuiKey_MouseWheelX);
  const bool hovered = ImGui::IsItemHovered();
  if (hovered) wheel(panel, ImGui::GetIO().MousePos.x - low.x);
  drag(panel, data, low, false);
  dragging = dragging || ImGui::IsItemActive();
  if (!dragging) panel.measuring.reset();
  panel.scroll = std::clamp(panel.scroll, 0.0F, std::max(0.0F, panel.height - lanes));
  const auto layout = layout_of(panel, {low.x, low.y + ruler}, {low.x + width, low.y + ruler + lanes});
  panel.hovered = hovered ? place_under(panel, data, layout, ImGui::GetIO().MousePos) : std::nullopt;
  panel.pointed =
      hovered ? std::optional(panel.view.time_of(ImGui::GetIO().MousePos.x - low.x)) : std::nullopt;
  const bool still = ImGui::GetIO().MouseDragMaxDistanceSqr[0] < 9;
  if (ImGui::IsItemDeactivated() && still && !ImGui::GetIO().KeyShift) select(panel, data, ui, panel.hovered);
  if (hovered && ImGui::IsMouseDoubleClicked(ImGuiMouseButton_Left) && panel.hovered) {
    panel.selected = panel.hovered;
    panel.measured.reset();
    zoom_to_selection(panel, data);
  }
  if (hovered || ImGui::IsItemFocused() || ImGui::IsWindowFocused()) keys(panel, data, ui);

  draw_ruler(panel, ui, low, {low.x + width, low.y + ruler});
  draw_lanes(panel, data, ui, layout);
  draw_measure(panel, data, ui, layout);
  draw_bookmarks(panel, ui, low, layout.high, ruler);
  if (panel.hovered && !ImGui::IsMouseDragging(ImGuiMouseButton_Left, 2)) tooltip_of(panel, data, ui);
  ImGui::SetCursorScreenPos({low.x, low.y + ruler + lanes + gap});
  draw_minimap_with_mouse(panel, data, ui, width, minimap);
}

}  // namespace wide::gui
