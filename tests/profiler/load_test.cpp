#include "profiler/watched.h"

#include <gtest/gtest.h>

#include "profiler/statistics.h"
#include "tests/profiler/fakes.h"
#include "tests/temporary_folder.h"

namespace wide::profiler {
namespace {

using processes::LoadReading;
using processes::LoadSource;
using processes::MachineLoad;

/// Two CPUs for ten seconds at a time: each reading after what the script says of the time before it.
class ScriptedLoad final : public LoadSource {
 public:
  struct Step {
    double steal = 0, own = 10, others = 0, preempted = 0;
  };
  explicit ScriptedLoad(std::vector<Step> steps) : steps_(std::move(steps)) {}

 private:
  LoadReading do_read() override {
    if (reads_++ % 2 == 1) {
      const Step step = steps_.at(next_++);
      now_.at += 10, now_.total += 20, now_.steal += step.steal, now_.own += step.own;
      now_.busy += step.own + step.others, now_.preempted += step.preempted;
    }
    return now_;
  }
  std::vector<Step> steps_;
  std::size_t next_ = 0;
  int reads_ = 0;
  LoadReading now_{.total = 0, .busy = 0, .steal = 0, .own = 0, .preempted = 0, .at = 0};
};

/// Wide and its twin in turns, which differ by `noise` from round to round.
Measurement rounds(double noise) {
  Measurement measurement{.contenders = {"wide", "wide'"}, .warmup = {{}, {}}, .rounds = 16, .seconds = 1};
  for (int round = 0; round < measurement.rounds; ++round) {
    for (int i = 0; i < 2; ++i) {
      const double us = 100 * (i == 1 && round % 2 == 0 ? 1 + noise : 1);
      measurement.samples.push_back({.contender = i, .round = round, .position = i, .microseconds = us});
    }
  }
  return measurement;
}

Watched watched(std::vector<ScriptedLoad::Step> steps, std::vector<double> noises, int threads,
                bool alone = true, double most_seconds = 10) {
  ScriptedLoad load(std::move(steps));
  std::size_t next = 0;
  return measure_watched([&] { return rounds(noises.at(next++)); }, load, threads, alone, most_seconds);
}

TEST(Load, AQuietMachineIsMeasuredOnce) {
  const auto seen = watched({{}}, {0.01}, 1);
  EXPECT_EQ(seen.attempts, 1);
  EXPECT_EQ(seen.objection, "");
  EXPECT_DOUBLE_EQ(seen.disturbance.steal, 0);
  EXPECT_DOUBLE_EQ(seen.disturbance.cpus, 2);
}

TEST(Load, ADisturbedMeasurementIsMadeOnceMore) {
  const auto better = watched({{.steal = 4}, {}}, {0.01, 0.01}, 1);
  EXPECT_EQ(better.attempts, 2);
  EXPECT_EQ(better.objection, "");
  const auto no_better = watched({{.steal = 4}, {.steal = 4}}, {0.01, 0.01}, 1);
  EXPECT_EQ(no_better.attempts, 2);
  EXPECT_EQ(no_better.objection, "the hypervisor took 20 % of the CPUs' time while it was measured");
  EXPECT_EQ(watched({{.steal = 4}}, {0.01}, 1, true, 0.5).attempts, 1) << "no time for it";
}

TEST(Load, OthersMayHaveTheCpusThatMeasuringLeavesFree) {
  EXPECT_EQ(watched({{.others = 10}}, {0.01}, 1).objection, "") << "one of two";
  EXPECT_NE(watched({{.others = 10}, {.others = 10}}, {0.01, 0.01}, 2).objection, "");
  EXPECT_NE(watched({{.others = 15}, {.others = 15}}, {0.01, 0.01}, 1).objection, "");
  EXPECT_EQ(watched({{.others = 15}}, {0.01}, 1, /*alone=*/false).objection, "") << "they are rivals";
}

TEST(Load, SeesCpusTakenAway) {
  EXPECT_EQ(watched({{.preempted = 200}}, {0.01}, 1).objection, "");
  EXPECT_NE(watched({{.preempted = 5000}, {.preempted = 5000}}, {0.01, 0.01}, 1).objection.find("a second"),
            std::string::npos);
}

TEST(Load, SeesThatTheSameWorkDiffers) {
  const auto seen = watched({{}, {}}, {0.9, 0.9}, 1);
  EXPECT_NE(seen.objection.find("the same work measured twice differs"), std::string::npos) << seen.objection;
}

TEST(Load, IsReadFromTheMachine) {
  const wide::test::TemporaryFolder root;
  std::filesystem::create_directory(root / "proc");
  root.write("proc/stat", "cpu  100 20 30 1000 50 6 4 90 0 0\ncpu0 1 2 3\n");
  const auto reading = MachineLoad(root.path()).read();
  EXPECT_DOUBLE_EQ(reading.steal, 0.9);
  EXPECT_DOUBLE_EQ(reading.total, 13);
  EXPECT_DOUBLE_EQ(reading.busy, 1.6);
  EXPECT_GT(reading.own, 0);
  const auto unknown = MachineLoad(root / "nowhere").read();
  EXPECT_TRUE(std::isnan(unknown.steal));
  EXPECT_EQ(objection(between(unknown, unknown), 1), "");
}

TEST(Statistics, AnIntervalOfRoundsIsWidenedByWhatProcessesShow) {
  const Interval narrow{2, 1.99, 2.01};
  EXPECT_NEAR(widened(narrow, 0).low, 1.99, 1e-12);
  EXPECT_NEAR(widened({2, 2, 2}, 0.04).high, 2 * std::exp(1.96 * 0.04), 1e-4);
  EXPECT_LT(widened(narrow, 0.04).low, 1.86);
  EXPECT_FALSE(widened({2, 0, 3}, 0.04).known());
  EXPECT_NEAR(p_of({1.1, 1.1 / 1.1, 1.1 * 1.1}), 0.05, 1e-6) << "the limit lies at 1";
  EXPECT_EQ(p_of({1, 1, 1}), 1);
  EXPECT_TRUE(std::isnan(p_of({})));
}

}  // namespace
}  // namespace wide::profiler
