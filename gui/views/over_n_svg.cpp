// The plot over N as SVG.
#include <algorithm>
#include <array>
#include <cmath>

#include "gui/views/drawing.h"
#include "gui/views/over_n.h"
#include "gui/views/quantity.h"

namespace wide::gui {
namespace {

// Okabe and Ito, as the light theme has them.
constexpr std::array kInks = {"#c47f00", "#2a8fc9", "#009e73", "#9a8f00",
                              "#0072b2", "#d55e00", "#a8527f", "#1b1f24"};
constexpr const char* kUnreliableInk = "#8a6100";
constexpr double kPlotWidth = 860, kPlotHeight = 440, kPlotLeft = 90, kPlotRight = 600, kPlotTop = 40,
                 kPlotBottom = 390;

struct Scales {
  OverNBounds seen;
  double x(double n) const {
    return kPlotLeft +
           std::log(n / seen.n_low) / std::log(seen.n_high / seen.n_low) * (kPlotRight - kPlotLeft);
  }
  double y(double value) const {
    return kPlotBottom -
           std::log(value / seen.low) / std::log(seen.high / seen.low) * (kPlotBottom - kPlotTop);
  }
};

std::string stroke(const char* ink, const char* width) {
  return std::string("stroke=\"") + ink + "\" stroke-width=\"" + width + "\"";
}

std::string fill(const char* ink) {
  return std::string("fill=\"") + ink + "\"";
}

void draw_axes(Drawing& drawing, const Scales& scales, OverN what) {
  for (double n = 1; n <= scales.seen.n_high; n *= 2) {
    if (n < scales.seen.n_low) continue;
    drawing.line(scales.x(n), kPlotTop, scales.x(n), kPlotBottom, "stroke=\"#e4e4e4\"");
    drawing.text(scales.x(n), kPlotBottom + 18, show_count({n}), "middle");
  }
  for (const double tick : value_ticks(what, scales.seen.low, scales.seen.high, 8)) {
    const bool one = is_speedup(what) && std::abs(tick - 1) < 1e-9;
    drawing.line(kPlotLeft, scales.y(tick), kPlotRight, scales.y(tick),
                 one ? "stroke=\"#59636e\" stroke-width=\"1.5\"" : "stroke=\"#e4e4e4\"");
    drawing.text(kPlotLeft - 8, scales.y(tick) + 4, tick_text(what, tick), "end");
  }
  drawing.text((kPlotLeft + kPlotRight) / 2, kPlotBottom + 38, "members N", "middle");
}

void draw_curve(Drawing& drawing, const Scales& scales, const Series& series, OverN what, const char* ink) {
  for (std::size_t i = 0; i < series.n.size(); ++i) {
    const double x = scales.x(series.n[i]), y = scales.y(series.value[i]);
    const char* own = series.unreliable[i] ? kUnreliableInk : ink;
    if (i > 0) drawing.line(scales.x(series.n[i - 1]), scales.y(series.value[i - 1]), x, y, stroke(ink, "2"));
    if (series.low[i] < series.high[i]) {
      const double low = scales.y(series.low[i]), high = scales.y(series.high[i]);
      drawing.line(x, low, x, high, stroke(own, "1.5"));
      for (const double at : {low, high}) drawing.line(x - 4, at, x + 4, at, stroke(own, "1.5"));
    }
    auto title = series.title + ", N = " + show_count({series.n[i]}) + ", " +
                 show(what, {series.value[i], series.low[i], series.high[i]});
    drawing.circle(x, y, 3.5, fill(own), series.unreliable[i] ? title.append(", unreliable") : title);
  }
  if (!is_speedup(what)) return;
  for (const double n : crossings(series)) {
    drawing.line(scales.x(n), scales.y(1) - 9, scales.x(n), scales.y(1) + 9, stroke(ink, "2.5"));
    drawing.text(scales.x(n) + 3, scales.y(1) - 11, "N = " + three_figures(n), "start", fill(ink));
  }
}

}  // namespace

std::string over_n_svg(const std::vector<Series>& series, OverN what) {
  const double legend = kPlotTop + 20.0 * static_cast<double>(series.size());
  Drawing drawing(kPlotWidth, std::max(kPlotHeight, legend + 20));
  const Scales scales{bounds(series, what)};
  drawing.text(kPlotLeft, 22, name(what), "start", "font-weight=\"bold\"");
  draw_axes(drawing, scales, what);
  for (std::size_t i = 0; i < series.size(); ++i) {
    const char* ink = kInks[i % kInks.size()];
    draw_curve(drawing, scales, series[i], what, ink);
    const double y = kPlotTop + 20.0 * static_cast<double>(i) + 8;
    drawing.circle(kPlotRight + 24, y - 4, 4, fill(ink), series[i].title);
    drawing.text(kPlotRight + 36, y, series[i].title);
  }
  return drawing.document();
}

}  // namespace wide::gui
