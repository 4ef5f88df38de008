// Nodes under the roof of this machine: work per byte to the right, speed upwards, both decimal logarithms.
#include <implot.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <set>

#include "gui/icons.h"
#include "gui/panels/profile/profile_panel.h"
#include "gui/views/quantity.h"
#include "results/table.h"

namespace wide::gui {
namespace {

using profiler::Bound;

// What holds a node back: its marker, and which of the colours of series. Those two that are blue, and the
// two nearest to orange, are not both here, and the roof has a colour that none of them has.
struct Mark {
  Bound bound;
  int marker;
  std::size_t series;
};
constexpr std::array kMarks = {
    Mark{Bound::kHost, ImPlotMarker_Up, 0},           Mark{Bound::kLaunch, ImPlotMarker_Down, 1},
    Mark{Bound::kFill, ImPlotMarker_Left, 2},         Mark{Bound::kMemory, ImPlotMarker_Circle, 3},
    Mark{Bound::kArithmetic, ImPlotMarker_Square, 7}, Mark{Bound::kLayout, ImPlotMarker_Diamond, 6}};

struct Limits {
  double x_low = 0.1, x_high = 100, y_low = 1e30, y_high = 0, peak = 0;
};

bool drawable(const profiler::RooflinePoint& point) {
  return point.flops > 0 && point.bytes > 0 && point.time_us > 0;
}

Limits limits_of(const profiler::Roofline& roofline) {
  Limits limits;
  const auto found = roofline.peaks.flops.find(roofline.dtype);
  if (found != roofline.peaks.flops.end()) limits.peak = found->second;
  for (const auto& point : roofline.nodes) {
    if (!drawable(point)) continue;
    limits.x_low = std::min(limits.x_low, point.intensity() / 2);
    limits.x_high = std::max(limits.x_high, point.intensity() * 2);
    limits.y_low = std::min(limits.y_low, point.flops_per_second() / 3);
    limits.y_high = std::max(limits.y_high, point.flops_per_second() * 2);
  }
  limits.y_high = std::max({limits.y_high, limits.peak * 2, 1.0});
  limits.y_low = std::min(limits.y_low, limits.y_high / 1e3);
  return limits;
}

// Pixels of a plot whose legend names all there is.
float room_of_legend(const profiler::Roofline& roofline) {
  std::set<profiler::Bound> causes;
  for (const auto& point : roofline.nodes)
    if (drawable(point)) causes.insert(point.bound);
  const auto lines = static_cast<float>(roofline.peaks.bandwidth.size() + 1 + causes.size());
  return std::max(12 * em(), lines * ImGui::GetTextLineHeight() + 6 * em());
}

int show_speed(double value, char* text, int size, void*) {
  return std::snprintf(text, static_cast<std::size_t>(size), "%s", show_rate({value}).c_str());
}

int show_plain(double value, char* text, int size, void*) {
  return std::snprintf(text, static_cast<std::size_t>(size), "%g", value);
}

void draw_roof(const profiler::Roofline& roofline, const Limits& limits, const Ui& ui) {
  const double peak = limits.peak > 0 ? limits.peak : limits.y_high;
  for (std::size_t i = 0; i < roofline.peaks.bandwidth.size(); ++i) {
    const auto& level = roofline.peaks.bandwidth[i];
    if (!(level.bytes_per_second > 0)) continue;
    const bool memory = i + 1 == roofline.peaks.bandwidth.size();
    const double x[] = {limits.x_low / 100, peak / level.bytes_per_second};
    const double y[] = {x[0] * level.bytes_per_second, peak};
    auto name = memory ? std::string("memory") : "cache, " + show_bytes({level.bytes});
    name.append(", ").append(show_bytes({level.bytes_per_second})).append("/s");
    ImPlot::PlotLine(
        name.c_str(), x, y, 2,
        ImPlotSpec(ImPlotProp_LineColor, faded(ui.theme.neutral, memory ? 1.0F : 0.5F), ImPlotProp_LineWeight,
                   memory ? 2.0F : 1.0F, ImPlotProp_Flags, int{ImPlotItemFlags_NoFit}));
  }
  if (limits.peak <= 0) return;
  const double x[] = {limits.x_low / 100, limits.x_high * 100};
  const double y[] = {peak, peak};
  const auto name = "arithmetic, " + show_rate({peak});
  ImPlot::PlotLine(name.c_str(), x, y, 2,
                   ImPlotSpec(ImPlotProp_LineColor, ui.theme.neutral, ImPlotProp_LineWeight, 2.0F,
                              ImPlotProp_Flags, int{ImPlotItemFlags_NoFit}));
}

void draw_points(const profiler::Roofline& roofline, const profiler::Trace& trace, const Ui& ui) {
  const auto mouse = ImGui::GetMousePos();
  float nearest = 1.0F * em();
  const profiler::RooflinePoint* hovered = nullptr;
  for (const auto& mark : kMarks) {
    std::vector<double> x, y;
    std::vector<float> sizes;
    for (const auto& point : roofline.nodes) {
      if (point.bound != mark.bound || !drawable(point)) continue;
      x.push_back(point.intensity()), y.push_back(point.flops_per_second());
      sizes.push_back((0.25F + 0.6F * static_cast<float>(std::sqrt(std::clamp(point.share, 0.0, 1.0)))) *
                      em());
      const auto at = ImPlot::PlotToPixels(x.back(), y.back());
      const float distance = std::hypot(at.x - mouse.x, at.y - mouse.y);
      if (ImPlot::IsPlotHovered() && distance < nearest) nearest = distance, hovered = &point;
    }
    if (x.empty()) continue;
    auto name = "held back by " + std::string(profiler::name(mark.bound));
    const auto& colour = ui.theme.of_series(mark.series);
    ImPlotSpec spec(ImPlotProp_Marker, mark.marker, ImPlotProp_MarkerFillColor, faded(colour, 0.75F),
                    ImPlotProp_MarkerLineColor, colour, ImPlotProp_LineColor, colour);
    spec.MarkerSizes = sizes.data();
    ImPlot::PlotScatter(name.c_str(), x.data(), y.data(), static_cast<int>(x.size()), spec);
  }
  if (hovered == nullptr) return;
  const bool known = hovered->node >= 0 && static_cast<std::size_t>(hovered->node) < trace.nodes.size();
  auto text = known ? results::printable(trace.nodes[static_cast<std::size_t>(hovered->node)].name, 200)
                    : std::string();
  text.append("\n")
      .append(show_time({hovered->time_us}))
      .append(" a pass, at best ")
      .append(show_time({hovered->roof_us}));
  text.append("\n").append(show_share({hovered->fraction()})).append(" of the roof, held back by ");
  text.append(profiler::name(hovered->bound));
  ImGui::BeginTooltip();
  ImGui::TextUnformatted(text.c_str());
  ImGui::EndTooltip();
  if (known && ImGui::IsMouseClicked(ImGuiMouseButton_Left))
    ui.selection.choose_node(selection_name(trace.nodes[static_cast<std::size_t>(hovered->node)].name));
}

}  // namespace

void draw_roofline(ProfilePanel& panel, const Ui& ui) {
  auto& data = explained(panel);
  if (!data.roofline) {
    faint_text(ui,
               "A roofline needs the peaks of this machine, which are measured by profiling here; a trace "
               "from a file has none.");
    command_button(ui, "profile.start", "Profile now###profile_now");
    return;
  }
  const auto& roofline = *data.roofline;
  const auto& total = roofline.total;
  auto line = show_share({total.fraction()});
  line.append(" of the roof on the whole, most time held back by ")
      .append(profiler::name(total.bound))
      .append("; ");
  line.append(roofline.dtype);
  if (roofline.peaks.threads > 0) {
    line.append(", ").append(std::to_string(roofline.peaks.threads));
    line.append(roofline.peaks.threads == 1 ? " thread" : " threads");
  }
  ImGui::PushTextWrapPos(0);
  ImGui::TextUnformatted(line.c_str());
  ImGui::PopTextWrapPos();
  if (!roofline.doubts.empty()) {
    std::string text = "unreliable: ";
    text.append(results::printable(roofline.doubts.front(), 200));
    if (roofline.doubts.size() > 1)
      text.append("; and ").append(std::to_string(roofline.doubts.size() - 1)).append(" more");
    badge(ui, Level::kWarning, text);
    command_button(ui, "profile.measure_peaks", "Measure the peaks again###measure_peaks");
  }
  const auto limits = limits_of(roofline);
  const float height = std::max(room_of_legend(roofline), 0.6F * ImGui::GetContentRegionAvail().y);
  if (ImPlot::BeginPlot("##roofline", {-1, height}, ImPlotFlags_NoMouseText)) {
    ImPlot::SetupAxes("FLOP per byte", nullptr);
    ImPlot::SetupAxisScale(ImAxis_X1, ImPlotScale_Log10);
    ImPlot::SetupAxisScale(ImAxis_Y1, ImPlotScale_Log10);
    ImPlot::SetupAxisFormat(ImAxis_X1, show_plain);
    ImPlot::SetupAxisFormat(ImAxis_Y1, show_speed);
    ImPlot::SetupAxesLimits(limits.x_low, limits.x_high, limits.y_low, limits.y_high, ImPlotCond_Once);
    ImPlot::SetupLegend(ImPlotLocation_SouthEast);
    ImPlot::SetupFinish();
    draw_roof(roofline, limits, ui);
    draw_points(roofline, data.traces[data.wide], ui);
    ImPlot::EndPlot();
    panel.picture.area(ui, ImGui::GetItemRectMin(), ImGui::GetItemRectMax());
  }
  draw_filter(ui, data.points, panel.points, "##point_filter");
  draw_nodes(ui, data.points, panel.points, "##points");
}

}  // namespace wide::gui
