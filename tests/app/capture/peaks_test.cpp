// Peaks that were measured while other work had the machine are measured again, and doubted where that goes
// on.
#include "app/capture/peaks.h"

#include <gtest/gtest.h>

#include "tests/fake_load.h"

namespace wide::app {
namespace {

using test::FakeLoad;

profiler::Peaks sound() {
  profiler::Peaks peaks{.machine = "m", .device = "cpu", .threads = 2};
  peaks.flops = {{"float32", 2e11}, {"float64", 1e11}};
  return peaks;
}

TEST(Peaks, AreMeasuredAgainWhereOtherWorkHadTheMachine) {
  FakeLoad once, always(1.5);
  int measured = 0;
  const auto measure = [&] {
    once.others = ++measured == 1 ? 1.5 : 0;
    return sound();
  };
  EXPECT_TRUE(peaks_in_peace(measure, once, 2).doubts.empty());
  EXPECT_EQ(measured, 2);
  const auto doubts = peaks_in_peace(sound, always, 2).doubts;
  ASSERT_EQ(doubts.size(), 1U);
  EXPECT_NE(doubts[0].find("other processes kept 1.5 CPUs busy"), std::string::npos);
}

TEST(Peaks, ThatMakeNoSenseAreMeasuredAgain) {
  FakeLoad quiet;
  int measured = 0;
  const auto better = [&] {
    auto peaks = sound();
    if (++measured == 1) peaks.flops["float32"] = 1e9;
    return peaks;
  };
  EXPECT_TRUE(peaks_in_peace(better, quiet, 2).doubts.empty());
  EXPECT_EQ(measured, 2);
}

}  // namespace
}  // namespace wide::app
