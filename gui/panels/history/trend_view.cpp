// A subject's speed-up run by run, with its bands and the places where its level changed.
#include <implot.h>

#include <algorithm>
#include <cmath>
#include <cstdio>

#include "gui/icons.h"
#include "gui/panels/history/history_panel.h"
#include "gui/panels/shared/choices.h"
#include "gui/panels/shared/plot_export.h"
#include "gui/views/quantity.h"
#include "results/table.h"

namespace wide::gui {
namespace {

using results::printable;
using results::TrendSeries;

struct Points {
  std::vector<double> x, y, low, high;
  std::vector<std::size_t> of;  ///< index into TrendSeries::points
};

Points points_of(const TrendSeries& series) {
  Points points;
  for (std::size_t i = 0; i < series.points.size(); ++i) {
    const auto& speedup = series.points[i].speedup;
    if (!std::isfinite(speedup.value) || speedup.value <= 0) continue;
    const bool band = speedup.known() && speedup.low > 0;
    points.x.push_back(static_cast<double>(i));
    points.y.push_back(std::log2(speedup.value));
    points.low.push_back(std::log2(band ? speedup.low : speedup.value));
    points.high.push_back(std::log2(band ? speedup.high : speedup.value));
    points.of.push_back(i);
  }
  return points;
}

int show_times(double value, char* text, int size, void*) {
  return std::snprintf(text, static_cast<std::size_t>(size), "%.3g×", std::exp2(value));
}

int show_run(double value, char* text, int size, void* data) {
  const auto& series = *static_cast<const TrendSeries*>(data);
  const auto i = static_cast<std::ptrdiff_t>(std::lround(value));
  if (std::abs(value - static_cast<double>(i)) > 1e-6 || i < 0 || i >= std::ssize(series.points))
    return std::snprintf(text, static_cast<std::size_t>(size), "%s", "");
  return std::snprintf(text, static_cast<std::size_t>(size), "%lld",
                       static_cast<long long>(series.points[static_cast<std::size_t>(i)].run));
}

void choose_series(HistoryPanel& panel) {
  const auto name = [&](std::size_t i) {
    const auto& series = panel.trend.series[i];
    return results::title(series).append("  machine ").append(series.machine_key.substr(0, 6));
  };
  ImGui::SetNextItemWidth(-1);
  if (!begin_combo("##series", name(panel.series))) return;
  for (std::size_t i = 0; i < panel.trend.series.size(); ++i) {
    ImGui::PushID(static_cast<int>(i));
    if (ImGui::Selectable(name(i).c_str(), i == panel.series)) panel.series = i;
    ImGui::PopID();
  }
  ImGui::EndCombo();
}

void draw_nearest(const TrendSeries& series, const Points& points) {
  if (!ImPlot::IsPlotHovered()) return;
  const auto mouse = ImGui::GetMousePos();
  for (std::size_t i = 0; i < points.x.size(); ++i) {
    const auto at = ImPlot::PlotToPixels(points.x[i], points.y[i]);
    if (std::hypot(at.x - mouse.x, at.y - mouse.y) > 0.7F * em()) continue;
    const auto& point = series.points[points.of[i]];
    auto text = "run " + std::to_string(point.run) + ", " + short_time(point.started);
    text.append("\n")
        .append(show_ratio(point.speedup))
        .append(" over eager\nwide ")
        .append(show_time({point.wide_us}));
    if (!point.git_commit.empty()) text.append("\ncommit ").append(printable(point.git_commit, 12));
    ImGui::BeginTooltip();
    ImGui::TextUnformatted(text.c_str());
    ImGui::EndTooltip();
    return;
  }
}

void draw_winners(const results::Trend& trend, const Ui& ui) {
  if (trend.winners.empty()) return;
  heading(ui, "Best strategy by N, newest measurements");
  for (const auto& winner : trend.winners) {
    std::string line = "N = " + std::to_string(winner.n) + ", " + printable(winner.dtype, 20) + ", " +
                       printable(winner.mode, 20);
    line.append(":  ").append(printable(winner.strategy, 40)).append("  ").append(show_ratio(winner.speedup));
    if (!winner.runner_up.empty())
      line.append(",  before ")
          .append(printable(winner.runner_up, 40))
          .append("  ")
          .append(show_ratio(winner.runner_up_speedup));
    ImGui::TextUnformatted(line.c_str());
  }
}

}  // namespace

void draw_trend(HistoryPanel& panel, const Ui& ui) {
  std::vector<Choice> subjects;
  if (panel.run) {
    for (const auto& subject : panel.run->subjects) subjects.push_back({subject, ""});
  }
  ImGui::SetNextItemWidth(12 * em());
  auto wanted = panel.subject.empty() ? std::string("choose a subject") : panel.subject;
  if (choose_one(ui, "##subject", subjects, wanted)) ui.commands.run("history.follow", wanted);
  if (!panel.trend.series.empty()) {
    draw_plot_exports(ui, "history.trend");
    const auto& pinned = panel.pinned_of;
    const bool is_pinned = std::find(pinned.begin(), pinned.end(), panel.subject) != pinned.end();
    const char* label = is_pinned ? "\xef\x82\x8d  Unpin###pin_subject" : "\xef\x82\x8d  Pin###pin_subject";
    beside(label);
    command_button(ui, "history.pin_subject", label, panel.subject);
    if (ImGui::IsItemHovered(ImGuiHoveredFlags_ForTooltip)) tooltip("Keeps an eye on it in the dashboard");
  }
  if (subjects.empty()) return faint_text(ui, "Click a run above: its subjects can be followed over time.");
  if (panel.trend.series.empty()) {
    faint_text(ui, panel.subject.empty()
                       ? "A subject's speed-up over eager, run by run, with change points marked."
                       : "This subject has no measured runs of this machine yet.");
    return;
  }
  panel.series = std::min(panel.series, panel.trend.series.size() - 1);
  choose_series(panel);
  auto& series = panel.trend.series[panel.series];
  const auto points = points_of(series);
  const auto id = "##trend" + std::to_string(panel.series) + panel.subject;
  const float height = std::max(9 * em(), ImGui::GetContentRegionAvail().y - 6 * em());
  if (ImPlot::BeginPlot(id.c_str(), {-1, height}, ImPlotFlags_NoMouseText | ImPlotFlags_NoLegend)) {
    ImPlot::SetupAxes("run", "over eager", ImPlotAxisFlags_AutoFit, ImPlotAxisFlags_AutoFit);
    ImPlot::SetupAxisFormat(ImAxis_X1, show_run, &series);
    ImPlot::SetupAxisFormat(ImAxis_Y1, show_times);
    ImPlot::SetupFinish();
    std::vector<double> changes;
    for (const auto change : series.changes) changes.push_back(static_cast<double>(change) - 0.5);
    ImPlot::PlotInfLines("change point", changes.data(), static_cast<int>(changes.size()),
                         ImPlotSpec(ImPlotProp_LineColor, ui.theme.warning, ImPlotProp_LineWeight, 2.0F));
    const auto count = static_cast<int>(points.x.size());
    ImPlot::PlotShaded("speed-up", points.x.data(), points.low.data(), points.high.data(), count,
                       ImPlotSpec(ImPlotProp_FillColor, ui.theme.wide, ImPlotProp_FillAlpha, 0.22F));
    ImPlot::PlotLine(
        "speed-up", points.x.data(), points.y.data(), count,
        ImPlotSpec(ImPlotProp_LineColor, ui.theme.wide, ImPlotProp_LineWeight, 2.0F, ImPlotProp_Marker,
                   ImPlotMarker_Circle, ImPlotProp_MarkerSize, 0.25F * em(), ImPlotProp_MarkerFillColor,
                   ui.theme.wide, ImPlotProp_MarkerLineColor, ui.theme.wide));
    draw_nearest(series, points);
    ImPlot::EndPlot();
    panel.trend_picture.area(ui, ImGui::GetItemRectMin(), ImGui::GetItemRectMax());
  }
  for (const auto change : series.changes) {
    std::string text = "the level changed with run " + std::to_string(series.points[change].run);
    if (!series.points[change].git_commit.empty())
      text.append(", commit ").append(printable(series.points[change].git_commit, 12));
    badge(ui, Level::kWarning, text);
  }
  draw_winners(panel.trend, ui);
}

}  // namespace wide::gui
