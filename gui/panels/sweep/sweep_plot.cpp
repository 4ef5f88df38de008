// Speed-up over N: both axes base-2 logarithms, so that twice as fast is as far up as half as fast is down.
#include <implot.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdio>

#include "gui/icons.h"
#include "gui/panels/sweep/sweep_panel.h"
#include "gui/views/quantity.h"
#include "results/reliability.h"

namespace wide::gui {
namespace {

struct Drawn {
  std::vector<double> x, y, low, high;
};

Drawn logarithms(const Series& series) {
  Drawn drawn;
  for (std::size_t i = 0; i < series.n.size(); ++i) {
    drawn.x.push_back(std::log2(series.n[i]));
    drawn.y.push_back(std::log2(series.value[i]));
    drawn.low.push_back(std::log2(series.low[i]));
    drawn.high.push_back(std::log2(series.high[i]));
  }
  return drawn;
}

struct Limits {
  double n_low = 1, n_high = 2, low = 0, high = 0;  ///< logarithms; no speed-up (1x) is always in sight
};

Limits limits_of(const std::vector<Series>& all) {
  Limits limits;
  bool first = true;
  const auto take_n = [&](double n) {
    limits.n_low = first ? std::log2(n) : std::min(limits.n_low, std::log2(n));
    limits.n_high = first ? std::log2(n) : std::max(limits.n_high, std::log2(n));
    first = false;
  };
  for (const auto& series : all) {
    for (const double n : series.n) take_n(n);
    for (const double n : series.broken) take_n(n);
    for (const double low : series.low) limits.low = std::min(limits.low, std::log2(low));
    for (const double high : series.high) limits.high = std::max(limits.high, std::log2(high));
  }
  const double margin = std::max(0.12, 0.08 * (limits.high - limits.low));
  limits.low -= margin, limits.high += margin;
  limits.n_low -= 0.3, limits.n_high += 0.3;
  return limits;
}

int show_n(double value, char* text, int size, void*) {
  const double n = std::exp2(value);
  if (std::abs(n - std::round(n)) > 1e-6 * n)
    return std::snprintf(text, static_cast<std::size_t>(size), "%s", "");
  return std::snprintf(text, static_cast<std::size_t>(size), "%.0f", n);
}

int show_times(double value, char* text, int size, void*) {
  const double ratio = std::exp2(value);
  return std::snprintf(text, static_cast<std::size_t>(size), "%s×", three_figures(ratio).c_str());
}

void setup(const Ui& ui, const std::vector<Series>& all, bool fit) {
  const auto limits = limits_of(all);
  ImPlot::SetupAxes("members N", nullptr, ImPlotAxisFlags_NoHighlight, ImPlotAxisFlags_NoHighlight);
  ImPlot::SetupAxesLimits(limits.n_low, limits.n_high, limits.low, limits.high,
                          fit ? ImPlotCond_Always : ImPlotCond_Once);
  std::vector<double> n_ticks, ticks;
  for (double n = std::floor(limits.n_low); n <= limits.n_high + 1; ++n) n_ticks.push_back(std::max(0.0, n));
  const double span = limits.high - limits.low;
  // As many as stand above one another, at powers of two or simple parts of them.
  const double room = std::max(2.0, ImGui::GetContentRegionAvail().y / (2.2 * em()));
  double step = 0.0625;
  while (span / step > room) step *= 2;
  for (double at = std::floor(limits.low / step) * step; at <= limits.high + step; at += step)
    ticks.push_back(at);
  ImPlot::SetupAxisFormat(ImAxis_X1, show_n);
  ImPlot::SetupAxisFormat(ImAxis_Y1, show_times);
  ImPlot::SetupAxisTicks(ImAxis_X1, n_ticks.data(), static_cast<int>(n_ticks.size()));
  ImPlot::SetupAxisTicks(ImAxis_Y1, ticks.data(), static_cast<int>(ticks.size()));
  ImPlot::SetupLegend(ImPlotLocation_East, ImPlotLegendFlags_Outside);
  ImPlot::SetupFinish();
  // The line of no speed-up.
  const double one = 0;
  ImPlot::PlotInfLines(
      "##one", &one, 1,
      ImPlotSpec(
          ImPlotProp_LineColor, ui.theme.faint, ImPlotProp_LineWeight, 1.5F, ImPlotProp_Flags,
          int{ImPlotInfLinesFlags_Horizontal} | int{ImPlotItemFlags_NoLegend} | int{ImPlotItemFlags_NoFit}));
}

// What allows no verdict stands out from its curve: amber, and another shape.
void draw_unreliable(const Ui& ui, const Series& series, const Drawn& drawn) {
  std::vector<double> x, y;
  for (std::size_t i = 0; i < drawn.x.size(); ++i) {
    if (series.unreliable[i]) x.push_back(drawn.x[i]), y.push_back(drawn.y[i]);
  }
  if (x.empty()) return;
  ImPlot::PlotScatter(
      results::kUnreliable, x.data(), y.data(), static_cast<int>(x.size()),
      ImPlotSpec(ImPlotProp_Marker, ImPlotMarker_Asterisk, ImPlotProp_MarkerSize, 0.45F * em(),
                 ImPlotProp_LineWeight, 2.5F, ImPlotProp_MarkerLineColor, ui.theme.warning,
                 ImPlotProp_LineColor, ui.theme.warning, ImPlotProp_MarkerFillColor, ui.theme.warning));
}

// A bar for each interval: a single point has no band.
void draw_bars(const Ui& ui, const Series& series, const Drawn& drawn, const ImVec4& colour) {
  auto* list = ImPlot::GetPlotDrawList();
  const float cap = 0.3F * em();
  ImPlot::PushPlotClipRect();
  for (std::size_t i = 0; i < drawn.x.size(); ++i) {
    if (drawn.low[i] >= drawn.high[i]) continue;
    const auto low = ImPlot::PlotToPixels(drawn.x[i], drawn.low[i]);
    const auto high = ImPlot::PlotToPixels(drawn.x[i], drawn.high[i]);
    const auto ink = packed(series.unreliable[i] ? ui.theme.warning : colour);
    list->AddLine(low, high, ink, 1.5F);
    list->AddLine({low.x - cap, low.y}, {low.x + cap, low.y}, ink, 1.5F);
    list->AddLine({high.x - cap, high.y}, {high.x + cap, high.y}, ink, 1.5F);
  }
  ImPlot::PopPlotClipRect();
}

void draw_series(const Ui& ui, const Series& series, std::size_t index) {
  constexpr std::array kMarkers = {ImPlotMarker_Circle, ImPlotMarker_Square, ImPlotMarker_Diamond,
                                   ImPlotMarker_Up,     ImPlotMarker_Down,   ImPlotMarker_Left};
  const auto colour = ui.theme.of_series(index);
  const auto drawn = logarithms(series);
  const auto count = static_cast<int>(drawn.x.size());
  if (count > 0)
    ImPlot::PlotShaded(series.title.c_str(), drawn.x.data(), drawn.low.data(), drawn.high.data(), count,
                       ImPlotSpec(ImPlotProp_FillColor, colour, ImPlotProp_FillAlpha, 0.22F));
  if (count > 0)
    ImPlot::PlotLine(series.title.c_str(), drawn.x.data(), drawn.y.data(), count,
                     ImPlotSpec(ImPlotProp_LineColor, colour, ImPlotProp_LineWeight, 2.0F, ImPlotProp_Marker,
                                kMarkers[index % kMarkers.size()], ImPlotProp_MarkerSize, 0.28F * em(),
                                ImPlotProp_MarkerFillColor, colour, ImPlotProp_MarkerLineColor, colour));
  draw_bars(ui, series, drawn, colour);
  draw_unreliable(ui, series, drawn);
  std::vector<double> x, y;
  for (const double n : series.broken) x.push_back(std::log2(n)), y.push_back(0);
  if (x.empty()) return;
  ImPlot::PlotScatter(
      "did not pass", x.data(), y.data(), static_cast<int>(x.size()),
      ImPlotSpec(ImPlotProp_Marker, ImPlotMarker_Cross, ImPlotProp_MarkerSize, 0.45F * em(),
                 ImPlotProp_LineWeight, 3.0F, ImPlotProp_MarkerLineColor, ui.theme.bad, ImPlotProp_LineColor,
                 ui.theme.bad, ImPlotProp_MarkerFillColor, ui.theme.bad));
}

// What stands nearest to the mouse, within reach.
void draw_nearest(const std::vector<Series>& all) {
  if (!ImPlot::IsPlotHovered()) return;
  const auto mouse = ImGui::GetMousePos();
  float best = 1.2F * em();
  std::string text;
  for (const auto& series : all) {
    const auto drawn = logarithms(series);
    for (std::size_t i = 0; i < drawn.x.size(); ++i) {
      const auto at = ImPlot::PlotToPixels(drawn.x[i], drawn.y[i]);
      const float distance = std::hypot(at.x - mouse.x, at.y - mouse.y);
      if (distance >= best) continue;
      best = distance;
      text = series.title;
      text.append("\nN = ").append(show_count({series.n[i]})).append("\n");
      text.append(show_ratio({series.value[i], series.low[i], series.high[i]})).append(", 95 %");
    }
  }
  if (text.empty()) return;
  ImGui::BeginTooltip();
  ImGui::TextUnformatted(text.c_str());
  ImGui::EndTooltip();
}

}  // namespace

void draw_plot(SweepPanel& panel, const Ui& ui, float height) {
  // New cases bring everything into view; apart from that the person's zoom stays.
  if (!ImPlot::BeginPlot("##speedup", {-1, height}, ImPlotFlags_NoMouseText)) return;
  setup(ui, panel.series, panel.fit);
  panel.fit = false;
  for (std::size_t i = 0; i < panel.series.size(); ++i) draw_series(ui, panel.series[i], i);
  draw_nearest(panel.series);
  ImPlot::EndPlot();
  panel.picture.area(ui, ImGui::GetItemRectMin(), ImGui::GetItemRectMax());
}

}  // namespace wide::gui
