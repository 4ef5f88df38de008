#include "profiler/statistics.h"

#include <gtest/gtest.h>

#include <cmath>

#include "profiler/random.h"
#include "tests/profiler/fakes.h"

namespace wide::profiler {
namespace {

using fake::FakeClock;
using fake::normal;
using fake::takes;

constexpr double kInf = std::numeric_limits<double>::infinity();

TEST(StatisticsTest, MedianAndQuantiles) {
  EXPECT_EQ(median({3, 1, 2}), 2);
  EXPECT_EQ(median({4, 1, 2, 3}), 2.5);
  EXPECT_EQ(median({7}), 7);
  EXPECT_DOUBLE_EQ(quantile({0, 10, 20, 30}, 0.25), 7.5);
  EXPECT_EQ(quantile({5, 1}, 1), 5);
  EXPECT_EQ(median({1, kInf, kInf}), kInf);
}

TEST(StatisticsTest, NothingAndNaNAreUnknown) {
  EXPECT_TRUE(std::isnan(median({})));
  EXPECT_TRUE(std::isnan(median({1, kUnknown, 3})));
  for (const std::vector<double>& values :
       {std::vector<double>{}, {1, 2, kUnknown}, {1, 2, kInf}, {1, 2, -kInf}, {kUnknown}}) {
    EXPECT_FALSE(bootstrap_median(values, 1).known());
    const auto summary = summarize(values, 1);
    EXPECT_TRUE(std::isnan(summary.median_us));
    EXPECT_FALSE(summary.ci95.known());
    EXPECT_EQ(summary.samples, static_cast<int>(values.size()));
  }
  EXPECT_FALSE(Interval{}.known());
  EXPECT_TRUE(std::isnan(Interval{}.relative_width()));
}

TEST(StatisticsTest, TooFewValuesHaveAValueButNoInterval) {
  const std::vector<double> two = {1, 2};
  const auto interval = bootstrap_median(two, 1);
  EXPECT_EQ(interval.value, 1.5);
  EXPECT_TRUE(std::isnan(interval.low));
  EXPECT_FALSE(interval.known());
}

// Drawn, sorted and cut as by the book: an even number of values has its median between two of them.
TEST(StatisticsTest, AnIntervalIsThatOfResampledMedians) {
  constexpr int kResamples = 500;
  for (const std::size_t count : {5U, 6U, 20U}) {
    std::vector<double> values, medians;
    for (std::size_t i = 0; i < count; ++i) values.push_back(std::pow(1.3, static_cast<double>(i)));
    Random random(7);
    for (int i = 0; i < kResamples; ++i) {
      std::vector<double> drawn;
      while (drawn.size() < count) drawn.push_back(values[random.below(static_cast<std::uint32_t>(count))]);
      medians.push_back(median(drawn));
    }
    const auto interval = bootstrap_median(values, 7, kResamples);
    EXPECT_DOUBLE_EQ(interval.low, quantile(medians, expanded_level(count)));
    EXPECT_DOUBLE_EQ(interval.high, quantile(medians, 1 - expanded_level(count)));
  }
}

TEST(StatisticsTest, SummaryCountsOutliersAndKeepsThem) {
  const std::vector<double> us = {10, 11, 12, 13, 14, 100};
  const auto summary = summarize(us, 1);
  EXPECT_EQ(summary.samples, 6);
  EXPECT_EQ(summary.outliers, 1);
  EXPECT_DOUBLE_EQ(summary.median_us, 12.5);
  EXPECT_DOUBLE_EQ(summary.min_us, 10);
  EXPECT_DOUBLE_EQ(summary.iqr_us, 2.5);
  EXPECT_DOUBLE_EQ(summary.mad_us, 1.5);
  EXPECT_EQ(summary.ci95.value, summary.median_us);
  EXPECT_LE(summary.ci95.low, summary.median_us);
  EXPECT_GE(summary.ci95.high, summary.median_us);
  EXPECT_LE(summary.ci95.high, 100);
}

TEST(StatisticsTest, BootstrapIsSeeded) {
  Random random(1);
  std::vector<double> values(25);
  for (double& value : values) value = normal(random);
  const auto a = bootstrap_median(values, 42), b = bootstrap_median(values, 42);
  EXPECT_EQ(a.low, b.low);
  EXPECT_EQ(a.high, b.high);
  std::reverse(values.begin(), values.end());
  EXPECT_EQ(bootstrap_median(values, 42).low, a.low);  // order does not matter
}

class Coverage : public testing::TestWithParam<int> {};

/// At least 93 % of the 95 % intervals hold the truth, for skewed values and for even and odd counts.
TEST_P(Coverage, OfTheMedianIsWhatItSays) {
  const int count = GetParam();
  constexpr int kTrials = 1000;
  Random random(static_cast<std::uint64_t>(count));
  int hits = 0;
  for (int trial = 0; trial < kTrials; ++trial) {
    std::vector<double> values(count);
    for (double& value : values) value = std::exp(0.2 * normal(random));  // log-normal: true median 1
    const auto interval = bootstrap_median(values, derive(7, trial));
    hits += interval.low <= 1 && 1 <= interval.high;
  }
  EXPECT_GE(hits, kTrials * 93 / 100) << "of " << kTrials;
}

INSTANTIATE_TEST_SUITE_P(Counts, Coverage, testing::Values(12, 15, 20, 33, 60));

TEST(StatisticsTest, RatiosArePairedByRound) {
  const std::vector<Sample> samples = {{0, 0, 0, 1, 10},
                                       {1, 0, 1, 1, 20},
                                       {1, 1, 0, 1, 60},
                                       {0, 1, 1, 1, 20},
                                       {1, 2, 0, 1, 99}};  // round 2 was cut short
  EXPECT_EQ(round_ratios(samples, 1, 0), (std::vector<double>{2, 3}));
}

TEST(StatisticsTest, JudgementNeedsSignificanceAndSize) {
  const Interval quiet{1.0, 0.995, 1.005};
  EXPECT_EQ(judge({1.5, 1.4, 1.6}, quiet), Effect::kFaster);
  EXPECT_EQ(judge({0.8, 0.7, 0.9}, quiet), Effect::kSlower);
  EXPECT_EQ(judge({1.001, 0.99, 1.01}, quiet), Effect::kSame);
  EXPECT_EQ(judge({1.01, 1.005, 1.015}, quiet), Effect::kSame)
      << "significant, but below the smallest effect";
  EXPECT_EQ(judge({1.5, 0.9, 2.0}, quiet), Effect::kInconclusive);
  EXPECT_EQ(judge({1.05, 1.01, 1.09}, {1.0, 0.915, 1.095}), Effect::kSame) << "below the noise floor";
  EXPECT_EQ(judge({1.5, 1.4, 1.6}, {1.0, 0.9, 1.1}), Effect::kInconclusive) << "noise of 11 %";
  EXPECT_EQ(judge({1.0, 0.75, 1.3}, quiet, kMinimumEffect, 0.2), Effect::kInconclusive)
      << "the interval holds both";
  EXPECT_EQ(judge({1.5, 1.4, 1.6}, {}), Effect::kInconclusive);
  EXPECT_EQ(judge({}, quiet), Effect::kInconclusive);
  EXPECT_EQ(judge({1.5, kUnknown, 1.6}, quiet), Effect::kInconclusive);
  EXPECT_EQ(judge({1.5, 1.4, 1.6}, {1.0, 0.0, 1.0}), Effect::kInconclusive);
}

/// `factor`: true time of the rival over wide.
Effect judged(double factor, double noise, std::uint64_t seed) {
  FakeClock clock;
  Random random(seed);
  const std::vector<Contender> contenders = {takes("wide", 1000, noise, clock, random),
                                             takes("rival", 1000 * factor, noise, clock, random)};
  StoppingRule rule;
  rule.max_rounds = 60;
  rule.relative_width = 0.01;
  rule.max_seconds = 1000;
  rule.warmup_seconds = 0.02;
  const auto result = measure(contenders, rule, seed, clock, {});
  return judge(speedup(result, 1), noise_floor(result));
}

TEST(StatisticsTest, EqualContendersAreRarelyCalledFaster) {
  int wrong = 0;
  for (std::uint64_t seed = 0; seed < 500; ++seed) {
    const auto effect = judged(1.0, 0.03, seed);
    wrong += effect == Effect::kFaster || effect == Effect::kSlower;
  }
  EXPECT_LE(wrong, 5);  // 1 %
}

TEST(StatisticsTest, APlantedSlowdownOfFivePercentIsFound) {
  int found = 0;
  for (std::uint64_t seed = 0; seed < 300; ++seed)
    found += judged(1 / 1.05, 0.02, 5000 + seed) == Effect::kSlower;
  EXPECT_GE(found, 285);  // 95 %
}

}  // namespace
}  // namespace wide::profiler
