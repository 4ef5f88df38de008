// Peaks that were measured while other work had the machine are measured again, and doubted where that goes
// on.
#include "app/capture/peaks.h"

#include <gtest/gtest.h>

namespace wide::app {
namespace {

/// Two CPUs; between two readings a second passes, in which others keep so many of them busy.
class FakeLoad final : public profiler::LoadSource {
 public:
  explicit FakeLoad(std::vector<double> others) : others_(std::move(others)) {}

 private:
  profiler::LoadReading do_read() override {
    if (begun_) {
      const double others = turn_ < others_.size() ? others_[turn_] : others_.back();
      ++turn_;
      now_.at += 1, now_.total += 2, now_.own += 1, now_.busy += 1 + others;
    }
    begun_ = !begun_;
    return now_;
  }
  std::vector<double> others_;
  std::size_t turn_ = 0;
  bool begun_ = false;
  profiler::LoadReading now_{.total = 0, .busy = 0, .steal = 0, .own = 0, .preempted = 0, .at = 0};
};

profiler::Peaks sound() {
  profiler::Peaks peaks{.machine = "m", .device = "cpu", .threads = 2};
  peaks.flops = {{"float32", 2e11}, {"float64", 1e11}};
  return peaks;
}

TEST(Peaks, AreMeasuredAgainWhereOtherWorkHadTheMachine) {
  FakeLoad once({1.5, 0}), always({1.5});
  int measured = 0;
  const auto measure = [&] { return ++measured, sound(); };
  EXPECT_TRUE(peaks_in_peace(measure, once, 2).doubts.empty());
  EXPECT_EQ(measured, 2);
  const auto doubts = peaks_in_peace(measure, always, 2).doubts;
  ASSERT_EQ(doubts.size(), 1U);
  EXPECT_NE(doubts[0].find("other processes kept 1.5 CPUs busy"), std::string::npos);
}

TEST(Peaks, ThatMakeNoSenseAreMeasuredAgain) {
  FakeLoad quiet({0});
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
