#include "results/gate.h"

#include <gtest/gtest.h>

#include "formats/error.h"
#include "results/gate_self_test.h"
#include "tests/results/sample_records.h"
#include "tests/results/simulated_runs.h"

namespace wide::results {
namespace {

using test::passed_case;
using test::sample_run;
using test::simulated_case;
using test::simulated_run;
using test::SimulatedMachine;

constexpr int kCases = 16;

class Gate : public testing::Test {
 protected:
  Side runs(int count, int slowed, double slow, const std::string& name) {
    Side side{name, {}};
    for (int i = 0; i < count; ++i)
      side.runs.push_back(simulated_run(machine_, kCases, slowed, slow, random_));
    return side;
  }
  /// Measures again truthfully: the first `slowed` cases are slow.
  MeasureAgain again(int slowed, double slow) {
    return [=, this](const std::set<std::string>& keys, int) {
      ++measured_;
      Imported run = simulated_run(machine_, kCases, slowed, slow, random_);
      std::erase_if(run.cases, [&](const auto& record) { return !keys.contains(record.key); });
      return std::optional<Fresh>(Fresh{run, std::nullopt});
    };
  }

  SimulatedMachine machine_{.process = 0.01, .round = 0.02, .outliers = 0};
  profiler::Random random_{5};
  int measured_ = 0;
};

TEST_F(Gate, PassesWhatIsTheSame) {
  const auto outcome = gate(runs(4, 0, 1, "main"), runs(1, 0, 1, "run"), {}, again(0, 1));
  EXPECT_EQ(outcome.verdict, GateVerdict::kPassed);
  EXPECT_TRUE(outcome.slower.empty());
}

TEST_F(Gate, ConfirmsARegressionByMeasuringAgain) {
  const auto outcome = gate(runs(4, 0, 1, "main"), runs(1, 2, 1.15, "run"), {}, again(2, 1.15));
  EXPECT_EQ(outcome.verdict, GateVerdict::kRegressed);
  EXPECT_EQ(outcome.slower, (std::vector<std::string>{"case0/n=4", "case1/n=4"}));
  EXPECT_EQ(measured_, 6) << "what is clear is clear at the first judgement";
  EXPECT_EQ(outcome.second_look.cases.size(), 2u);
  EXPECT_NE(text(outcome).find("gate: regressed"), std::string::npos);
  EXPECT_EQ(markdown(outcome).find("## gate: regressed"), 0u);
}

TEST_F(Gate, AnAlertThatDoesNotComeBackPasses) {
  const auto outcome = gate(runs(4, 0, 1, "main"), runs(1, 2, 1.3, "run"), {}, again(0, 1));
  EXPECT_EQ(outcome.verdict, GateVerdict::kPassed);
  EXPECT_TRUE(outcome.alerts.contains("case0/n=4"));
  EXPECT_EQ(measured_, 3) << "dropped as soon as three repeats are fine";
}

TEST_F(Gate, ANoisyCaseIsMeasuredUntilItIsDecided) {
  machine_.process = 0.05;
  const auto outcome = gate(runs(16, 0, 1, "main"), runs(1, 2, 1.12, "run"), {}, again(2, 1.12));
  EXPECT_EQ(outcome.slower, (std::vector<std::string>{"case0/n=4", "case1/n=4"})) << text(outcome);
  EXPECT_GT(measured_, 6);
  EXPECT_LE(measured_, GateOptions().repeats);
}

TEST_F(Gate, ANoisyCaseIsNotLetThroughForBeingNoisy) {
  machine_.process = 0.1;
  Side baseline = runs(4, 0, 1, "main"), run{"run", {baseline.runs[0]}};
  for (auto& record : run.runs[0].cases) {  // exactly as fast as the baseline, as far as one run can tell
    std::vector<double> cost;
    for (const auto& other : baseline.runs)
      for (const auto& same : other.cases)
        if (same.key == record.key) cost.push_back(same.speedup.value);
    const double factor = profiler::median(cost) / record.speedup.value;
    for (double* value :
         {&record.rivals[0].speedup.value, &record.rivals[0].speedup.low, &record.rivals[0].speedup.high})
      *value *= factor;
  }
  const auto outcome = gate(baseline, run, {}, again(0, 1));
  EXPECT_GE(outcome.alerts.size(), 12u);
  EXPECT_TRUE(outcome.slower.empty());
  baseline.runs.resize(1);  // which does not show how much runs differ: then by the ratio alone
  EXPECT_LT(gate(baseline, run, {}, again(0, 1)).alerts.size(), 12u);
}

TEST_F(Gate, WhatCannotBeMeasuredAgainIsNotTriedForEver) {
  const auto broken = [this](const std::set<std::string>& keys, int repeat) {
    auto fresh = again(2, 1.3)(keys, repeat);
    for (auto& record : fresh->run.cases) {
      record.verdict = Verdict::kTimeout;
      clear_speedups(record);
    }
    return fresh;
  };
  const auto outcome = gate(runs(4, 0, 1, "main"), runs(1, 2, 1.3, "run"), {}, broken);
  EXPECT_EQ(outcome.verdict, GateVerdict::kInconclusive);
  EXPECT_GE(outcome.open.size(), 2u);
  EXPECT_TRUE(outcome.broken.contains("case0/n=4"));
  EXPECT_EQ(measured_, 6);
}

TEST_F(Gate, ADisturbedCaseIsNotLetThrough) {
  const auto disturb = [](Imported& run) {
    set_disturbed(run.cases[0], "other work took a CPU away");
    clear_speedups(run.cases[0]);
  };
  Side run = runs(1, 1, 3, "run");
  disturb(run.runs[0]);
  EXPECT_EQ(gate(runs(4, 0, 1, "main"), run, {}, again(1, 3)).slower, std::vector<std::string>{"case0/n=4"});
  EXPECT_EQ(gate(runs(4, 0, 1, "main"), run, {}, again(0, 1)).verdict, GateVerdict::kPassed);

  const auto twice = [&](const std::set<std::string>& keys,
                         int repeat) {  // of the repeats, all but each third
    auto fresh = again(1, 3)(keys, repeat);
    if (repeat % 3 != 0) disturb(fresh->run);
    return fresh;
  };
  EXPECT_EQ(gate(runs(4, 0, 1, "main"), run, {}, twice).slower, std::vector<std::string>{"case0/n=4"});
  const auto always = [&](const std::set<std::string>& keys, int repeat) {
    auto fresh = again(1, 3)(keys, repeat);
    disturb(fresh->run);
    return fresh;
  };
  auto outcome = gate(runs(4, 0, 1, "main"), run, {}, always);
  EXPECT_EQ(outcome.verdict, GateVerdict::kInconclusive);
  EXPECT_EQ(outcome.open, std::vector<std::string>{"case0/n=4"});

  Side baseline = runs(1, 0, 1, "main");
  disturb(baseline.runs[0]);
  measured_ = 0;
  outcome = gate(baseline, runs(1, 1, 3, "run"), {}, again(1, 3));
  EXPECT_EQ(outcome.open, std::vector<std::string>{"case0/n=4"});
  EXPECT_EQ(measured_, 6) << "measuring again tells nothing of the baseline";
}

TEST_F(Gate, ABaselineIsMeasuredAgainWhereItWasDisturbedButNotForEver) {
  Side baseline = runs(2, 0, 1, "main");
  const auto disturb = [](Imported& run) { set_disturbed(run.cases[0], "other work took a CPU away"); };
  for (auto& run : baseline.runs) disturb(run);
  EXPECT_TRUE(unsteady_cases(baseline).contains("case0/n=4"));
  for (int i = 0; i < 14; ++i) {
    baseline.runs.push_back(simulated_run(machine_, kCases, 0, 1, random_));
    disturb(baseline.runs.back());
  }
  EXPECT_FALSE(unsteady_cases(baseline).contains("case0/n=4"));
}

TEST_F(Gate, WrongNumbersEndIt) {
  const auto baseline = runs(4, 0, 1, "main");
  const auto wrong = [](Imported& run, const std::string& key) {
    for (auto& record : run.cases) {
      if (record.key != key) continue;
      record.verdict = Verdict::kFail;
      clear_speedups(record);
    }
  };
  const auto again_wrong = [&](const std::set<std::string>& keys, int repeat) {
    auto fresh = again(2, 1.3)(keys, repeat);
    if (repeat == 1) wrong(fresh->run, "case1/n=4");
    return fresh;
  };
  auto outcome = gate(baseline, runs(1, 2, 1.3, "run"), {}, again_wrong);
  EXPECT_EQ(outcome.verdict, GateVerdict::kWrongNumbers);
  EXPECT_EQ(outcome.wrong, (std::set<std::string>{"case1/n=4"}));
  EXPECT_NE(text(outcome).find("WRONG      case1/n=4"), std::string::npos) << text(outcome);
  EXPECT_EQ(measured_, 2) << "how fast wrong numbers are computed is no question";

  auto run = runs(1, 2, 1.3, "run");
  wrong(run.runs[0], "case7/n=4");
  outcome = gate(baseline, run, {}, again(2, 1.3));
  EXPECT_EQ(outcome.verdict, GateVerdict::kWrongNumbers);
  EXPECT_EQ(measured_, 2);
  EXPECT_THROW(gate(run, baseline, {}, {}), Error);
}

TEST_F(Gate, WithoutMeasuringAgainAnAlertIsUndecidedNotARegression) {
  const auto outcome = gate(runs(4, 0, 1, "main"), runs(1, 2, 1.3, "run"), {}, {});
  EXPECT_EQ(outcome.verdict, GateVerdict::kInconclusive);
  EXPECT_TRUE(outcome.slower.empty());
  EXPECT_GE(outcome.open.size(), 2u);
}

TEST_F(Gate, AMissingOrSkippedCaseFails) {
  const Side baseline = runs(4, 0, 1, "main");
  Side run = runs(1, 0, 1, "run");
  run.runs[0].cases.erase(run.runs[0].cases.begin());
  auto& skipped = run.runs[0].cases[3];
  skipped.verdict = Verdict::kSkipped;
  clear_speedups(skipped);
  const auto outcome = gate(baseline, run, {}, again(0, 1));
  EXPECT_EQ(outcome.verdict, GateVerdict::kRegressed);
  EXPECT_EQ(outcome.missing, (std::vector<std::string>{"case0/n=4", "case4/n=4"}));
}

TEST_F(Gate, ACaseThatCouldNotBeMeasuredIsUndecided) {
  const Side baseline = runs(4, 0, 1, "main");
  Side run = runs(1, 0, 1, "run");
  run.runs[0].cases[2].verdict = Verdict::kTimeout;
  clear_speedups(run.runs[0].cases[2]);
  const auto outcome = gate(baseline, run, {}, again(0, 1));
  EXPECT_EQ(outcome.verdict, GateVerdict::kInconclusive);
  EXPECT_EQ(outcome.open, std::vector<std::string>{"case2/n=4"});
}

TEST_F(Gate, StopsWhenMeasuringIsStopped) {
  const auto outcome = gate(runs(4, 0, 1, "main"), runs(1, 2, 1.3, "run"), {},
                            [](const auto&, int) -> std::optional<Fresh> { return std::nullopt; });
  EXPECT_EQ(outcome.verdict, GateVerdict::kStopped);
}

TEST_F(Gate, ABaselineProgramTakesThePlaceOfTheStoredRuns) {
  // The machine has become slower since the baseline was stored, in a way that its rival does not feel.
  const auto both = [this](const std::set<std::string>& keys, int) {
    const auto one = [&] {
      Imported run = simulated_run(machine_, kCases, kCases, 1.3, random_);
      std::erase_if(run.cases, [&](const auto& record) { return !keys.contains(record.key); });
      return run;
    };
    return std::optional<Fresh>(Fresh{one(), one()});
  };
  const auto outcome = gate(runs(4, 0, 1, "main"), runs(1, kCases, 1.3, "run"), {}, both);
  EXPECT_EQ(outcome.alerts.size(), static_cast<std::size_t>(kCases));
  EXPECT_EQ(outcome.verdict, GateVerdict::kPassed) << text(outcome);
}

TEST_F(Gate, RefusesBaselinesOfOtherMachines) {
  Side baseline = runs(1, 0, 1, "main"), run = runs(1, 0, 1, "run");
  baseline.runs[0].run.machine.cpu = "Other";
  EXPECT_THROW(gate(baseline, run, {}, again(0, 1)), Error);
  GateOptions options;
  options.compare.across_machines = true;
  EXPECT_NO_THROW(gate(baseline, run, options, again(0, 1)));
  EXPECT_THROW(
      gate({"x", {{sample_run(), {passed_case("x")}}}}, {"y", {{sample_run(), {passed_case("y")}}}}, {}, {}),
      Error);
}

TEST(Baseline, MeasuresNoisyCasesAgainUntilTheirMiddleIsKnown) {
  profiler::Random random(3);
  const SimulatedMachine calm{.process = 0.01, .round = 0.01, .outliers = 0},
      noisy{.process = 0.06, .round = 0.01, .outliers = 0};
  const auto measure = [&](const std::set<std::string>* keys) {
    Imported run = simulated_run(calm, 24, 0, 1, random);
    for (int i = 0; i < 6; ++i)
      run.cases[static_cast<std::size_t>(i)] = simulated_case(noisy, i, 1, 0, random);
    if (keys != nullptr)
      std::erase_if(run.cases, [&](const auto& record) { return !keys->contains(record.key); });
    return run;
  };
  Side baseline{"main", {measure(nullptr)}};
  EXPECT_TRUE(unsteady_cases(baseline).empty()) << "one run does not show how much runs differ";
  while (baseline.runs.size() < 4) baseline.runs.push_back(measure(nullptr));
  EXPECT_TRUE(unsteady_cases(baseline, {.most = 4}).empty());
  auto keys = unsteady_cases(baseline);
  EXPECT_GE(keys.size(), 5u);
  EXPECT_LE(keys.size(), 8u);
  int rounds = 0;
  for (; !keys.empty(); keys = unsteady_cases(baseline), ++rounds) baseline.runs.push_back(measure(&keys));
  EXPECT_EQ(rounds, 12) << "16 in all";
  baseline.runs[0].cases[0].verdict = Verdict::kTimeout;
  EXPECT_FALSE(unsteady_cases(baseline, {.most = 100}).contains("case0/n=4"));
}

TEST(GateSelfTest, FindsTenPercentAndRaisesNoFalseAlarms) {
  const auto result = simulated_self_test({.trials = 50, .cases = 24});
  ASSERT_EQ(result.size(), 5u);
  EXPECT_EQ(result[0].slow_down, 0);
  EXPECT_EQ(result[0].cases, 50 * 16);
  EXPECT_LE(result[0].rate.value, 0.01) << text(result);
  EXPECT_EQ(result[3].slow_down, 0.10);
  EXPECT_GE(result[3].rate.value, 0.95) << text(result);
  EXPECT_GE(result[4].rate.value, 0.99) << text(result);
  EXPECT_LE(result[1].rate.value, 0.05) << "2 % is below the smallest effect of interest\n" << text(result);
  EXPECT_TRUE(trustworthy(result));
  EXPECT_NE(text(result).find("10 % slower: found"), std::string::npos);
}

TEST(GateSelfTest, SaysWhenTheMachineIsTooNoisy) {
  const auto result = simulated_self_test({.trials = 4, .cases = 24, .process_spread = 0.2});
  EXPECT_LE(result[0].rate.value, 0.05) << text(result);
  EXPECT_FALSE(trustworthy(result)) << text(result);
}

TEST(GateSelfTest, ReplaysRealRuns) {
  profiler::Random random(9);
  const SimulatedMachine machine{.process = 0.01, .round = 0.02, .outliers = 0};
  std::vector<Imported> runs;
  while (std::ssize(runs) < runs_of_a_trial({})) runs.push_back(simulated_run(machine, 24, 0, 1, random));
  EXPECT_EQ(runs.size(), 16u + 1 + 24);
  const auto result = replayed_self_test(runs, {.trials = 10});
  EXPECT_TRUE(trustworthy(result)) << text(result);
  runs.resize(kRunsToDrawFrom);  // fewer than a trial needs: with replacement
  const auto drawn = replayed_self_test(runs, {.trials = 10});
  EXPECT_TRUE(trustworthy(drawn)) << text(drawn);
  runs.pop_back();
  EXPECT_THROW(replayed_self_test(runs, {.trials = 10}), Error);
  SelfTestOptions small{.trials = 2, .baseline_runs = 3};
  small.baseline.most = 3;
  small.gate.repeats = 6;
  EXPECT_NO_THROW(replayed_self_test(runs, small));
}

TEST(GateSelfTest, PlantsExactlyWhatItSays) {
  const CaseRecord before = passed_case(), after = slowed(before, 1.1);
  EXPECT_DOUBLE_EQ(after.wide.median_us, before.wide.median_us * 1.1);
  EXPECT_DOUBLE_EQ(after.speedup.high, before.speedup.high / 1.1);
  EXPECT_DOUBLE_EQ(after.rivals[0].speedup.value, before.rivals[0].speedup.value / 1.1);
  EXPECT_EQ(after.rivals[0].time.median_us, before.rivals[0].time.median_us);
}

}  // namespace
}  // namespace wide::results
