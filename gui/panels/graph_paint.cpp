// A graph of a thousand boxes is drawn in a few milliseconds: what is out of sight is left out, and what is
// too small to be read has no text, no bars and straight links.
#include "gui/panels/graph_paint.h"

#include <algorithm>
#include <cmath>

#include "gui/icons.h"
#include "gui/views/quantity.h"

namespace wide::gui {
namespace {

constexpr float kReadableLetter = 4;  // pixels of a letter

ImVec4 mixed(const ImVec4& a, const ImVec4& b, float share) {
  return {a.x + (b.x - a.x) * share, a.y + (b.y - a.y) * share, a.z + (b.z - a.z) * share, a.w};
}

// Strong enough to be told apart, faint enough to be written on.
ImVec4 heat(const Theme& theme, double share) {
  return mixed(theme.raised, theme.series[5], 0.55F * static_cast<float>(std::clamp(share, 0.0, 1.0)));
}

// All nodes of a box together.
struct BoxSum {
  double us = 0, change_us = 0;
  bool measured = true, sequential = false, choosable = false;
  std::size_t differing = 0;
};

BoxSum sum_of(const GraphPanel& panel, const GraphBox& box, const ModelView& model) {
  BoxSum sum;
  for (const auto i : box.nodes) {
    const auto& node = model.graph[i];
    const bool marked = i < panel.marks.nodes.size();
    const double us = marked ? panel.marks.nodes[i].us : node.microseconds;
    sum.us += us;
    sum.measured = sum.measured && (us == 0 || (marked ? panel.marks.nodes[i].measured : node.measured));
    sum.sequential = sum.sequential || node.strategy == "sequential";
    sum.choosable = sum.choosable || node.choosable();
    if (!marked || panel.marks.nodes[i].differs.empty()) continue;
    sum.change_us += panel.marks.nodes[i].change_us;
    ++sum.differing;
  }
  return sum;
}

std::string change_text(double us) {
  return us == 0 ? std::string("same time") : (us > 0 ? "+" : "") + show_time({us});
}

struct BoxLook {
  ImVec4 stripe, fill;
  float alpha = 1;
};

BoxLook look_of_box(const GraphPanel& panel, const GraphBox& box, const BoxSum& sum, double most,
                    const Ui& ui) {
  const auto& theme = ui.theme;
  BoxLook look{theme.wide, theme.raised};
  if (box.nodes.empty()) {
    look.stripe = theme.other;
  } else if (sum.sequential) {
    look.stripe = theme.warning;
  } else if (!box.module.empty()) {
    look.stripe = theme.good;
  } else if (!sum.choosable) {
    look.stripe = theme.neutral;
  }
  if (panel.colour == GraphColour::kTime && most > 0) look.fill = heat(theme, sum.us / most);
  if (panel.colour != GraphColour::kPlan) return look;
  look.stripe = sum.differing == 0       ? theme.neutral
                : sum.change_us > 0.005  ? theme.bad
                : sum.change_us < -0.005 ? theme.good
                                         : theme.warning;
  if (sum.differing == 0) look.alpha = 0.45F;
  return look;
}

void write_box(const GraphPanel& panel, const GraphBox& box, const ModelView& model, const Ui& ui,
               const GraphPlace& place, float alpha) {
  const float size = std::round(2 * place.unit) / 2;
  const auto at = place.corner(box);
  const auto text = text_of(panel, box, model);
  const float left = at.x + 0.7F * place.unit, room = (kBoxWidth - 1.0F) * em();
  auto* list = ImGui::GetWindowDrawList();
  const auto write = [&](float down, const std::string& line, ImFont* font, const ImVec4& colour) {
    ImGui::PushFont(font, 0);
    const auto shown = fitting(line, room);
    ImGui::PopFont();
    list->AddText(font, size, {left, at.y + down * place.unit}, packed(faded(colour, alpha)), shown.c_str());
  };
  const bool on_colour = panel.colour == GraphColour::kTime;
  write(0.30F, text.title, ui.fonts.bold, ui.theme.text);
  write(1.45F, text.line, ui.fonts.text, on_colour ? ui.theme.text : ui.theme.faint);
  write(2.55F, text.time, ui.fonts.text, ui.theme.text);
}

void paint_box(const GraphPanel& panel, const GraphBox& box, const ModelView& model, const Ui& ui,
               const GraphPlace& place, double most, int frame) {
  const auto sum = sum_of(panel, box, model);
  auto look = look_of_box(panel, box, sum, most, ui);
  if (!matches(box, model, panel.filter)) look.alpha *= 0.35F;
  const bool readable = place.unit >= kReadableLetter;
  const auto at = place.corner(box), size = place.size();
  const ImVec2 end{at.x + size.x, at.y + size.y};
  auto* list = ImGui::GetWindowDrawList();
  // A stripe that is thinner than a pixel says nothing: the box has its colour.
  if (!readable && panel.colour != GraphColour::kTime) look.fill = mixed(look.fill, look.stripe, 0.6F);
  list->AddRectFilled(at, end, packed(faded(look.fill, look.alpha)), readable ? 0.25F * place.unit : 0);
  if (readable)
    list->AddRectFilled(at, {at.x + 0.28F * place.unit, end.y}, packed(faded(look.stripe, look.alpha)),
                        0.1F * place.unit);
  if (frame > 0) {
    list->AddRect(at, end, packed(ui.theme.accent), readable ? 0.25F * place.unit : 0, 0,
                  frame == 2 ? 2.5F : 1.5F);
  } else if (readable) {
    list->AddRect(at, end, packed(faded(ui.theme.hairline, look.alpha)), 0.25F * place.unit);
  }
  if (!readable) return;
  write_box(panel, box, model, ui, place, look.alpha);
  if (!(model.pass_us > 0) || box.nodes.empty() || panel.colour == GraphColour::kPlan) return;
  const float width = 4.5F * place.unit;
  const float share = static_cast<float>(std::min(1.0, model.turns * sum.us / model.pass_us));
  const ImVec2 bar{end.x - 5.0F * place.unit, at.y + 2.85F * place.unit};
  const float low = bar.y + 0.4F * place.unit;
  list->AddRectFilled(bar, {bar.x + width, low}, packed(faded(ui.theme.hairline, 0.8F * look.alpha)));
  list->AddRectFilled(bar, {bar.x + width * share, low}, packed(faded(look.stripe, look.alpha)));
}

void paint_links(const GraphPanel& panel, const Ui& ui, const GraphPlace& place) {
  auto* list = ImGui::GetWindowDrawList();
  const auto size = place.size();
  const auto ink = packed(faded(ui.theme.neutral, 0.8F));
  const float bend = 3 * place.unit;
  const bool straight = place.unit < kReadableLetter;
  for (const auto& [first, second] : panel.picture.links) {
    auto from = place.corner(panel.picture.boxes[first]), to = place.corner(panel.picture.boxes[second]);
    from.x += size.x, from.y += size.y / 2, to.y += size.y / 2;
    const ImVec2 low{std::min(from.x, to.x) - bend, std::min(from.y, to.y)};
    const ImVec2 high{std::max(from.x, to.x) + bend, std::max(from.y, to.y)};
    if (!place.in_sight(low, high)) continue;
    if (straight) {
      list->AddLine(from, to, ink, 1);
    } else {
      list->AddBezierCubic(from, {from.x + bend, from.y}, {to.x - bend, to.y}, to, ink, 1.5F);
    }
  }
}

// The time of the box that takes most: what heat is measured by.
double most_of(const GraphPanel& panel, const ModelView& model) {
  double most = 0;
  if (panel.colour != GraphColour::kTime) return most;
  for (const auto& box : panel.picture.boxes) most = std::max(most, sum_of(panel, box, model).us);
  return most;
}

}  // namespace

GraphBounds bounds_of(const GraphPicture& picture) {
  GraphBounds bounds;
  for (const auto& box : picture.boxes) {
    const ImVec2 at{static_cast<float>(box.x) * (kBoxWidth + kBoxGapX),
                    static_cast<float>(box.y) * (kBoxHeight + kBoxGapY)};
    bounds.low = {std::min(bounds.low.x, at.x), std::min(bounds.low.y, at.y)};
    bounds.high = {std::max(bounds.high.x, at.x + kBoxWidth), std::max(bounds.high.y, at.y + kBoxHeight)};
  }
  return bounds;
}

BoxText text_of(const GraphPanel& panel, const GraphBox& box, const ModelView& model) {
  if (box.nodes.empty()) return {box.key.substr(6), "input", ""};
  const auto sum = sum_of(panel, box, model);
  BoxText text;
  if (sum.us > 0) text.time = (sum.measured ? "" : "~") + time_text(sum.us);
  if (!box.module.empty()) {
    text.title = std::string(icon::kModels) + " " + box.module;
    text.line = std::to_string(box.nodes.size()) + " operations";
    if (sum.differing > 0)
      text.line = std::to_string(sum.differing) + " of " + std::to_string(box.nodes.size()) + " differ";
  } else {
    const auto& node = model.graph[box.nodes.front()];
    text.title = node.kind, text.line = node.strategy;
    if (!node.layout.empty() && node.choosable())
      text.line.append(" ").append(icon::kCollapse).append(" ").append(node.layout);
    if (sum.differing > 0) text.line = panel.marks.nodes[box.nodes.front()].differs;
  }
  if (sum.sequential && sum.differing == 0) text.line = std::string(icon::kWarning) + " " + text.line;
  if (sum.differing > 0) text.time = (sum.measured ? "" : "~") + change_text(sum.change_us);
  return text;
}

std::string about(const GraphPanel& panel, const GraphBox& box, const ModelView& model) {
  const auto text = text_of(panel, box, model);
  auto whole = text.title;
  if (box.module.empty() && !box.nodes.empty())
    whole.append("  %").append(model.graph[box.nodes.front()].name);
  whole.append("\n").append(text.line);
  if (!text.time.empty()) whole.append("\n").append(text.time);
  if (!box.module.empty()) whole.append("\nA double click opens it by one level.");
  return whole;
}

void paint_graph(const GraphPanel& panel, const ModelView& model, const Ui& ui, const GraphPlace& place,
                 std::size_t hovered, std::size_t selected) {
  auto* list = ImGui::GetWindowDrawList();
  list->PushClipRect(place.low, place.high, true);
  paint_links(panel, ui, place);
  const double most = most_of(panel, model);
  const auto size = place.size();
  for (std::size_t i = 0; i < panel.picture.boxes.size(); ++i) {
    const auto& box = panel.picture.boxes[i];
    const auto at = place.corner(box);
    if (!place.in_sight(at, {at.x + size.x, at.y + size.y})) continue;
    paint_box(panel, box, model, ui, place, most, i == selected ? 2 : i == hovered ? 1 : 0);
  }
  list->PopClipRect();
}

GraphPlace place_of_map(const GraphPanel& panel, const GraphPlace& place) {
  const auto bounds = bounds_of(panel.picture);
  const float wide = bounds.high.x - bounds.low.x, high = bounds.high.y - bounds.low.y;
  const ImVec2 from{place.origin.x + bounds.low.x * place.unit, place.origin.y + bounds.low.y * place.unit};
  const ImVec2 to{from.x + wide * place.unit, from.y + high * place.unit};
  const bool all = from.x >= place.low.x - 1 && from.y >= place.low.y - 1 && to.x <= place.high.x + 1 &&
                   to.y <= place.high.y + 1;
  const float room_x = std::min(13 * em(), 0.35F * (place.high.x - place.low.x));
  const float room_y = std::min(9 * em(), 0.35F * (place.high.y - place.low.y));
  if (all || !(wide > 0) || !(high > 0) || room_x < 2 * em() || room_y < em())
    return {place.high, place.high, place.high};
  GraphPlace map;
  map.unit = std::min(room_x / wide, room_y / high);
  const float edge = 0.4F * em();
  map.high = {place.high.x - edge, place.high.y - edge};
  map.low = {map.high.x - wide * map.unit - edge, map.high.y - high * map.unit - edge};
  map.origin = {map.low.x + edge / 2 - bounds.low.x * map.unit,
                map.low.y + edge / 2 - bounds.low.y * map.unit};
  return map;
}

void paint_map(const GraphPanel& panel, const ModelView& model, const Ui& ui, const GraphPlace& map,
               const GraphPlace& place) {
  auto* list = ImGui::GetWindowDrawList();
  list->AddRectFilled(map.low, map.high, packed(faded(ui.theme.window, 0.92F)));
  list->AddRect(map.low, map.high, packed(ui.theme.hairline));
  const double most = most_of(panel, model);
  const auto size = map.size();
  for (const auto& box : panel.picture.boxes) {
    const auto sum = sum_of(panel, box, model);
    auto look = look_of_box(panel, box, sum, most, ui);
    if (!matches(box, model, panel.filter)) look.alpha *= 0.35F;
    const auto at = map.corner(box);
    const auto& ink = panel.colour == GraphColour::kTime ? look.fill : look.stripe;
    list->AddRectFilled(at, {at.x + std::max(1.0F, size.x), at.y + std::max(1.0F, size.y)},
                        packed(faded(ink, look.alpha)));
  }
  // What is in sight.
  const float by = map.unit / place.unit;
  const auto on_map = [&](ImVec2 at) {
    return ImVec2{std::clamp(map.origin.x + (at.x - place.origin.x) * by, map.low.x, map.high.x),
                  std::clamp(map.origin.y + (at.y - place.origin.y) * by, map.low.y, map.high.y)};
  };
  list->AddRect(on_map(place.low), on_map(place.high), packed(ui.theme.accent), 0, 0, 1.5F);
}

void draw_graph_legend(const GraphPanel& panel, const Ui& ui) {
  if (panel.colour == GraphColour::kStrategy) return;
  std::string text;
  const auto count = panel.marks.choices;
  if (panel.colour == GraphColour::kTime) {
    const auto low = ImGui::GetCursorScreenPos();
    const float width = 6 * em(), height = ImGui::GetTextLineHeight();
    ImGui::GetWindowDrawList()->AddRectFilledMultiColor(
        {low.x, low.y + 0.2F * height}, {low.x + width, low.y + 0.9F * height}, packed(heat(ui.theme, 0)),
        packed(heat(ui.theme, 1)), packed(heat(ui.theme, 1)), packed(heat(ui.theme, 0)));
    ImGui::Dummy({width, height});
    ImGui::SameLine();
    text = "none to most of the time; ";
    const auto captured = panel.marks.captured;
    if (captured == 0) {
      text += "as planned: a profile of this model (F6) shows what was captured";
    } else {
      text += "as captured";
      if (captured < count)
        text += ": " + std::to_string(captured) + " of " + std::to_string(count) + " operations";
    }
  } else {
    text = std::to_string(panel.marks.differing) + " of " + std::to_string(count) +
           " operations run otherwise than by " + name(panel.other);
    if (panel.marks.differing > 0) text += ": " + change_text(panel.marks.change_us) + " a pass by itself";
  }
  ImGui::PushStyleColor(ImGuiCol_Text, ui.theme.faint);
  fitted_text(text);
  ImGui::PopStyleColor();
}

}  // namespace wide::gui
