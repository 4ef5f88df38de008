#include "profiler/crossover.h"

#include <gtest/gtest.h>

#include <cmath>

#include "profiler/random.h"
#include "tests/profiler/fakes.h"

namespace wide::profiler {
namespace {

// 30 rounds around `speedup`, one rival.
CrossoverPoint point(std::int64_t n, double speedup, double noise, Random& random) {
  CrossoverPoint result{n, {{}}};
  for (int i = 0; i < 30; ++i) result.ratios[0].push_back(speedup * std::exp(noise * fake::normal(random)));
  return result;
}

TEST(Crossover, InterpolatesInLogNBetweenTheTwoAroundIt) {
  Random random(1);
  // Speed-up N / 6 in log-log: a straight line through 1 at N = 6.
  const std::vector<CrossoverPoint> points = {point(2, 2 / 6.0, 0, random), point(4, 4 / 6.0, 0, random),
                                              point(8, 8 / 6.0, 0, random), point(16, 16 / 6.0, 0, random)};
  const auto result = crossover(points, 1);
  EXPECT_NEAR(result.value, 6, 1e-9);
  EXPECT_NEAR(result.low, 6, 1e-9);
  EXPECT_NEAR(result.high, 6, 1e-9);
}

TEST(Crossover, HasItsEnds) {
  Random random(2);
  const auto faster = point(2, 1.5, 0.01, random), slower = point(8, 0.5, 0.01, random);
  EXPECT_EQ(crossover(std::vector{faster, point(8, 2, 0.01, random)}, 1).value, kBelowSmallest);
  EXPECT_EQ(crossover(std::vector{faster, point(8, 2, 0.01, random)}, 1).high, kBelowSmallest);
  EXPECT_EQ(crossover(std::vector{faster, slower}, 1).value, kNever);
  EXPECT_EQ(crossover(std::vector{faster, slower}, 1).low, kNever);
}

TEST(Crossover, CountsFromTheLastNThatIsNotFaster) {
  Random random(3);
  const std::vector<CrossoverPoint> points = {point(2, 2, 0, random), point(4, 0.5, 0, random),
                                              point(8, 2, 0, random)};
  EXPECT_NEAR(crossover(points, 1).value, std::sqrt(32.0), 1e-9);
}

TEST(Crossover, TakesTheBestRivalOfEachResample) {
  Random random(4);
  auto low = point(2, 0.5, 0, random), high = point(8, 4, 0, random);
  low.ratios.push_back(std::vector<double>(30, 3));
  high.ratios.push_back(std::vector<double>(30, 2));  // the better rival at N = 8
  EXPECT_NEAR(crossover(std::vector{low, high}, 1).value, 4, 1e-9);
}

TEST(Crossover, IntervalCoversTheTruth) {
  Random random(5);
  int covered = 0;
  constexpr int kTrials = 200;
  for (int i = 0; i < kTrials; ++i) {
    const std::vector<CrossoverPoint> points = {point(2, 0.8, 0.1, random), point(8, 1.6, 0.1, random)};
    const double truth = 2 * std::pow(4.0, std::log(0.8) / (std::log(0.8) - std::log(1.6)));
    const auto result = crossover(points, static_cast<std::uint64_t>(i), 200);
    covered += result.low <= truth && truth <= result.high;
  }
  EXPECT_GE(covered, kTrials * 90 / 100);
  EXPECT_LT(covered, kTrials);  // an interval that always covers says nothing
}

TEST(Crossover, NeedsTwoNAndThreeRounds) {
  Random random(6);
  EXPECT_FALSE(crossover(std::vector{point(2, 2, 0, random)}, 1).known());
  EXPECT_FALSE(crossover(std::vector<CrossoverPoint>{{2, {{1, 2}}}, {4, {{1, 2}}}}, 1).known());
  EXPECT_FALSE(crossover(std::vector<CrossoverPoint>{{2, {{1, 2, NAN}}}, {4, {{1, 2, 3}}}}, 1).known());
  EXPECT_FALSE(crossover(std::vector<CrossoverPoint>{{2, {}}, {4, {}}}, 1).known());
}

}  // namespace
}  // namespace wide::profiler
