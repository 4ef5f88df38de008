#include "results/trend.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <span>
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

double mean(std::span<const double> values) {
  double sum = 0;
  for (const double value : values) sum += value;
  return sum / static_cast<double>(values.size());
}

double squares(std::span<const double> values) {
  const double middle = mean(values);
  double sum = 0;
  for (const double value : values) sum += (value - middle) * (value - middle);
  return sum;
}

/// `places`: where the whole series might change. Counting them all in every part keeps the chance of a false
/// change to what is promised for the series, however often it is cut.
void split(std::span<const double> values, double places, std::size_t offset,
           std::vector<std::size_t>& found) {
  const std::size_t count = values.size();
  if (count < 2 * kShortestSegment) return;
  double best_t = 0;
  std::size_t best = 0;
  for (std::size_t at = kShortestSegment; at + kShortestSegment <= count; ++at) {
    const auto left = values.first(at), right = values.subspan(at);
    const double shift = std::abs(mean(right) - mean(left));
    if (shift < kSmallestShift) continue;
    const double variance = (squares(left) + squares(right)) / static_cast<double>(count - 2);
    const double error =
        std::sqrt(variance * (1 / static_cast<double>(left.size()) + 1 / static_cast<double>(right.size())));
    const double t = error > 0 ? shift / error : 1e9;
    if (t > best_t) best_t = t, best = at;
  }
  if (best == 0) return;
  if (student_p(best_t, static_cast<double>(count - 2)) * places > kSignificance) return;
  split(values.first(best), places, offset, found);
  found.push_back(offset + best);
  split(values.subspan(best), places, offset + best, found);
}

std::vector<TrendSeries> series_of(const std::vector<TrendPoint>& points) {
  std::map<std::pair<std::string, std::string>, TrendSeries> by_case;
  for (const TrendPoint& point : points) {
    TrendSeries& series = by_case[{point.machine_key, point.key}];
    series.machine_key = point.machine_key;
    series.key = point.key;
    series.n = point.n;
    series.points.push_back(point);
  }
  std::vector<TrendSeries> result;
  for (auto& [name, series] : by_case) {
    std::vector<double> values;
    std::vector<std::size_t> where;
    for (std::size_t i = 0; i < series.points.size(); ++i) {
      if (!(series.points[i].speedup.value > 0)) continue;
      values.push_back(std::log(series.points[i].speedup.value));
      where.push_back(i);
    }
    for (const std::size_t change : change_points(values)) series.changes.push_back(where[change]);
    result.push_back(std::move(series));
  }
  std::stable_sort(result.begin(), result.end(), [](const auto& a, const auto& b) {
    return std::tie(a.machine_key, a.n) < std::tie(b.machine_key, b.n);
  });
  return result;
}

std::vector<Winner> winners_of(const std::vector<TrendPoint>& points) {
  using Place = std::tuple<std::string, std::string, std::string, std::string, std::string, std::int64_t>;
  std::map<Place, std::map<std::string, const TrendPoint*>> newest;
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

}  // namespace

std::vector<std::size_t> change_points(const std::vector<double>& values) {
  std::vector<std::size_t> found;
  if (values.size() < 2 * kShortestSegment) return found;
  split(values, static_cast<double>(values.size() - 2 * kShortestSegment + 1), 0, found);
  return found;
}

Trend trend(const std::string& subject, const std::vector<TrendPoint>& points) {
  return {subject, series_of(points), winners_of(points)};
}

nlohmann::json to_json(const Trend& trend) {
  auto series = nlohmann::json::array(), winners = nlohmann::json::array();
  for (const TrendSeries& one : trend.series) {
    auto points = nlohmann::json::array();
    for (const TrendPoint& point : one.points) {
      points.push_back(
          {{"run", point.run},
           {"started", point.started},
           {"git_commit", point.git_commit},
           {"verdict", name(point.verdict)},
           {"speedup", interval_json(point.speedup)},
           {"wide_us", std::isfinite(point.wide_us) ? nlohmann::json(point.wide_us) : nlohmann::json()}});
    }
    series.push_back({{"machine_key", one.machine_key},
                      {"key", one.key},
                      {"n", one.n},
                      {"points", points},
                      {"change_points", one.changes}});
  }
  for (const Winner& winner : trend.winners) {
    winners.push_back({{"machine_key", winner.machine_key},
                       {"device", winner.device},
                       {"dtype", winner.dtype},
                       {"mode", winner.mode},
                       {"shape", winner.shape},
                       {"n", winner.n},
                       {"strategy", winner.strategy},
                       {"speedup", interval_json(winner.speedup)},
                       {"runner_up", winner.runner_up},
                       {"runner_up_speedup", interval_json(winner.runner_up_speedup)}});
  }
  return {{"subject", trend.subject}, {"series", series}, {"winners", winners}};
}

std::string text(const Trend& trend) {
  std::string result;
  std::string machine;
  for (const TrendSeries& series : trend.series) {
    if (series.machine_key != machine) result += "machine " + series.machine_key + "\n";
    machine = series.machine_key;
    result += "  " + printable(series.key, 150) + "\n";
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
