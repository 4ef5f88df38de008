#include "gui/views/dashboard.h"

#include <algorithm>
#include <cmath>

#include "gui/views/history_data.h"
#include "results/table.h"

namespace wide::gui {
namespace {

bool is_known(const results::TrendPoint& point) {
  return std::isfinite(point.speedup.value) && point.speedup.value > 0;
}

std::size_t measured(const results::TrendSeries& series) {
  return static_cast<std::size_t>(std::count_if(series.points.begin(), series.points.end(), is_known));
}

}  // namespace

PinnedSubject pinned_subject(const results::Trend& trend) {
  PinnedSubject card{.subject = trend.subject, .state = "not measured yet"};
  const auto best = std::max_element(trend.series.begin(), trend.series.end(),
                                     [](const results::TrendSeries& a, const results::TrendSeries& b) {
                                       return std::pair(measured(a), a.n) < std::pair(measured(b), b.n);
                                     });
  if (best == trend.series.end() || measured(*best) == 0) return card;
  for (const auto& point : best->points) {
    if (!is_known(point)) continue;
    card.speedups.push_back(point.speedup.value);
    card.newest = point.speedup, card.wide_us = point.wide_us, card.started = short_time(point.started);
    card.about = "N = " + std::to_string(point.n);
    for (const auto& part :
         {point.dtype, point.mode, point.strategy == "auto" ? std::string() : point.strategy}) {
      if (!part.empty()) card.about.append(", ").append(results::printable(part, 40));
    }
  }
  card.changed = !best->changes.empty();
  card.state = card.changed ? "changed with run " + std::to_string(best->points[best->changes.back()].run)
                            : "steady over " + std::to_string(card.speedups.size()) +
                                  (card.speedups.size() == 1 ? " run" : " runs");
  return card;
}

std::vector<PinnedSubject> read_pinned(const std::filesystem::path& database,
                                       const std::vector<std::string>& subjects) {
  std::vector<PinnedSubject> cards;
  std::error_code failed;
  if (!std::filesystem::exists(database, failed)) return cards;
  const auto store = results::Store::open(database, results::OpenMode::kReadOnly);
  for (const auto& subject : subjects)
    cards.push_back(pinned_subject(results::trend(subject, store.trend(subject))));
  return cards;
}

}  // namespace wide::gui
