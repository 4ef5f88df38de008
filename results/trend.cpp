#include "results/trend.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <numeric>
#include <tuple>
#include <utility>

#include "results/escape.h"
#include "results/holm.h"
#include "results/json_fields.h"
#include "results/table.h"

namespace wide::results {
namespace {

constexpr std::size_t kShortestSegment = 3;
constexpr double kSignificance = 0.01;
const double kSmallestShift = std::log(1.03);

/// Sums over any part of a series in constant time: of the values less their mean, so that squares stay
/// small.
class PartSums {
 public:
  explicit PartSums(const std::vector<double>& values) {
    const double middle = std::accumulate(values.begin(), values.end(), 0.0) / std::ssize(values);
    for (const double value : values) {
      sums_.push_back(sums_.back() + (value - middle));
      squares_.push_back(squares_.back() + (value - middle) * (value - middle));
    }
  }
  double mean(std::size_t from, std::size_t to) const {
    return (sums_[to] - sums_[from]) / static_cast<double>(to - from);
  }
  /// Of the deviations from the part's own mean.
  double squares(std::size_t from, std::size_t to) const {
    const double part_mean = mean(from, to);
    return std::max(0.0,
                    squares_[to] - squares_[from] - part_mean * part_mean * static_cast<double>(to - from));
  }

 private:
  std::vector<double> sums_{0.0}, squares_{0.0};
};

/// Where the values `from` … `to` - 1 change most, if they do; 0: nowhere. `places`: where the whole series
/// might change. Counting them all in every part keeps the chance of a false change to what is promised for
/// the series, however often it is cut.
std::size_t change_within(const PartSums& sums, double places, std::size_t from, std::size_t to) {
  const std::size_t count = to - from;
  double best_t = 0;
  std::size_t best = 0;
  for (std::size_t at = from + kShortestSegment; at + kShortestSegment <= to; ++at) {
    const double shift = std::abs(sums.mean(at, to) - sums.mean(from, at));
    if (shift < kSmallestShift) continue;
    const double variance = (sums.squares(from, at) + sums.squares(at, to)) / static_cast<double>(count - 2);
    const double error =
        std::sqrt(variance * (1 / static_cast<double>(at - from) + 1 / static_cast<double>(to - at)));
    const double t = error > 0 ? shift / error : 1e9;
    if (t > best_t) best_t = t, best = at;
  }
  if (best == 0) return 0;
  return student_p(best_t, static_cast<double>(count - 2)) * places > kSignificance ? 0 : best;
}

std::vector<TrendSeries> series_of(std::vector<TrendPoint> points) {
  using Case = std::tuple<std::string_view, std::string_view, int, std::string_view, std::string_view>;
  std::map<Case, std::vector<TrendPoint*>> by_case;
  for (TrendPoint& point : points)
    by_case[{point.machine_key, point.key, point.threads, point.rivals, point.model_hash}].push_back(&point);
  std::vector<TrendSeries> result;
  for (const auto& [name, of_case] : by_case) {
    TrendSeries& series = result.emplace_back();
    std::tie(series.machine_key, series.key, series.threads, series.rivals, series.model_hash) = name;
    series.n = of_case.back()->n;
    for (TrendPoint* point : of_case) series.points.push_back(std::move(*point));
    std::vector<double> values;
    std::vector<std::size_t> where;
    for (std::size_t i = 0; i < series.points.size(); ++i) {
      if (!(series.points[i].speedup.value > 0)) continue;
      values.push_back(std::log(series.points[i].speedup.value));
      where.push_back(i);
    }
    for (const std::size_t change : change_points(values)) series.changes.push_back(where[change]);
  }
  std::stable_sort(result.begin(), result.end(), [](const auto& a, const auto& b) {
    return std::tie(a.machine_key, a.n) < std::tie(b.machine_key, b.n);
  });
  return result;
}

std::vector<Winner> winners_of(const std::vector<TrendPoint>& points) {
  using Text = std::string_view;
  using Place = std::tuple<Text, Text, Text, Text, Text, std::int64_t>;
  std::map<Place, std::map<Text, const TrendPoint*>> newest;
  for (const TrendPoint& point : points) {
    if (!point.speedup.known()) continue;
    newest[{point.machine_key, point.device, point.dtype, point.mode, point.shape, point.n}][point.strategy] =
        &point;
  }
  std::vector<Winner> result;
  for (const auto& [place, strategies] : newest) {
    std::vector<const TrendPoint*> order;
    for (const auto& [name, point] : strategies) order.push_back(point);
    std::stable_sort(order.begin(), order.end(),
                     [](const auto* a, const auto* b) { return a->speedup.value > b->speedup.value; });
    Winner winner;
    std::tie(winner.machine_key, winner.device, winner.dtype, winner.mode, winner.shape, winner.n) = place;
    winner.strategy = order[0]->strategy;
    winner.speedup = order[0]->speedup;
    if (order.size() > 1) {
      winner.runner_up = order[1]->strategy;
      winner.runner_up_speedup = order[1]->speedup;
    }
    result.push_back(std::move(winner));
  }
  return result;
}

nlohmann::json series_json(const TrendSeries& series) {
  auto points = nlohmann::json::array();
  for (const TrendPoint& point : series.points) {
    points.push_back({{"run", point.run},
                      {"started", point.started},
                      {"git_commit", point.git_commit},
                      {"verdict", name(point.verdict)},
                      {"speedup", interval_json(point.speedup)},
                      {"wide_us", finite(point.wide_us)}});
  }
  return {{"machine_key", series.machine_key}, {"key", series.key},
          {"threads", series.threads},         {"rivals", series.rivals},
          {"model_hash", series.model_hash},   {"n", series.n},
          {"points", std::move(points)},       {"change_points", series.changes}};
}

nlohmann::json winner_json(const Winner& winner) {
  return {{"machine_key", winner.machine_key},
          {"device", winner.device},
          {"dtype", winner.dtype},
          {"mode", winner.mode},
          {"shape", winner.shape},
          {"n", winner.n},
          {"strategy", winner.strategy},
          {"speedup", interval_json(winner.speedup)},
          {"runner_up", winner.runner_up},
          {"runner_up_speedup", interval_json(winner.runner_up_speedup)}};
}

}  // namespace

std::vector<std::size_t> change_points(const std::vector<double>& values) {
  std::vector<std::size_t> found;
  if (values.size() < 2 * kShortestSegment) return found;
  const PartSums sums(values);
  const double places = static_cast<double>(values.size() - 2 * kShortestSegment + 1);
  std::vector<std::pair<std::size_t, std::size_t>> parts{{0, values.size()}};
  while (!parts.empty()) {
    const auto [from, to] = parts.back();
    parts.pop_back();
    const std::size_t change = change_within(sums, places, from, to);
    if (change == 0) continue;
    found.push_back(change);
    parts.emplace_back(from, change);
    parts.emplace_back(change, to);
  }
  std::sort(found.begin(), found.end());
  return found;
}

Trend trend(const std::string& subject, std::vector<TrendPoint> points) {
  Trend result{subject, {}, winners_of(points)};
  result.series = series_of(std::move(points));
  return result;
}

void write_json(std::ostream& out, const Trend& trend) {
  auto winners = nlohmann::json::array();
  for (const Winner& winner : trend.winners) winners.push_back(winner_json(winner));
  write_object(out, {{"subject", trend.subject}, {"winners", std::move(winners)}}, "series",
               trend.series.size(), [&](std::size_t i) { return series_json(trend.series[i]); });
}

std::string title(const TrendSeries& series) {
  auto result = printable(series.key, 150);
  if (series.threads > 0) result += "  " + std::to_string(series.threads) + " threads";
  if (!series.rivals.empty()) result += "  beside " + printable(series.rivals, 80);
  if (!series.model_hash.empty()) result += "  model " + printable(series.model_hash, 8);
  return result;
}

std::string text(const Trend& trend) {
  std::string result;
  std::string machine;
  for (const TrendSeries& series : trend.series) {
    if (series.machine_key != machine) result += "machine " + series.machine_key + "\n";
    machine = series.machine_key;
    result += "  " + title(series) + "\n";
    for (std::size_t i = 0; i < series.points.size(); ++i) {
      const TrendPoint& point = series.points[i];
      const bool changed = std::find(series.changes.begin(), series.changes.end(), i) != series.changes.end();
      result.append(changed ? "  > " : "    ").append("run ").append(std::to_string(point.run)).append("  ");
      result.append(printable(point.started)).append("  ").append(speedup_text(point.speedup)).append("  ");
      result.append(duration(point.wide_us));
      if (!point.git_commit.empty()) result.append("  ").append(printable(point.git_commit, 12));
      if (point.verdict != Verdict::kPass) result.append("  ").append(name(point.verdict));
      result += changed ? "  <- change point\n" : "\n";
    }
  }
  bool titled = false;
  for (const Winner& winner : trend.winners) {
    if (winner.runner_up.empty()) continue;
    if (!std::exchange(titled, true)) result += "best strategy by machine and N\n";
    result.append("  ")
        .append(winner.machine_key)
        .append("  n=")
        .append(std::to_string(winner.n))
        .append("  ");
    result.append(printable(winner.strategy))
        .append(" ")
        .append(speedup_text(winner.speedup))
        .append(", then ");
    result.append(printable(winner.runner_up))
        .append(" ")
        .append(speedup_text(winner.runner_up_speedup))
        .append("\n");
  }
  return result;
}

}  // namespace wide::results
