#include "gui/panels/shared/over_n_plot.h"

#include <implot.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdio>
#include <limits>

#include "gui/icons.h"
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

int show_n(double value, char* text, int size, void*) {
  const double n = std::exp2(value);
  if (std::abs(n - std::round(n)) > 1e-6 * n)
    return std::snprintf(text, static_cast<std::size_t>(size), "%s", "");
  return std::snprintf(text, static_cast<std::size_t>(size), "%.0f", n);
}

int show_value(double value, char* text, int size, void* data) {
  const auto what = *static_cast<const OverN*>(data);
  return std::snprintf(text, static_cast<std::size_t>(size), "%s", tick_text(what, std::exp2(value)).c_str());
}

void setup(OverNPlot& plot, const Ui& ui, float height) {
  const auto seen = bounds(plot.series, plot.what);
  const double low = std::log2(seen.low), high = std::log2(seen.high);
  ImPlot::SetupAxes("members N", nullptr, ImPlotAxisFlags_NoHighlight, ImPlotAxisFlags_NoHighlight);
  ImPlot::SetupAxesLimits(std::log2(seen.n_low), std::log2(seen.n_high), low, high,
                          plot.fit ? ImPlotCond_Always : ImPlotCond_Once);
  std::vector<double> n_ticks, ticks;
  for (double n = 0; n <= std::log2(seen.n_high) + 1; ++n) n_ticks.push_back(n);
  // As many as stand above one another.
  const auto room = static_cast<std::size_t>(std::max(2.0F, height / (2.2F * em())));
  for (const double at : value_ticks(plot.what, seen.low, seen.high, room)) ticks.push_back(std::log2(at));
  ImPlot::SetupAxisFormat(ImAxis_X1, show_n);
  ImPlot::SetupAxisFormat(ImAxis_Y1, show_value, &plot.what);
  ImPlot::SetupAxisTicks(ImAxis_X1, n_ticks.data(), static_cast<int>(n_ticks.size()));
  ImPlot::SetupAxisTicks(ImAxis_Y1, ticks.data(), static_cast<int>(ticks.size()));
  ImPlot::SetupLegend(ImPlotLocation_East, ImPlotLegendFlags_Outside);
  ImPlot::SetupFinish();
  if (!is_speedup(plot.what)) return;
  const double one = 0;  // the line of no speed-up
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

// Where a curve passes 1: from there on it pays to run wide, or no longer.
void draw_crossings(const Series& series, const ImVec4& colour) {
  auto* list = ImPlot::GetPlotDrawList();
  ImPlot::PushPlotClipRect();
  for (const double n : crossings(series)) {
    const auto at = ImPlot::PlotToPixels(std::log2(n), 0.0);
    const float side = 0.45F * em();
    list->AddTriangleFilled({at.x, at.y}, {at.x - side, at.y + 1.6F * side},
                            {at.x + side, at.y + 1.6F * side}, packed(colour));
    const auto text = "N = " + three_figures(n);
    list->AddText({at.x + 1.2F * side, at.y + 0.3F * side}, packed(colour), text.c_str());
  }
  ImPlot::PopPlotClipRect();
}

void draw_series(const Ui& ui, const Series& series, std::size_t index, OverN what) {
  constexpr std::array kShapes = {ImPlotMarker_Circle, ImPlotMarker_Square, ImPlotMarker_Diamond,
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
                                kShapes[index % kShapes.size()], ImPlotProp_MarkerSize, 0.28F * em(),
                                ImPlotProp_MarkerFillColor, colour, ImPlotProp_MarkerLineColor, colour));
  draw_bars(ui, series, drawn, colour);
  if (is_speedup(what)) draw_crossings(series, colour);
  draw_unreliable(ui, series, drawn);
  std::vector<double> x, y;
  // At the line of no speed-up, or else where nothing is.
  const double level = is_speedup(what) ? 0 : ImPlot::GetPlotLimits().Y.Min;
  for (const double n : series.broken) x.push_back(std::log2(n)), y.push_back(level);
  if (x.empty()) return;
  ImPlot::PlotScatter(
      "did not pass", x.data(), y.data(), static_cast<int>(x.size()),
      ImPlotSpec(ImPlotProp_Marker, ImPlotMarker_Cross, ImPlotProp_MarkerSize, 0.45F * em(),
                 ImPlotProp_LineWeight, 3.0F, ImPlotProp_MarkerLineColor, ui.theme.bad, ImPlotProp_LineColor,
                 ui.theme.bad, ImPlotProp_MarkerFillColor, ui.theme.bad));
}

// What stands nearest to the mouse, within reach.
void draw_nearest(const std::vector<Series>& all, OverN what) {
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
      const bool band = series.low[i] < series.high[i];
      text.append(show(what, band ? profiler::Interval{series.value[i], series.low[i], series.high[i]}
                                  : profiler::Interval{series.value[i]}));
      if (band) text.append(", 95 %");
      if (series.unreliable[i]) text.append("\n").append(results::kUnreliable);
    }
  }
  if (text.empty()) return;
  ImGui::BeginTooltip();
  ImGui::TextUnformatted(text.c_str());
  ImGui::EndTooltip();
}

}  // namespace

bool choose_over_n(OverNPlot& plot) {
  auto which = static_cast<int>(plot.what);
  ImGui::SetNextItemWidth(11 * em());
  if (!combo(
          "##over_n", which,
          {name(OverN::kOverEager), name(OverN::kOverBestRival), name(OverN::kTime), name(OverN::kThroughput),
           name(OverN::kWeights), name(OverN::kActivations), name(OverN::kMemory)}))
    return false;
  plot.what = static_cast<OverN>(which);
  plot.fit = true;
  return true;
}

void take_curves(OverNPlot& plot, std::span<const RunCurves> runs) {
  plot.series = series_over_n(runs, plot.what);
  plot.left_out =
      series_over_n(runs, plot.what, std::numeric_limits<std::size_t>::max()).size() - plot.series.size();
}

void draw_over_n(OverNPlot& plot, const Ui& ui, float height) {
  if (plot.left_out > 0) {
    const auto drawn = std::to_string(plot.series.size()),
               all = std::to_string(plot.series.size() + plot.left_out);
    faint_text(ui,
               drawn + " of " + all + " curves are drawn, those with most points; the table has all cases");
    height -= ImGui::GetTextLineHeightWithSpacing();
  }
  const bool points =
      std::any_of(plot.series.begin(), plot.series.end(), [](const Series& one) { return !one.n.empty(); });
  if (!points && is_memory(plot.what))
    return faint_text(ui, "No memory of this kind is stored with these cases.");
  if (is_memory(plot.what)) {
    faint_text(
        ui, plot.what == OverN::kWeights
                ? "Of all members as they are kept: what is equal or tied counts once."
            : plot.what == OverN::kActivations
                ? "Values of a pass that are alive at once, all members, by the plan."
                : "Of the whole process that measured: libraries and rivals too; on a GPU, of its memory.");
    height = std::max(4 * em(), height - ImGui::GetTextLineHeightWithSpacing());
  }
  // New cases bring everything into view; apart from that the person's zoom stays.
  if (!ImPlot::BeginPlot("##over_n_plot", {-1, height}, ImPlotFlags_NoMouseText)) return;
  setup(plot, ui, height);
  plot.fit = false;
  for (std::size_t i = 0; i < plot.series.size(); ++i) draw_series(ui, plot.series[i], i, plot.what);
  draw_nearest(plot.series, plot.what);
  ImPlot::EndPlot();
  plot.picture.area(ui, ImGui::GetItemRectMin(), ImGui::GetItemRectMax());
}

}  // namespace wide::gui
