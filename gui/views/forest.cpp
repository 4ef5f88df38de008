#include "gui/views/forest.h"

#include <algorithm>
#include <cmath>

#include "gui/views/drawing.h"
#include "gui/views/over_n.h"
#include "gui/views/quantity.h"
#include "gui/views/sweep_rows.h"

namespace wide::gui {
namespace {

using profiler::Interval;

bool drawn(const Interval& ratio) {
  return std::isfinite(ratio.value) && ratio.value > 0;
}

const char* colour_of(const std::string& word) {
  if (word.empty()) return "#1b1f24";
  switch (meaning(word)) {
    case Meaning::kGood:
      return "#007a58";
    case Meaning::kBad:
    case Meaning::kBroken:
      return "#b84700";
    case Meaning::kSame:
      return "#59636e";
    case Meaning::kUnclear:
      break;
  }
  return "#8a6100";
}

std::string attributes(const char* name, const char* colour) {
  return std::string(name) + "=\"" + colour + "\"";
}

void draw_interval(Drawing& drawing, const ForestRow& row, const ForestScale& scale, double left,
                   double width, double middle) {
  const auto x = [&](double ratio) { return left + scale.at(ratio) * width; };
  const auto* colour = colour_of(row.word);
  const auto stroke = attributes("stroke", colour) + " stroke-width=\"1.5\"";
  if (row.ratio.known()) {
    const double from = x(row.ratio.low), to = x(row.ratio.high);
    drawing.line(from, middle, to, middle, stroke);
    // Caps; where the interval goes on, the head of an arrow.
    const double back_from = scale.cut_low(row.ratio) ? from + 5 : from;
    const double back_to = scale.cut_high(row.ratio) ? to - 5 : to;
    for (const double side : {-4.0, 4.0}) {
      drawing.line(from, middle, back_from, middle + side, stroke);
      drawing.line(to, middle, back_to, middle + side, stroke);
    }
  }
  drawing.circle(x(row.ratio.value), middle, row.on_the_whole ? 5 : 3.5, attributes("fill", colour),
                 show_change(row.ratio));
}

}  // namespace

std::vector<ForestRow> forest_rows(const CompareData& data) {
  std::vector<ForestRow> rows;
  const auto& table = data.table;
  const auto subject = table.column("subject"), n = table.column("n"), strategy = table.column("strategy"),
             word = table.column("change"), ratio = table.column("ratio");
  for (const auto row : table.shown()) {
    ForestRow one{.row = row, .title = std::string(table.text(row, subject))};
    one.title.append(", N = ").append(show_count({table.number(row, n)}));
    if (const auto how = table.text(row, strategy); !how.empty() && how != "auto")
      one.title.append(", ").append(how);
    one.ratio = table.interval(row, ratio);
    one.word = table.text(row, word);
    rows.push_back(std::move(one));
  }
  const auto& whole = data.comparison.geometric_mean;
  if (whole.known())
    rows.push_back({.row = table.rows(), .title = "on the whole", .ratio = whole, .on_the_whole = true});
  return rows;
}

double ForestScale::at(double ratio) const {
  if (!(ratio > 0)) return 0;
  return std::clamp(std::log(ratio / low) / std::log(high / low), 0.0, 1.0);
}

ForestScale forest_scale(const std::vector<ForestRow>& rows) {
  double least = 1, most = 1;
  for (const auto& row : rows) {
    if (!drawn(row.ratio)) continue;
    least = std::min(least, row.ratio.value), most = std::max(most, row.ratio.value);
    constexpr double kMuchWider = 4;
    if (!row.ratio.known() || row.ratio.low <= 0) continue;
    if (meaning(row.word) == Meaning::kUnclear && row.ratio.high > kMuchWider * row.ratio.low) continue;
    least = std::min(least, row.ratio.low), most = std::max(most, row.ratio.high);
  }
  const double margin = std::max(1.02, std::pow(most / least, 0.08));
  return {least / margin, most * margin};
}

std::string forest_svg(const std::vector<ForestRow>& rows, const std::string& title) {
  constexpr double kForestLeft = 210, kScale = 380, kPitch = 22, kForestTop = 52, kForestWidth = 860;
  const auto scale = forest_scale(rows);
  const double bottom = kForestTop + kPitch * static_cast<double>(rows.size());
  Drawing drawing(kForestWidth, bottom + 34);
  drawing.text(16, 22, title, "start", "font-weight=\"bold\"");
  for (const double tick : value_ticks(OverN::kOverEager, scale.low, scale.high, 6)) {
    const double x = kForestLeft + scale.at(tick) * kScale;
    drawing.line(x, kForestTop - 4, x, bottom, "stroke=\"#dddddd\"");
    drawing.text(x, kForestTop - 8, tick_text(OverN::kOverEager, tick), "middle");
  }
  const double one = kForestLeft + scale.at(1) * kScale;
  drawing.line(one, kForestTop - 4, one, bottom, "stroke=\"#59636e\"");
  for (std::size_t i = 0; i < rows.size(); ++i) {
    const auto& row = rows[i];
    const double middle = kForestTop + kPitch * (static_cast<double>(i) + 0.5);
    const char* weight = row.on_the_whole ? "font-weight=\"bold\"" : "";
    drawing.text(kForestLeft - 12, middle + 4, row.title, "end", weight);
    if (drawn(row.ratio)) draw_interval(drawing, row, scale, kForestLeft, kScale, middle);
    drawing.text(kForestLeft + kScale + 14, middle + 4, row.word, "start",
                 attributes("fill", colour_of(row.word)) + " " + weight);
    drawing.text(kForestWidth - 16, middle + 4, show_change(row.ratio), "end", weight);
  }
  drawing.text(kForestLeft, bottom + 20,
               "cost of the second run over the first, 95 %; left of 1 it became faster");
  return drawing.document();
}

}  // namespace wide::gui
