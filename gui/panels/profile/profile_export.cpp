// Timeline and gain split as SVG documents, in the light palette.
#include <algorithm>
#include <array>
#include <cmath>

#include "gui/panels/profile/profile_panel.h"
#include "gui/views/drawing.h"
#include "gui/views/quantity.h"
#include "results/table.h"

namespace wide::gui {
namespace {

std::string hex(const ImVec4& colour) {
  std::array<char, 8> text{};
  const auto part = [](float value) {
    return static_cast<unsigned>(std::lround(std::clamp(value, 0.0F, 1.0F) * 255));
  };
  std::snprintf(text.data(), text.size(), "#%02x%02x%02x", part(colour.x), part(colour.y), part(colour.z));
  return text.data();
}

std::string fill(const ImVec4& colour, double opacity = 1) {
  auto style = "fill=\"" + hex(colour) + "\"";
  std::array<char, 32> text{};
  std::snprintf(text.data(), text.size(), " fill-opacity=\"%.2f\"", opacity * static_cast<double>(colour.w));
  return style.append(text.data());
}

struct Frame {
  const TimeView& view;
  double left, width;
  double x(double time) const { return left + std::clamp(view.x_of(time) / view.width(), 0.0, 1.0) * width; }
};

void draw_row(Drawing& drawing, const Frame& frame, const ProfileData& data, const TimelineLane& lane,
              const BlockRow& row, double top, double bar, const Theme& theme) {
  const auto& trace = data.traces[lane.capture];
  std::vector<Block> blocks;
  const double scale = frame.view.scale() * frame.view.width() / frame.width;
  row.blocks(frame.view.from(), frame.view.to(), 2 * scale, blocks);
  for (const auto& block : blocks) {
    const auto item = row.item(block.longest);
    const double left = frame.x(static_cast<double>(block.start)),
                 right = frame.x(static_cast<double>(block.end));
    auto title = std::string(trace.names[trace.slices.name(item)]);
    title.append(", ").append(span_text(static_cast<double>(trace.slices.duration(item))));
    if (block.merged()) title.append(" and ").append(std::to_string(block.count - 1)).append(" more");
    const auto colour = colour_of(theme, trace.slices.kind(item), data.structures[lane.capture].copy[item]);
    drawing.rectangle(left, top, std::max(0.5, right - left), bar,
                      fill(colour, block.merged() ? 0.4 + 0.6 * block.filled() : 1), title);
    if (!block.merged() && right - left > 60) {
      const auto most = static_cast<std::size_t>((right - left) / 7);
      drawing.text(left + 3, top + bar - 4, results::printable(trace.names[trace.slices.name(item)], most),
                   "start", "font-size=\"11\"");
    }
  }
}

}  // namespace

std::string timeline_svg(const ProfileData& data, const TimeView& view, double width) {
  constexpr double kBar = 16, kPitch = 18, kHeader = 22, kRuler = 24;
  const auto theme = light_theme();
  double height = kRuler + 8;
  for (const auto& lane : data.timeline.lanes)
    height += kHeader + kPitch * static_cast<double>(lane.rows.size()) + 6;
  Drawing drawing(width, height);
  const Frame frame{view, 8, width - 16};
  const double apart = 90 * view.width() / frame.width;
  for (const auto& tick : ticks(view, apart)) {
    if (tick.text.empty()) continue;
    drawing.line(frame.x(tick.time), kRuler - 6, frame.x(tick.time), height, "stroke=\"#dddddd\"");
    drawing.text(frame.x(tick.time) + 2, kRuler - 8, tick.text);
  }
  double top = kRuler;
  for (const auto& lane : data.timeline.lanes) {
    auto title = results::printable(data.traces[lane.capture].contender, 40);
    drawing.text(frame.left, top + 15, title.append("  ").append(lane.title), "start",
                 "font-weight=\"bold\"");
    top += kHeader;
    for (const auto& row : lane.rows) {
      draw_row(drawing, frame, data, lane, row, top, kBar, theme);
      top += kPitch;
    }
    top += 6;
  }
  return drawing.document();
}

std::string gain_svg(const profiler::Comparison& comparison) {
  constexpr double kLeft = 160, kWidth = 480, kPitch = 30, kBar = 20, kTop = 40;
  const auto theme = light_theme();
  const auto parts = gain_parts(comparison.gain);
  double most = std::max({comparison.gain.rival_us, comparison.gain.wide_us, 1e-9}),
         at = comparison.gain.rival_us;
  for (const auto& part : parts) most = std::max(most, at -= part.us);
  Drawing drawing(820, kTop + kPitch * static_cast<double>(parts.size() + 2) + 16);
  auto title = results::printable(comparison.wide, 40);
  drawing.text(16, 22,
               title.append(" against ").append(results::printable(comparison.rival, 40)).append(", a pass"),
               "start", "font-weight=\"bold\"");
  double top = kTop;
  const auto bar = [&](const std::string& name, double from, double to, const ImVec4& colour,
                       const std::string& value) {
    const double left = kLeft + std::min(from, to) / most * kWidth,
                 right = kLeft + std::max(from, to) / most * kWidth;
    drawing.text(kLeft - 8, top + 14, name, "end");
    drawing.rectangle(left, top, std::max(1.0, right - left), kBar, fill(colour), value);
    drawing.text(right + 6, top + 14, value);
    top += kPitch;
  };
  bar(comparison.rival, 0, comparison.gain.rival_us, theme.rival, show_time({comparison.gain.rival_us}));
  at = comparison.gain.rival_us;
  for (const auto& part : parts) {
    std::string value = part.us >= 0 ? "-" : "+";
    bar(part.name, at, at - part.us, part.us >= 0 ? theme.good : theme.bad,
        value.append(show_time({std::abs(part.us)})));
    at -= part.us;
  }
  bar(comparison.wide, 0, comparison.gain.wide_us, theme.wide, show_time({comparison.gain.wide_us}));
  return drawing.document();
}

}  // namespace wide::gui
