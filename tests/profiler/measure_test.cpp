#include "profiler/measure.h"

#include <gtest/gtest.h>

#include <map>
#include <set>

#include "formats/error.h"
#include "profiler/statistics.h"
#include "tests/profiler/fakes.h"

namespace wide::profiler {
namespace {

using fake::FakeClock;
using fake::takes;

const std::function<bool()> kNever = [] { return false; };

class BalancedOrders : public testing::TestWithParam<int> {};

TEST_P(BalancedOrders, GiveEveryoneEveryPlaceOncePerBlock) {
  const int count = GetParam();
  const auto orders = balanced_orders(count, 6 * count, 7);
  ASSERT_EQ(orders.size(), static_cast<std::size_t>(6 * count));
  for (int block = 0; block < 6; ++block) {
    std::vector<std::set<int>> at_place(count);
    for (int row = 0; row < count; ++row) {
      const auto& order = orders[block * count + row];
      EXPECT_EQ(std::set<int>(order.begin(), order.end()).size(), static_cast<std::size_t>(count));
      for (int place = 0; place < count; ++place) at_place[place].insert(order[place]);
    }
    for (const auto& seen : at_place) EXPECT_EQ(seen.size(), static_cast<std::size_t>(count));
  }
}

TEST_P(BalancedOrders, LetEveryoneFollowEveryoneEquallyOften) {
  const int count = GetParam();
  std::map<std::pair<int, int>, int> follows;
  for (const auto& order : balanced_orders(count, 4 * count, 11)) {
    for (int place = 1; place < count; ++place) ++follows[{order[place - 1], order[place]}];
  }
  EXPECT_EQ(follows.size(), static_cast<std::size_t>(count * (count - 1)));
  for (const auto& [pair, times] : follows) EXPECT_EQ(times, 4) << pair.first << " then " << pair.second;
}

INSTANTIATE_TEST_SUITE_P(Counts, BalancedOrders, testing::Values(2, 3, 4, 5, 6, 7));

TEST(BalancedOrdersTest, DependOnTheSeedAlone) {
  EXPECT_EQ(balanced_orders(4, 40, 3), balanced_orders(4, 40, 3));
  EXPECT_NE(balanced_orders(4, 40, 3), balanced_orders(4, 40, 4));
}

// A rival in another process: 40 us of the fake clock go by on the way, which are not part of its 900 us.
Contender takes_elsewhere(std::vector<std::int64_t>& asked, FakeClock& clock) {
  return {"far", {}, [&](std::int64_t runs) {
            asked.push_back(runs);
            clock.advance(40 + 900.0 * static_cast<double>(runs));
            return runs * 900'000;
          }};
}

TEST(MeasureTest, TakesTheTimeThatAnotherProcessReports) {
  FakeClock clock;
  Random random(1);
  std::vector<std::int64_t> asked;
  const std::vector<Contender> contenders = {takes("wide", 300, 0, clock, random),
                                             takes_elsewhere(asked, clock)};
  StoppingRule rule;
  rule.min_sample_us = 2000;
  const auto result = measure(contenders, rule, 5, clock, kNever);
  EXPECT_EQ(result.warmup[1].batch, 3);
  for (const auto& sample : result.samples) {
    EXPECT_DOUBLE_EQ(sample.microseconds, sample.contender == 1 ? 900 : 300);
    EXPECT_EQ(sample.iterations, sample.contender == 1 ? 3 : 7);
  }
  EXPECT_DOUBLE_EQ(speedup(result, 1).value, 3);
}

struct Counted {
  std::int64_t runs = 0;  ///< of all contenders, after their warm-up
  std::int64_t turns = 0, changes = 0;
};

// Of a contender here and one elsewhere; a run elsewhere takes 900 us.
Counted count_runs(double here_us) {
  FakeClock clock;
  std::vector<std::int64_t> asked;
  std::int64_t here = 0;
  const std::vector<Contender> contenders = {{"wide",
                                              [&] {
                                                ++here;
                                                clock.advance(here_us);
                                              }},
                                             takes_elsewhere(asked, clock)};
  StoppingRule rule;
  rule.min_rounds = rule.max_rounds = 9, rule.min_sample_us = 0;
  const auto result = measure(contenders, rule, 5, clock, kNever);
  Counted counted;
  bool before = true;  // warm-up ends with the rival elsewhere
  for (const auto& sample : result.samples) {
    ++counted.turns;
    const bool elsewhere = sample.contender == 1;
    if (elsewhere != before) ++counted.changes;
    before = elsewhere;
  }
  counted.runs = here + std::ssize(asked) - result.warmup[0].iterations - result.warmup[1].iterations;
  return counted;
}

TEST(MeasureTest, EveryTurnBeginsWithARunThatIsNotTimed) {
  const auto counted = count_runs(300);
  EXPECT_EQ(counted.turns, 3 * 9);
  EXPECT_EQ(counted.runs, 2 * counted.turns);
}

TEST(MeasureTest, ALongRunIsNotTimedFirstOnlyWhereTheProcessChanges) {
  const auto counted = count_runs(50'000);
  const auto elsewhere = counted.turns / 3;
  const auto changed_to_here = counted.changes / 2;
  ASSERT_GT(changed_to_here, 4);
  // And once in its first turn, of which nothing is known yet.
  EXPECT_GE(counted.runs, counted.turns + elsewhere + changed_to_here);
  EXPECT_LE(counted.runs, counted.turns + elsewhere + changed_to_here + 2);
}

TEST(MeasureTest, KeepsEverySampleInOrderWithItsPlace) {
  FakeClock clock;
  Random random(1);
  const std::vector<Contender> contenders = {takes("wide", 300, 0.01, clock, random),
                                             takes("eager", 900, 0.01, clock, random)};
  StoppingRule rule;
  rule.min_rounds = 9;
  rule.max_rounds = 30;
  rule.relative_width = 0;
  rule.max_seconds = 1000;
  const auto result = measure(contenders, rule, 5, clock, kNever);
  EXPECT_EQ(result.contenders, (std::vector<std::string>{"wide", "eager", "wide'"}));
  EXPECT_EQ(result.stop_reason, StopReason::kRounds);
  EXPECT_EQ(result.rounds, 30);
  ASSERT_EQ(result.samples.size(), 90u);
  std::map<int, int> leads;
  for (std::size_t i = 0; i < result.samples.size(); ++i) {
    EXPECT_EQ(result.samples[i].round, static_cast<int>(i / 3));
    EXPECT_EQ(result.samples[i].position, static_cast<int>(i % 3));
    if (result.samples[i].position == 0) ++leads[result.samples[i].contender];
  }
  EXPECT_EQ(leads, (std::map<int, int>{{0, 10}, {1, 10}, {2, 10}}));
  EXPECT_NEAR(speedup(result, 1).value, 3.0, 0.05);
  EXPECT_NEAR(noise_floor(result).value, 1.0, 0.02);
}

TEST(MeasureTest, IsTheSameAgainWithTheSameSeed) {
  const auto once = [] {
    FakeClock clock;
    Random random(2);
    const std::vector<Contender> contenders = {takes("wide", 100, 0.05, clock, random),
                                               takes("eager", 250, 0.05, clock, random)};
    return measure(contenders, {}, 99, clock, kNever);
  };
  const auto first = once();
  EXPECT_EQ(first.samples, once().samples);
  EXPECT_EQ(speedup(first, 1).low, speedup(once(), 1).low);
}

TEST(MeasureTest, RoundsUpToWholeBlocks) {
  FakeClock clock;
  Random random(3);
  const std::vector<Contender> contenders = {takes("wide", 300, 0, clock, random),
                                             takes("eager", 900, 0, clock, random),
                                             takes("threads", 500, 0, clock, random)};
  StoppingRule rule;
  rule.min_rounds = 9;
  const auto result = measure(contenders, rule, 1, clock, kNever);
  EXPECT_EQ(result.stop_reason, StopReason::kPrecision);
  EXPECT_EQ(result.rounds, 12);  // 4 contenders with the twin
}

TEST(MeasureTest, StopsForPrecisionOnlyWhenEveryRivalIsPrecise) {
  FakeClock clock;
  Random random(4);
  const std::vector<Contender> contenders = {takes("wide", 300, 0.001, clock, random),
                                             takes("calm", 900, 0.001, clock, random),
                                             takes("nervous", 900, 0.2, clock, random)};
  StoppingRule rule;
  rule.relative_width = 0.08;
  rule.max_rounds = 400;
  rule.max_seconds = 1000;
  const auto result = measure(contenders, rule, 1, clock, kNever);
  ASSERT_EQ(result.stop_reason, StopReason::kPrecision);
  EXPECT_GT(result.rounds, 24);
  EXPECT_LE(speedup(result, 1).relative_width(), 0.08);
  EXPECT_LE(speedup(result, 2).relative_width(), 0.08);
}

TEST(MeasureTest, StopsForTimeAfterAWholeBlock) {
  FakeClock clock;
  Random random(5);
  const std::vector<Contender> contenders = {takes("wide", 4e5, 0.3, clock, random),
                                             takes("eager", 9e5, 0.3, clock, random)};
  StoppingRule rule;
  rule.max_seconds = 4;
  const auto result = measure(contenders, rule, 1, clock, kNever);
  EXPECT_EQ(result.stop_reason, StopReason::kTime);
  EXPECT_EQ(result.samples.size(), static_cast<std::size_t>(3 * result.rounds));
  EXPECT_GE(result.rounds, 3);
  EXPECT_LT(result.rounds, 12);
}

TEST(MeasureTest, FinishesABlockHoweverLong) {
  FakeClock clock;
  Random random(6);
  const std::vector<Contender> contenders = {takes("wide", 6e7, 0, clock, random)};
  const auto result = measure(contenders, {}, 1, clock, kNever);
  EXPECT_EQ(result.stop_reason, StopReason::kTime);
  EXPECT_EQ(result.rounds, 3);
  EXPECT_TRUE(noise_floor(result).known());
}

TEST(MeasureTest, StopsWhenCancelledAndKeepsWhatIsThere) {
  FakeClock clock;
  Random random(7);
  const std::vector<Contender> contenders = {takes("wide", 1000, 0.3, clock, random),
                                             takes("eager", 2000, 0.3, clock, random)};
  StoppingRule rule;
  rule.min_rounds = 1000;
  rule.max_seconds = 1000;
  const auto result = measure(contenders, rule, 1, clock, [&] { return clock.seconds() > 0.6; });
  EXPECT_EQ(result.stop_reason, StopReason::kCancelled);
  EXPECT_GE(result.rounds, 5);
  EXPECT_LT(clock.seconds(), 0.61);
}

TEST(MeasureTest, CancelledDuringWarmUpMeasuresNothing) {
  FakeClock clock;
  Random random(8);
  const std::vector<Contender> contenders = {takes("wide", 1000, 0, clock, random)};
  const auto result = measure(contenders, {}, 1, clock, [] { return true; });
  EXPECT_EQ(result.stop_reason, StopReason::kCancelled);
  EXPECT_TRUE(result.samples.empty());
  EXPECT_FALSE(speedup(result, 1).known());
}

TEST(MeasureTest, BatchesShortRuns) {
  FakeClock clock;
  Random random(9);
  const std::vector<Contender> contenders = {takes("wide", 3, 0, clock, random),
                                             takes("eager", 1000, 0, clock, random)};
  const auto result = measure(contenders, {}, 1, clock, kNever);
  EXPECT_EQ(result.warmup[0].batch, 67);  // 200 us / 3 us
  EXPECT_EQ(result.warmup[1].batch, 1);
  for (const auto& sample : result.samples) {
    EXPECT_EQ(sample.iterations, sample.contender == 1 ? 1 : 67);
    EXPECT_NEAR(sample.microseconds, sample.contender == 1 ? 1000 : 3, 1e-9);
  }
}

TEST(MeasureTest, WarmsUpUntilTheTrendIsFlatAndKeepsTheFirstRunApart) {
  FakeClock clock;
  int runs = 0;
  const std::vector<Contender> contenders = {
      {"wide", [&] {
         ++runs;
         clock.advance(runs == 1 ? 50'000 : 1000 + 9000 * std::exp(-runs / 20.0));
       }}};
  StoppingRule rule;
  rule.warmup_seconds = 10;
  const auto result = measure(contenders, rule, 1, clock, kNever);
  EXPECT_DOUBLE_EQ(result.warmup[0].first_run_us, 50'000);
  EXPECT_TRUE(result.warmup[0].steady);
  EXPECT_GT(result.warmup[0].iterations, 60);
  for (const auto& sample : result.samples) EXPECT_LT(sample.microseconds, 1500);
}

TEST(MeasureTest, SaysWhenTheWarmUpCapCameFirst) {
  FakeClock clock;
  double us = 10'000;
  const std::vector<Contender> contenders = {{"wide", [&] { clock.advance(us *= 0.95); }}};
  StoppingRule rule;
  rule.warmup_seconds = 0.1;
  rule.max_rounds = 3;
  const auto result = measure(contenders, rule, 1, clock, kNever);
  EXPECT_FALSE(result.warmup[0].steady);
  EXPECT_LT(result.warmup[0].seconds, 0.12);
}

TEST(MeasureTest, DriftOfTheMachineDoesNotMoveTheSpeedup) {
  FakeClock clock;
  Random random(10);
  double slowdown = 1;
  const auto drifting = [&](double us) {
    return [&, us] {
      slowdown *= 1.003;
      clock.advance(us * slowdown * std::exp(0.01 * fake::normal(random)));
    };
  };
  const std::vector<Contender> contenders = {{"wide", drifting(1000)}, {"eager", drifting(2000)}};
  StoppingRule rule;
  rule.min_rounds = 60;
  rule.max_rounds = 60;
  rule.max_seconds = 1e6;
  const auto result = measure(contenders, rule, 1, clock, kNever);
  EXPECT_NEAR(speedup(result, 1).value, 2.0, 0.02);
}

TEST(MeasureTest, EndsWhenRunsTakeNoTimeAtAll) {
  FakeClock clock;
  const std::vector<Contender> contenders = {{"wide", [] {}}, {"eager", [] {}}};
  StoppingRule rule;
  rule.max_rounds = 3;
  rule.min_rounds = 3;
  const auto result = measure(contenders, rule, 1, clock, kNever);
  EXPECT_EQ(result.stop_reason, StopReason::kRounds);
  EXPECT_FALSE(speedup(result, 1).known());  // 0 / 0
}

TEST(MeasureTest, RefusesNothingAndPassesExceptionsThrough) {
  FakeClock clock;
  EXPECT_THROW(measure({}, {}, 1, clock, kNever), Error);
  const std::vector<Contender> contenders = {{"wide", [] { throw std::runtime_error("out of memory"); }}};
  EXPECT_THROW(measure(contenders, {}, 1, clock, kNever), std::runtime_error);
}

TEST(MeasureTest, RealClockMovesForwards) {
  SteadyClock clock;
  volatile double sink = 0;
  const std::vector<Contender> contenders = {{"wide",
                                              [&] {
                                                for (int i = 0; i < 2000; ++i) sink = sink + i;
                                              }},
                                             {"eager", [&] {
                                                for (int i = 0; i < 8000; ++i) sink = sink + i;
                                              }}};
  StoppingRule rule;
  rule.max_seconds = 0.5;
  rule.warmup_seconds = 0.1;
  const auto result = measure(contenders, rule, 1, clock, {});
  EXPECT_GT(speedup(result, 1).value, 2);
  EXPECT_LT(speedup(result, 1).value, 8);
}

}  // namespace
}  // namespace wide::profiler
