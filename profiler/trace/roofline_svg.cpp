// The roofline as a chart: work per byte to the right, speed upwards, both logarithmic.
#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>

#include "profiler/trace/roofline.h"

namespace wide::profiler {
namespace {

constexpr double kLeft = 80, kTop = 50, kWidth = 760, kHeight = 430;
constexpr std::size_t kLongestLabel = 60;

std::string escaped(std::string_view text) {
  std::string result;
  for (const char c : text.substr(0, kLongestLabel)) {
    const auto byte = static_cast<unsigned char>(c);
    if (c == '<')
      result += "&lt;";
    else if (c == '>')
      result += "&gt;";
    else if (c == '&')
      result += "&amp;";
    else if (c == '"')
      result += "&quot;";
    else if (byte >= 0x20 && byte < 0x7f)
      result += c;  // names may hold anything: keep what XML may
    else
      result += '?';
  }
  return result;
}

std::string number(double value) {
  std::array<char, 40> text{};
  return {text.data(),
          std::to_chars(text.data(), text.data() + text.size(), value, std::chars_format::general, 4).ptr};
}

/// A decade axis.
struct Axis {
  int low, high;
  double at(double value) const { return (std::log10(value) - low) / (high - low); }
};

Axis axis(double least, double most) {
  const auto low = static_cast<int>(std::floor(std::log10(least)));
  return {low, std::max(low + 1, static_cast<int>(std::ceil(std::log10(most))))};
}

std::string colour(Bound bound) {
  constexpr std::array<const char*, 7> kColours = {"#888888", "#d62728", "#ff7f0e", "#9467bd",
                                                   "#1f77b4", "#2ca02c", "#8c564b"};
  return kColours[static_cast<std::size_t>(bound)];
}

class Chart {
 public:
  Chart(Axis x, Axis y) : x_(x), y_(y) {}

  std::string x(double value) const { return number(kLeft + std::clamp(x_.at(value), 0.0, 1.0) * kWidth); }
  std::string y(double value) const {
    return number(kTop + kHeight - std::clamp(y_.at(value), 0.0, 1.0) * kHeight);
  }
  void line(double x1, double y1, double x2, double y2, const std::string& style) {
    svg_.append("<line x1=\"").append(x(x1)).append("\" y1=\"").append(y(y1)).append("\" x2=\"");
    svg_.append(x(x2)).append("\" y2=\"").append(y(y2)).append("\" ").append(style).append("/>\n");
  }
  void text(const std::string& px, const std::string& py, const std::string& anchor, std::string_view words) {
    svg_.append("<text x=\"").append(px).append("\" y=\"").append(py).append("\" text-anchor=\"");
    svg_.append(anchor).append("\">").append(escaped(words)).append("</text>\n");
  }
  void grid();
  void point(const RooflinePoint& point, std::string_view name, double largest);
  void append(const std::string& text) { svg_ += text; }
  std::string take() { return std::move(svg_); }

 private:
  Axis x_, y_;
  std::string svg_;
};

void Chart::grid() {
  for (int decade = x_.low; decade <= x_.high; ++decade) {
    const auto value = std::pow(10.0, decade);
    line(value, std::pow(10.0, y_.low), value, std::pow(10.0, y_.high), "stroke=\"#dddddd\"");
    text(x(value), number(kTop + kHeight + 18), "middle", number(value));
  }
  for (int decade = y_.low; decade <= y_.high; ++decade) {
    const auto value = std::pow(10.0, decade);
    line(std::pow(10.0, x_.low), value, std::pow(10.0, x_.high), value, "stroke=\"#dddddd\"");
    text(number(kLeft - 6), y(value), "end", number(value / 1e9));
  }
}

void Chart::point(const RooflinePoint& point, std::string_view name, double largest) {
  const double radius = 3 + 9 * std::sqrt(point.time_us / std::max(largest, 1e-9));
  svg_.append("<circle cx=\"").append(x(point.intensity())).append("\" cy=\"");
  svg_.append(y(point.flops_per_second())).append("\" r=\"").append(number(radius)).append("\" fill=\"");
  svg_.append(colour(point.bound)).append("\" fill-opacity=\"0.6\"><title>").append(escaped(name));
  svg_.append(": ").append(number(point.time_us)).append(" us, ").append(number(100 * point.fraction()));
  svg_.append(" % of the roof, bound by ").append(profiler::name(point.bound)).append("</title></circle>\n");
}

void legend(Chart& chart) {
  for (int i = 1; i < 7; ++i) {
    const auto bound = static_cast<Bound>(i);
    const auto y = kTop + 20.0 * i;
    chart.append("<circle cx=\"860\" cy=\"" + number(y - 4) + "\" r=\"5\" fill=\"" + colour(bound) +
                 "\"/>\n");
    chart.text("872", number(y), "start", name(bound));
  }
}

}  // namespace

std::string to_svg(const Roofline& roofline, const Trace& trace) {
  const auto& peaks = roofline.peaks;
  const auto peak = peaks.flops.contains(roofline.dtype) ? peaks.flops.at(roofline.dtype) : 1e9;
  const auto slowest = peaks.bandwidth.empty() ? 1e9 : peaks.bandwidth.back().bytes_per_second;
  double x_low = 0.1, x_high = 100, y_low = peak / 1e3, largest = 0;
  for (const auto& node : roofline.nodes) {
    largest = std::max(largest, node.time_us);
    if (node.flops <= 0 || node.bytes <= 0 || node.time_us <= 0) continue;
    x_low = std::min(x_low, node.intensity()), x_high = std::max(x_high, node.intensity());
    y_low = std::min(y_low, node.flops_per_second());
  }
  Chart chart(axis(x_low, x_high), axis(y_low, peak * 2));
  chart.append(
      "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 980 540\" "
      "font-family=\"sans-serif\" font-size=\"12\">\n<rect width=\"980\" height=\"540\" fill=\"white\"/>\n");
  chart.grid();
  for (const auto& level : peaks.bandwidth) {
    const auto knee = peak / level.bytes_per_second;
    const auto start = std::max(x_low, y_low / level.bytes_per_second);
    const bool memory = level.bytes_per_second == slowest;
    chart.line(
        start, start * level.bytes_per_second, knee, peak,
        memory ? "stroke=\"#333333\" stroke-width=\"2\"" : "stroke=\"#333333\" stroke-dasharray=\"4 3\"");
  }
  chart.line(peak / slowest / 1e3, peak, x_high * 10, peak, "stroke=\"#333333\" stroke-width=\"2\"");
  for (const auto& node : roofline.nodes) {
    if (node.flops > 0 && node.bytes > 0 && node.time_us > 0)
      chart.point(node, trace.nodes[static_cast<std::size_t>(node.node)].name, largest);
  }
  legend(chart);
  chart.text("460", "30", "middle",
             trace.subject + ", " + trace.contender + ", N = " + std::to_string(trace.members) + ", " +
                 roofline.dtype + ", " + std::to_string(peaks.threads) + " threads");
  chart.text("460", "525", "middle", "operations per byte");
  chart.text("14", "40", "start", "GFLOP/s");
  chart.append("</svg>\n");
  return chart.take();
}

}  // namespace wide::profiler
