// Lanes and blocks on the screen: a rectangle per block, never per event.
#include <algorithm>
#include <cmath>

#include "gui/icons.h"
#include "gui/panels/profile/timeline_panel.h"
#include "gui/views/quantity.h"
#include "results/table.h"

namespace wide::gui {
namespace {

using profiler::Kind;

constexpr double kNarrow = 2;  // pixels: what is narrower is merged

struct Canvas {
  ImDrawList& list;
  const TimelinePanel& panel;
  const LaneLayout& layout;

  float x(double time) const {
    const double at = std::clamp(panel.view.x_of(time), -2.0, panel.view.width() + 2);
    return layout.low.x + static_cast<float>(at);
  }
};

// Shades of how full a merged block is: few, so that neighbours become one rectangle.
float shade(double filled) {
  constexpr double kSteps = 6;
  return static_cast<float>(0.30 + 0.70 * std::ceil(filled * kSteps) / kSteps);
}

// Rectangles of one height from left to right. On whole pixels: a smoothed edge would make ten triangles of
// two, and on software rendering triangles are what a frame costs. Those of one colour that touch become one.
class Strip {
 public:
  Strip(ImDrawList& list, float top, float bottom)
      : list_(list), top_(std::round(top)), bottom_(std::max(top_ + 1, std::round(bottom))) {}
  ~Strip() { flush(); }
  Strip(const Strip&) = delete;
  Strip& operator=(const Strip&) = delete;

  /// At least a pixel wide. `reach`: how many pixels away a neighbour of the same colour still touches it.
  void add(float left, float right, ImU32 colour, float reach = 0) {
    left = std::round(left);
    right = std::max(left + 1, std::round(right));
    if (colour_ == colour && left - right_ <= reach) {
      right_ = std::max(right_, right);
      return;
    }
    flush();
    left_ = left, right_ = right, colour_ = colour;
  }
  /// What is drawn by others after this lies above.
  void flush() {
    if (colour_ == 0) return;
    list_.AddRectFilled({left_, top_}, {right_, bottom_}, colour_);
    ++drawn_;
    colour_ = 0;
  }
  std::size_t drawn() const { return drawn_; }

 private:
  ImDrawList& list_;
  float top_, bottom_, left_ = 0, right_ = 0;
  ImU32 colour_ = 0;  ///< 0: none waits
  std::size_t drawn_ = 0;
};

void draw_idle(const Canvas& canvas, const TimelineLane& lane, const Ui& ui, float top, float bottom,
               TimelinePanel& panel) {
  const auto& view = canvas.panel.view;
  const auto colour = packed(faded(ui.theme.idle, 0.8F));
  double from = std::max(0.0, view.from());
  const double length = lane.work.empty() ? 0 : static_cast<double>(lane.work.end(lane.work.size() - 1));
  const double to = std::min(view.to(), length);
  Strip strip(canvas.list, top, bottom);
  const auto fill = [&](double until) {
    if (until - from >= view.scale()) strip.add(canvas.x(from), canvas.x(until), colour);
  };
  lane.work.blocks(view.from(), view.to(), kNarrow * view.scale(), panel.blocks);
  for (const auto& block : panel.blocks) {
    fill(static_cast<double>(block.start));
    from = std::max(from, static_cast<double>(block.end));
  }
  fill(to);
}

void draw_label(const Canvas& canvas, std::string_view name, float left, float right, float top,
                ImU32 colour) {
  const float pad = 0.25F * em();
  left = std::max(left, canvas.layout.low.x) + pad;
  right = std::min(right, canvas.layout.high.x) - pad;
  if (right - left < 1.6F * em()) return;
  const auto shown = fitting(std::string(name), right - left);  // hovering tells the rest
  canvas.list.AddText({left, top + 0.02F * em()}, colour, shown.c_str());
}

// Dark text on light bars and the other way round.
ImU32 text_on(const ImVec4& colour) {
  const float light = 0.3F * colour.x + 0.6F * colour.y + 0.1F * colour.z;
  return light > 0.5F ? IM_COL32(16, 18, 22, 255) : IM_COL32(250, 250, 252, 255);
}

void draw_row(const Canvas& canvas, const ProfileData& data, const Ui& ui, std::size_t lane,
              std::size_t row_index, float top, TimelinePanel& panel) {
  const auto& here = data.timeline.lanes[lane];
  const auto& row = here.rows[row_index];
  const auto& trace = data.traces[here.capture];
  const auto& structure = data.structures[here.capture];
  const auto& view = panel.view;
  const bool searching = !panel.search.text().empty();
  row.blocks(view.from(), view.to(), kNarrow * view.scale(), panel.blocks);
  Strip strip(canvas.list, top, top + canvas.layout.bar);
  for (const auto& block : panel.blocks) {
    const auto item = row.item(block.longest);
    const auto kind = trace.slices.kind(item);
    const bool found = searching && panel.search.within(lane, row_index, block.first, block.count) > 0;
    auto colour = colour_of(ui.theme, kind, structure.copy[item]);
    if (searching && !found) colour = faded(colour, 0.25F);
    if (block.merged()) colour = faded(colour, shade(block.filled()));
    const float left = canvas.x(static_cast<double>(block.start));
    const float right = std::max(left + 1, canvas.x(static_cast<double>(block.end)));
    if (block.merged()) {
      strip.add(left, right, packed(colour), 1);
      continue;
    }
    strip.flush();
    strip.add(left, right - (right - left > 4 ? 1.0F : 0.0F), packed(colour));
    strip.flush();
    if (right - left > 2 * em())
      draw_label(canvas, trace.names[trace.slices.name(item)], left, right, top,
                 searching && !found ? packed(ui.theme.faint) : text_on(colour));
  }
  strip.flush();
  panel.drawn += strip.drawn();
}

void outline(const Canvas& canvas, const ProfileData& data, const Ui& ui, const SlicePlace& place,
             float top) {
  const auto& row = data.timeline.lanes[place.lane].rows[place.row];
  const float left = canvas.x(static_cast<double>(row.start(place.index)));
  const float right = std::max(left + 2, canvas.x(static_cast<double>(row.end(place.index))));
  const float thick = std::max(1.5F, 0.1F * em());
  canvas.list.AddRect({left - 1, top - 1}, {right + 1, top + canvas.layout.bar + 1}, packed(ui.theme.text), 0,
                      thick);
}

void draw_title(const Canvas& canvas, const ProfileData& data, const Ui& ui, const TimelineLane& lane,
                float top) {
  const auto& trace = data.traces[lane.capture];
  const bool wide = lane.capture == data.wide;
  auto title = results::printable(trace.contender, 40);
  title.append("  ").append(lane.title);
  const float from = canvas.layout.low.x;
  canvas.list.AddLine({canvas.layout.low.x, top}, {canvas.layout.high.x, top}, packed(ui.theme.hairline));
  canvas.list.AddRectFilled({from, top + 0.28F * em()}, {from + 0.25F * em(), top + 1.12F * em()},
                            packed(wide ? ui.theme.wide : ui.theme.rival));
  canvas.list.AddText(ui.fonts.bold, em(), {from + 0.5F * em(), top + 0.12F * em()}, packed(ui.theme.text),
                      title.c_str());
  const double length = canvas.panel.view.to() - canvas.panel.view.from();
  if (length <= 0 || lane.work.empty()) return;
  const double busy = lane.work.busy(canvas.panel.view.from(), canvas.panel.view.to());
  const double within = std::min(canvas.panel.view.to(), static_cast<double>(data.timeline.length)) -
                        std::max(0.0, canvas.panel.view.from());
  auto text = show_time({busy / 1e3});
  text.append(" busy");
  if (within > 0) text.append(", ").append(show_share({busy / within})).append(" of what is shown");
  const float width = ImGui::CalcTextSize(text.c_str()).x;
  canvas.list.AddText({canvas.layout.high.x - width - 0.4F * em(), top + 0.12F * em()},
                      packed(ui.theme.faint), text.c_str());
}

}  // namespace

ImVec4 colour_of(const Theme& theme, Kind kind, bool copy) {
  if (copy) return theme.series[5];
  switch (kind) {
    case Kind::kPass:
    case Kind::kMember:
      return faded(theme.neutral, 0.45F);
    case Kind::kNode:
      return theme.series[1];
    case Kind::kConversion:
    case Kind::kMemcpy:
    case Kind::kMemset:
      return theme.series[5];
    case Kind::kOperator:
    case Kind::kKernel:
      return theme.series[2];
    case Kind::kRuntime:
    case Kind::kDriver:
      return theme.series[0];
    case Kind::kSync:
    case Kind::kOverhead:
      return theme.series[6];
    case Kind::kAnnotation:
    case Kind::kGpuAnnotation:
    case Kind::kOther:
      break;
  }
  return faded(theme.neutral, 0.6F);
}

void draw_legend(const Ui& ui) {
  struct Entry {
    const char* word;
    ImVec4 colour;
  };
  const Entry entries[] = {{"node", colour_of(ui.theme, Kind::kNode, false)},
                           {"operator, kernel", colour_of(ui.theme, Kind::kKernel, false)},
                           {"moves data", colour_of(ui.theme, Kind::kMemcpy, true)},
                           {"launch", colour_of(ui.theme, Kind::kRuntime, false)},
                           {"wait", colour_of(ui.theme, Kind::kSync, false)},
                           {"idle", faded(ui.theme.idle, 0.8F)}};
  auto& list = *ImGui::GetWindowDrawList();
  bool first = true;
  for (const auto& entry : entries) {
    const float width = ImGui::CalcTextSize(entry.word).x + 1.6F * em();
    if (!first &&
        ImGui::GetContentRegionAvail().x - (ImGui::GetItemRectMax().x - ImGui::GetCursorScreenPos().x) >
            width)
      ImGui::SameLine(0, 0.8F * em());
    first = false;
    const auto at = ImGui::GetCursorScreenPos();
    list.AddRectFilled({at.x, at.y + 0.2F * em()}, {at.x + 0.7F * em(), at.y + 0.9F * em()},
                       packed(entry.colour));
    ImGui::SetCursorScreenPos({at.x + 0.95F * em(), at.y});
    ImGui::PushStyleColor(ImGuiCol_Text, ui.theme.faint);
    ImGui::TextUnformatted(entry.word);
    ImGui::PopStyleColor();
  }
}

std::vector<float> lane_tops(const Timeline& timeline, const LaneLayout& layout) {
  std::vector<float> tops = {layout.low.y - layout.scroll};
  for (const auto& lane : timeline.lanes)
    tops.push_back(tops.back() + layout.header + layout.row * static_cast<float>(lane.rows.size()) +
                   0.35F * em());
  return tops;
}

void draw_ruler(const TimelinePanel& panel, const Ui& ui, ImVec2 low, ImVec2 high) {
  auto& list = *ImGui::GetWindowDrawList();
  list.PushClipRect(low, high, true);
  for (const auto& tick : ticks(panel.view, 6 * em())) {
    const float x = low.x + static_cast<float>(panel.view.x_of(tick.time));
    const bool major = !tick.text.empty();
    list.AddLine({x, high.y - (major ? 0.45F : 0.22F) * em()}, {x, high.y}, packed(ui.theme.faint));
    const float end = x + 0.2F * em() + ImGui::CalcTextSize(tick.text.c_str()).x;
    if (major && x >= low.x - 1 && end <= high.x)
      list.AddText({x + 0.2F * em(), low.y}, packed(ui.theme.faint), tick.text.c_str());
  }
  list.AddLine({low.x, high.y}, {high.x, high.y}, packed(ui.theme.hairline));
  list.PopClipRect();
}

void draw_lanes(TimelinePanel& panel, const ProfileData& data, const Ui& ui, const LaneLayout& layout) {
  auto& list = *ImGui::GetWindowDrawList();
  list.PushClipRect(layout.low, layout.high, true);
  const Canvas canvas{list, panel, layout};
  const auto tops = lane_tops(data.timeline, layout);
  panel.height = tops.back() - tops.front();
  panel.drawn = 0;
  for (std::size_t lane = 0; lane < data.timeline.lanes.size(); ++lane) {
    if (tops[lane + 1] < layout.low.y || tops[lane] > layout.high.y) continue;
    const auto& here = data.timeline.lanes[lane];
    const float rows_top = tops[lane] + layout.header;
    draw_idle(canvas, here, ui, rows_top, rows_top + layout.row * static_cast<float>(here.rows.size()),
              panel);
    for (std::size_t row = 0; row < here.rows.size(); ++row) {
      const float top = rows_top + layout.row * static_cast<float>(row);
      if (top + layout.row < layout.low.y || top > layout.high.y) continue;
      draw_row(canvas, data, ui, lane, row, top, panel);
      if (panel.selected && panel.selected->lane == lane && panel.selected->row == row)
        outline(canvas, data, ui, *panel.selected, top);
      if (panel.hovered && panel.hovered->lane == lane && panel.hovered->row == row)
        outline(canvas, data, ui, *panel.hovered, top);
    }
    draw_title(canvas, data, ui, here, tops[lane]);
  }
  list.PopClipRect();
}

void draw_measure(const TimelinePanel& panel, const ProfileData& data, const Ui& ui,
                  const LaneLayout& layout) {
  if (!panel.measured) return;
  auto& list = *ImGui::GetWindowDrawList();
  const Canvas canvas{list, panel, layout};
  const float left = canvas.x(panel.measured->from), right = canvas.x(panel.measured->to);
  list.PushClipRect(layout.low, layout.high, true);
  list.AddRectFilled({left, layout.low.y}, {right, layout.high.y}, packed(faded(ui.theme.accent, 0.12F)));
  for (const float x : {left, right})
    list.AddLine({x, layout.low.y}, {x, layout.high.y}, packed(ui.theme.accent), 1.5F);
  std::string text = span_text(panel.measured->length());
  for (const auto& lane : data.timeline.lanes) {
    const auto seen = measured(lane, *panel.measured);
    if (seen.slices == 0) continue;
    text.append("\n")
        .append(results::printable(data.traces[lane.capture].contender, 20))
        .append(" ")
        .append(lane.title);
    text.append(": ").append(show_share({seen.busy_ns / panel.measured->length()})).append(" busy, ");
    text.append(show_count({static_cast<double>(seen.slices)})).append(" events");
  }
  const auto size = ImGui::CalcTextSize(text.c_str());
  const float pad = 0.4F * em();
  const float x = std::clamp((left + right - size.x) / 2, layout.low.x + pad,
                             std::max(layout.low.x + pad, layout.high.x - size.x - pad));
  const float y = layout.high.y - size.y - 2 * pad;
  list.AddRectFilled({x - pad, y - pad}, {x + size.x + pad, y + size.y + pad}, packed(ui.theme.raised),
                     0.2F * em());
  list.AddText({x, y}, packed(ui.theme.text), text.c_str());
  list.PopClipRect();
}

void draw_minimap(TimelinePanel& panel, const ProfileData& data, const Ui& ui, ImVec2 low, ImVec2 high) {
  auto& list = *ImGui::GetWindowDrawList();
  list.AddRectFilled(low, high, packed(faded(ui.theme.raised, 0.6F)));
  const double length = static_cast<double>(std::max<std::int64_t>(1, data.timeline.length));
  const auto x = [&](double time) {
    return low.x + static_cast<float>(std::clamp(time / length, 0.0, 1.0)) * (high.x - low.x);
  };
  const auto lanes = std::max<std::size_t>(1, data.timeline.lanes.size());
  const float pitch = (high.y - low.y) / static_cast<float>(lanes);
  // It always shows everything: what there is to draw changes with its width only.
  const bool known = panel.minimap_width == high.x - low.x;
  panel.minimap_width = high.x - low.x;
  panel.minimap.resize(data.timeline.lanes.size());
  for (std::size_t i = 0; i < data.timeline.lanes.size(); ++i) {
    const auto& lane = data.timeline.lanes[i];
    auto& blocks = panel.minimap[i];
    const float top = low.y + pitch * static_cast<float>(i);
    const auto& colour = lane.capture == data.wide ? ui.theme.wide : ui.theme.rival;
    if (!known) lane.work.blocks(0, length, 2 * length / std::max(1.0F, high.x - low.x), blocks);
    Strip strip(list, top + 0.15F * pitch, top + 0.85F * pitch);
    for (const auto& block : blocks)
      strip.add(x(static_cast<double>(block.start)), x(static_cast<double>(block.end)),
                packed(faded(colour, shade(block.filled()))));
  }
  const float left = x(panel.view.from()), right = std::max(left + 3, x(panel.view.to()));
  const auto veil = packed(faded(ui.theme.window, 0.6F));
  list.AddRectFilled(low, {left, high.y}, veil);
  list.AddRectFilled({right, low.y}, high, veil);
  list.AddRect({left, low.y}, {right, high.y}, packed(ui.theme.accent));
}

}  // namespace wide::gui
