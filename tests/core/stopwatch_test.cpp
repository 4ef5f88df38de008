#include "core/tune/stopwatch.h"

#include <gtest/gtest.h>

#include <cmath>
#include <stdexcept>

namespace wide {
namespace {

// A machine on which a function takes as long as it says, times what the machine's noise makes of it.
struct Machine {
  double time = 0;
  int calls = 0;
  std::function<double(int)> noise = [](int) { return 1.0; };

  std::function<void()> function(double nanoseconds) {
    return [this, nanoseconds] { time += nanoseconds * noise(calls++); };
  }
  std::function<void()> counted(double nanoseconds, int& its_calls) {
    return [this, nanoseconds, &its_calls] { time += nanoseconds, ++its_calls; };
  }
  StopwatchOptions options() {
    StopwatchOptions options;
    options.now = [this] { return time; };
    return options;
  }
};

TEST(Stopwatch, GivesTheTimeOfACall) {
  Machine machine;
  const std::vector<std::function<void()>> functions{machine.function(100), machine.function(130)};
  const auto times = time_in_turns(functions, machine.options());
  EXPECT_NEAR(times[0], 100, 1e-6);
  EXPECT_NEAR(times[1], 130, 1e-6);
}

TEST(Stopwatch, ACallThatTakesLongIsEnough) {
  Machine machine;
  int slow = 0, quick = 0;
  auto options = machine.options();
  options.enough = 1;
  const auto times =
      time_in_turns(std::vector{machine.counted(2e9, slow), machine.counted(1e6, quick)}, options);
  EXPECT_EQ(slow, 1);
  EXPECT_GT(quick, options.least_rounds);
  EXPECT_EQ(times, (std::vector{2e9, 1e6}));
}

TEST(Stopwatch, WhatComesBeforeASampleIsNotTimed) {
  Machine machine;
  int prepared = 0, calls = 0;
  const std::vector<std::function<void()>> functions{machine.counted(90'000, calls)};
  auto options = machine.options();
  options.before = [&] { machine.time += 5e6, ++prepared; };
  EXPECT_NEAR(time_in_turns(functions, options)[0], 90'000, 1e-6);
  EXPECT_EQ(prepared, calls);  // a call is as long as a sample
}

TEST(Stopwatch, SlowMomentsOfTheMachineCancelOut) {
  // Five times slower for the first rounds, in which the slow function is given up; then calm.
  Machine machine;
  machine.noise = [&](int) { return machine.time < 4e6 ? 5.0 : 1.0; };
  const std::vector<std::function<void()>> functions{machine.function(70'000), machine.function(140'000)};
  auto options = machine.options();
  options.hopeless = 1.5;
  const auto times = time_in_turns(functions, options);
  EXPECT_NEAR(times[1] / times[0], 2, 1e-6) << times[0] << " and " << times[1];
}

TEST(Stopwatch, ASlowSampleNowAndThenChangesNothing) {
  Machine machine;
  machine.noise = [](int call) { return call % 7 == 3 ? 40.0 : 1.0; };
  const std::vector<std::function<void()>> functions{machine.function(90'000), machine.function(100'000)};
  const auto times = time_in_turns(functions, machine.options());
  EXPECT_LT(times[0], times[1]);
  EXPECT_NEAR(times[0], 90'000, 1);
}

TEST(Stopwatch, DoesNotRunTheHopelessForLong) {
  Machine machine;
  int slow_calls = 0;
  const std::vector<std::function<void()>> functions{machine.function(100'000),
                                                     machine.counted(300'000, slow_calls)};
  const auto options = machine.options();
  (void)time_in_turns(functions, options);
  EXPECT_EQ(slow_calls, 2 + options.least_rounds + 1);  // two to warm up, one last look
}

TEST(Stopwatch, WhatTakesLongIsRunSeldom) {
  Machine machine;
  int best_calls = 0, near_calls = 0, far_calls = 0;
  const std::vector<std::function<void()>> functions{
      machine.counted(20e6, best_calls), machine.counted(24e6, near_calls), machine.counted(80e6, far_calls)};
  const auto times = time_in_turns(functions, machine.options());
  EXPECT_EQ(best_calls, 5);
  EXPECT_EQ(near_calls, 5);
  EXPECT_EQ(far_calls, 2);
  EXPECT_NEAR(times[1], 24e6, 1);
  EXPECT_NEAR(times[2], 80e6, 1);
}

TEST(Stopwatch, AMoodThatHitsOneOfTwoPassesBeforeTheRaceIsDecided) {
  // For a tenth of a second the better one takes half as much again, as one with two threads may.
  Machine machine;
  const std::vector<std::function<void()>> functions{
      machine.function(40'000), [&] { machine.time += machine.time < 1e8 ? 45'000 : 30'000; }};
  auto options = machine.options();
  options.hopeless = 1.1, options.seconds_each = 0.4, options.patience = 0.25;
  const auto patient = time_in_turns(functions, options);
  EXPECT_LT(patient[1], patient[0]);
  machine.time = 0;
  options.patience = 0;
  const auto hasty = time_in_turns(functions, options);
  EXPECT_GT(hasty[1], hasty[0]) << "the noise does not show: the test says nothing";
}

TEST(Stopwatch, PatienceIsNotForTheFarBehindNorForTheOnlyOneLeft) {
  Machine machine;
  int slow_calls = 0;
  const std::vector<std::function<void()>> functions{machine.function(100'000),
                                                     machine.counted(300'000, slow_calls)};
  auto options = machine.options();
  options.seconds_each = 10, options.patience = 5;
  (void)time_in_turns(functions, options);
  EXPECT_EQ(slow_calls, 2 + options.least_rounds + 1);  // two to warm up, one last look
  EXPECT_LT(machine.time, 1e8);
}

TEST(Stopwatch, SlowOnesAreNotFlatteredByCrowdedCaches) {
  // While the slow one runs, the fast one finds its data out of the caches; alone it is four times faster.
  Machine machine;
  bool evicted = false;
  const std::vector<std::function<void()>> functions{[&] {
                                                       machine.time += evicted ? 400'000 : 100'000;
                                                       evicted = false;
                                                     },
                                                     [&] {
                                                       machine.time += 1'000'000;
                                                       evicted = true;
                                                     }};
  const auto times = time_in_turns(functions, machine.options());
  EXPECT_NEAR(times[0], 100'000, 1);
  EXPECT_NEAR(times[1], 1'000'000, 1);
}

TEST(Stopwatch, WhatThrowsIsNeverTheBest) {
  Machine machine;
  int calls = 0;
  const std::vector<std::function<void()>> functions{
      [] { throw std::runtime_error("not on made-up values"); }, machine.function(100'000),
      [&] {
        if (++calls > 4) throw std::runtime_error("late");
        machine.time += 50'000;
      }};
  const auto times = time_in_turns(functions, machine.options());
  EXPECT_TRUE(std::isinf(times[0]));
  EXPECT_NEAR(times[1], 100'000, 1);
  EXPECT_TRUE(std::isinf(times[2]));
  EXPECT_TRUE(time_in_turns({}, machine.options()).empty());
}

}  // namespace
}  // namespace wide
