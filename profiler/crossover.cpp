#include "profiler/crossover.h"

#include <algorithm>
#include <cmath>

#include "profiler/random.h"

namespace wide::profiler {
namespace {

// Reorders `values`, which hold no NaN.
double median_of(std::vector<double>& values) {
  const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
  std::nth_element(values.begin(), middle, values.end());
  if (values.size() % 2 == 1) return *middle;
  return 0.5 * (*middle + *std::max_element(values.begin(), middle));
}

// One speed-up over the best rival; `rounds` picks the rounds, the same for every rival.
double speedup_of(const CrossoverPoint& point, std::span<const std::uint32_t> rounds) {
  double least = kNever;
  std::vector<double> picked(rounds.size());
  for (const auto& ratios : point.ratios) {
    for (std::size_t i = 0; i < rounds.size(); ++i) picked[i] = ratios[rounds[i]];
    least = std::min(least, median_of(picked));
  }
  return least;
}

/// Whether wide won every round against every rival: then it wins in every resample.
bool wins_always(const CrossoverPoint& point) {
  return std::all_of(point.ratios.begin(), point.ratios.end(), [](const auto& ratios) {
    return std::all_of(ratios.begin(), ratios.end(), [](double ratio) { return ratio > 1; });
  });
}

/// The crossing for one choice of rounds at each N. From the largest N down, since all that counts is the
/// largest at which wide is not faster and the one after it: the others' medians need not be found.
double crossing(std::span<const CrossoverPoint> points, const std::vector<std::vector<std::uint32_t>>& rounds,
                const std::vector<bool>& certain) {
  for (std::size_t i = points.size(); i-- > 0;) {
    if (certain[i]) continue;
    const double speedup = speedup_of(points[i], rounds[i]);
    if (speedup > 1) continue;
    if (i + 1 == points.size()) return kNever;
    const double from = std::log(static_cast<double>(points[i].n));
    const double to = std::log(static_cast<double>(points[i + 1].n));
    const double left = std::log(speedup), right = std::log(speedup_of(points[i + 1], rounds[i + 1]));
    return std::exp(from + (to - from) * left / (left - right));
  }
  return kBelowSmallest;
}

std::size_t rounds_of(const CrossoverPoint& point) {
  std::size_t rounds = point.ratios.empty() ? 0 : point.ratios[0].size();
  for (const auto& ratios : point.ratios) {
    rounds = std::min(rounds, ratios.size());
    const auto usable = [](double ratio) { return std::isfinite(ratio) && ratio > 0; };
    if (!std::all_of(ratios.begin(), ratios.end(), usable)) return 0;
  }
  return rounds;
}

}  // namespace

Interval crossover(std::span<const CrossoverPoint> points, std::uint64_t seed, int resamples) {
  constexpr std::size_t kFewestRounds = 3;
  std::vector<std::vector<std::uint32_t>> rounds;
  std::size_t fewest = SIZE_MAX;
  for (const auto& point : points) {
    rounds.emplace_back(rounds_of(point));
    for (std::size_t i = 0; i < rounds.back().size(); ++i) rounds.back()[i] = static_cast<std::uint32_t>(i);
    fewest = std::min(fewest, rounds.back().size());
  }
  if (points.size() < 2 || fewest < kFewestRounds || resamples < 1) return {};
  std::vector<bool> certain;
  for (const auto& point : points) certain.push_back(wins_always(point));
  Interval result;
  result.value = crossing(points, rounds, certain);
  if (std::find(certain.begin(), certain.end(), false) == certain.end())
    return {result.value, result.value, result.value};
  Random random(seed);
  std::vector<double> all(static_cast<std::size_t>(resamples));
  for (double& one : all) {
    for (auto& picks : rounds) {
      const auto count = static_cast<std::uint32_t>(picks.size());
      for (auto& pick : picks) pick = random.below(count);
    }
    one = crossing(points, rounds, certain);
  }
  // Order statistics, never a mean of two: a mean with kNever or kBelowSmallest is no N.
  std::sort(all.begin(), all.end());
  const double last = static_cast<double>(all.size() - 1), level = expanded_level(fewest);
  result.low = all[static_cast<std::size_t>(std::floor(level * last))];
  result.high = all[static_cast<std::size_t>(std::ceil((1 - level) * last))];
  return result;
}

}  // namespace wide::profiler
