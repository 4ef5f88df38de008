#include "results/plot.h"

#include <algorithm>
#include <cmath>
#include <unordered_map>

#include "results/escape.h"
#include "results/json_fields.h"
#include "results/table.h"

namespace wide::results {
namespace {

constexpr double kWidth = 360, kHeight = 210;
constexpr double kLeft = 46, kRight = 12, kTop = 26, kBottom = 34;
constexpr const char* kEagerColour = "#2f7ed8";
constexpr const char* kBestColour = "#d9822b";

/// A straight axis from data to pixels.
struct Axis {
  double low = 0, high = 1, from = 0, to = 1;
  double operator()(double value) const { return from + (value - low) / (high - low) * (to - from); }
};

std::string digits(double value) {
  return fixed(value, 1);
}

std::string tick_text(double value) {
  return fixed(value, value < 1 ? 2 : value < 10 && value != std::floor(value) ? 1 : 0);
}

class Canvas {
 public:
  explicit Canvas(const std::string& title) {
    svg_ = "<svg xmlns=\"http://www.w3.org/2000/svg\" role=\"img\" viewBox=\"0 0 " + digits(kWidth) + " " +
           digits(kHeight) + "\" width=\"" + digits(kWidth) + "\" height=\"" + digits(kHeight) +
           "\" font-family=\"sans-serif\" font-size=\"10\" fill=\"currentColor\">";
    svg_ += "<title>" + escaped_markup(title, 200) + "</title>";
    text(kLeft, 14, escaped_markup(title, 46), "start", "bold");
  }
  void text(double x, double y, const std::string& escaped, const char* anchor,
            const char* weight = "normal") {
    svg_.append("<text x=\"")
        .append(digits(x))
        .append("\" y=\"")
        .append(digits(y))
        .append("\" text-anchor=\"");
    svg_.append(anchor)
        .append("\" font-weight=\"")
        .append(weight)
        .append("\">")
        .append(escaped)
        .append("</text>");
  }
  void line(double x1, double y1, double x2, double y2, const char* colour, double opacity,
            const char* dash = "") {
    svg_.append("<line x1=\"").append(digits(x1)).append("\" y1=\"").append(digits(y1)).append("\" x2=\"");
    svg_.append(digits(x2)).append("\" y2=\"").append(digits(y2)).append("\" stroke=\"").append(colour);
    svg_.append("\" stroke-opacity=\"")
        .append(fixed(opacity, 2))
        .append("\" stroke-dasharray=\"")
        .append(dash)
        .append("\"/>");
  }
  void dot(double x, double y, double radius, const char* colour, double opacity = 1) {
    svg_.append("<circle cx=\"").append(digits(x)).append("\" cy=\"").append(digits(y)).append("\" r=\"");
    svg_.append(digits(radius)).append("\" fill=\"").append(colour).append("\" fill-opacity=\"");
    svg_.append(fixed(opacity, 2)).append("\"/>");
  }
  void path(const std::string& d, const char* colour, bool filled) {
    svg_.append("<path d=\"").append(d).append("\" ");
    svg_.append(filled ? "stroke=\"none\" fill-opacity=\"0.2\" fill=\""
                       : "fill=\"none\" stroke-width=\"1.6\" stroke=\"");
    svg_.append(colour).append("\"/>");
  }
  std::string str() const { return svg_ + "</svg>"; }

 private:
  std::string svg_;
};

struct Mark {
  double x = 0;
  Interval value;
};

/// Line through the values, band through the limits.
void draw_series(Canvas& canvas, const std::vector<Mark>& marks, const Axis& x, const Axis& y,
                 const char* colour) {
  std::string line, up, down;
  for (const Mark& mark : marks) {
    const double at = x(mark.x), value = y(std::log2(mark.value.value));
    line.append(line.empty() ? "M" : "L").append(digits(at)).append(" ").append(digits(value));
    if (mark.value.known() && mark.value.low > 0) {
      up.append(up.empty() ? "M" : "L")
          .append(digits(at))
          .append(" ")
          .append(digits(y(std::log2(mark.value.high))));
      down.insert(0, "L" + digits(at) + " " + digits(y(std::log2(mark.value.low))));
    }
    canvas.dot(at, value, 2.2, colour);
  }
  if (!up.empty()) canvas.path(up + down + "Z", colour, true);
  if (!line.empty()) canvas.path(line, colour, false);
}

/// Ticks at powers of two (or their roots, when few are in sight), and a line at 1.
void draw_speedup_axis(Canvas& canvas, const Axis& y) {
  const double span = y.high - y.low;
  const double step = span > 8 ? 2 : span > 2 ? 1 : span > 0.8 ? 0.5 : 0.25;
  for (double tick = std::ceil(y.low / step) * step; tick <= y.high + 1e-9; tick += step) {
    canvas.line(kLeft, y(tick), kWidth - kRight, y(tick), "currentColor", std::abs(tick) < 1e-9 ? 0.6 : 0.12);
    canvas.text(kLeft - 4, y(tick) + 3, tick_text(std::exp2(tick)) + "x", "end");
  }
}

Axis speedup_axis(const std::vector<const std::vector<Mark>*>& series) {
  double low = 0, high = 0;  // 1x is always in sight
  for (const auto* marks : series) {
    for (const Mark& mark : *marks) {
      const bool known = mark.value.known() && mark.value.low > 0 && std::isfinite(mark.value.high);
      low = std::min(low, std::log2(known ? mark.value.low : mark.value.value));
      high = std::max(high, std::log2(known ? mark.value.high : mark.value.value));
    }
  }
  const double margin = std::max(0.15, (high - low) * 0.08);
  return {std::max(low - margin, -20.0), std::min(high + margin, 20.0), kHeight - kBottom, kTop};
}

bool is_drawn(const Interval& speedup) {
  return speedup.value > 0 && std::isfinite(speedup.value);
}

void legend(Canvas& canvas, double x, const char* colour, const std::string& text) {
  canvas.dot(x, kHeight - 8, 3, colour);
  canvas.text(x + 6, kHeight - 5, text, "start");
}

}  // namespace

std::vector<CaseGroup> group_by_n(const std::vector<CaseRecord>& cases) {
  std::vector<CaseGroup> groups;
  std::unordered_map<std::string, std::size_t> places;
  for (const CaseRecord& record : cases) {
    std::string title = record.subject;
    for (const std::string* part : {&record.strategy, &record.mode, &record.dtype, &record.device})
      if (!part->empty()) title += " " + *part;
    const std::string place = title + dump(record.shape);
    const auto [found, is_new] = places.emplace(place, groups.size());
    if (is_new) groups.push_back({title, {}});
    groups[found->second].cases.push_back(&record);
  }
  for (CaseGroup& group : groups) {
    std::stable_sort(group.cases.begin(), group.cases.end(),
                     [](const auto* a, const auto* b) { return a->n < b->n; });
  }
  return groups;
}

std::string speedup_plot(const CaseGroup& group) {
  std::vector<Mark> eager, best;
  double least = 1e18, most = 1;
  for (const CaseRecord* record : group.cases) {
    if (record->n < 1) continue;
    const double n = std::log2(static_cast<double>(record->n));
    if (is_drawn(record->speedup)) eager.push_back({n, record->speedup});
    if (is_drawn(record->speedup_best_rival)) best.push_back({n, record->speedup_best_rival});
    least = std::min(least, n);
    most = std::max(most, n);
  }
  if (eager.empty() && best.empty()) return "";
  if (most - least < 1) least -= 0.5, most += 0.5;
  const Axis x{least - 0.1, most + 0.1, kLeft, kWidth - kRight};
  const Axis y = speedup_axis({&eager, &best});
  Canvas canvas(group.title);
  draw_speedup_axis(canvas, y);
  double drawn = -1e18;
  for (const CaseRecord* record : group.cases) {
    if (record->n < 1) continue;
    const double at = x(std::log2(static_cast<double>(record->n)));
    if (at - drawn < 16) continue;
    drawn = at;
    canvas.text(at, kHeight - kBottom + 12, std::to_string(record->n), "middle");
  }
  draw_series(canvas, best, x, y, kBestColour);
  draw_series(canvas, eager, x, y, kEagerColour);
  legend(canvas, kLeft, kEagerColour, "over eager");
  legend(canvas, kLeft + 90, kBestColour, "over the best rival");
  canvas.text(kWidth - kRight, kHeight - 5, "members N", "end");
  return canvas.str();
}

std::string rounds_plot(const CaseGroup& group) {
  std::vector<std::pair<const CaseRecord*, std::vector<double>>> rows;
  constexpr std::size_t kMostRows = 8;
  double low = 0, high = 0;
  for (const CaseRecord* record : group.cases) {
    if (!is_drawn(record->speedup) || rows.size() == kMostRows) continue;
    int eager = 0;
    for (std::size_t i = 0; i < record->rivals.size(); ++i) {
      if (record->rivals[i].name == "eager") eager = static_cast<int>(i) + 1;
    }
    if (eager == 0) continue;
    auto ratios = profiler::round_ratios(record->samples, eager, 0);
    std::erase_if(ratios, [](double ratio) { return !(ratio > 0) || !std::isfinite(ratio); });
    if (ratios.empty()) continue;
    for (double& ratio : ratios) ratio = std::log2(ratio);
    low = std::min(low, *std::min_element(ratios.begin(), ratios.end()));
    high = std::max(high, *std::max_element(ratios.begin(), ratios.end()));
    rows.emplace_back(record, std::move(ratios));
  }
  if (rows.empty()) return "";
  const double margin = std::max(0.1, (high - low) * 0.05);
  const Axis x{low - margin, high + margin, kLeft, kWidth - kRight};
  Canvas canvas("rounds of " + group.title);
  const double step = x.high - x.low > 4 ? 2 : x.high - x.low > 1.5 ? 1 : 0.25;
  for (double tick = std::ceil(x.low / step) * step; tick <= x.high; tick += step) {
    canvas.line(x(tick), kTop, x(tick), kHeight - kBottom, "currentColor",
                std::abs(tick) < 1e-9 ? 0.6 : 0.12);
    canvas.text(x(tick), kHeight - kBottom + 12, tick_text(std::exp2(tick)) + "x", "middle");
  }
  const double pitch = (kHeight - kTop - kBottom) / static_cast<double>(rows.size());
  for (std::size_t i = 0; i < rows.size(); ++i) {
    const double middle = kTop + (static_cast<double>(i) + 0.5) * pitch;
    canvas.text(kLeft - 4, middle + 3, "N=" + std::to_string(rows[i].first->n), "end");
    const auto& ratios = rows[i].second;
    for (std::size_t k = 0; k < ratios.size();
         ++k) {  // spread by the round, so that drift within a run shows
      const double share =
          ratios.size() < 2 ? 0.5 : static_cast<double>(k) / static_cast<double>(ratios.size() - 1);
      canvas.dot(x(ratios[k]), middle + (share - 0.5) * pitch * 0.6, 1.6, kEagerColour, 0.5);
    }
    const double median = x(std::log2(rows[i].first->speedup.value));
    canvas.line(median, middle - pitch * 0.4, median, middle + pitch * 0.4, kBestColour, 1);
  }
  legend(canvas, kLeft, kEagerColour, "one round, eager / wide");
  legend(canvas, kLeft + 150, kBestColour, "median");
  return canvas.str();
}

std::string history_plot(const TrendSeries& series) {
  std::vector<Mark> marks;
  for (std::size_t i = 0; i < series.points.size(); ++i) {
    if (is_drawn(series.points[i].speedup))
      marks.push_back({static_cast<double>(i), series.points[i].speedup});
  }
  if (marks.size() < 2) return "";
  const Axis x{-0.5, static_cast<double>(series.points.size()) - 0.5, kLeft, kWidth - kRight};
  const Axis y = speedup_axis({&marks});
  Canvas canvas(series.key);
  draw_speedup_axis(canvas, y);
  for (const std::size_t change : series.changes) {
    const double at = x(static_cast<double>(change) - 0.5);
    canvas.line(at, kTop, at, kHeight - kBottom, kBestColour, 1, "4 3");
  }
  draw_series(canvas, marks, x, y, kEagerColour);
  canvas.text(kLeft, kHeight - kBottom + 12, escaped_markup(series.points.front().started.substr(0, 10)),
              "start");
  canvas.text(kWidth - kRight, kHeight - kBottom + 12,
              escaped_markup(series.points.back().started.substr(0, 10)), "end");
  legend(canvas, kLeft, kEagerColour, "over eager, run by run");
  legend(canvas, kLeft + 150, kBestColour, "change point");
  return canvas.str();
}

}  // namespace wide::results
