#include "results/compare.h"

#include <gtest/gtest.h>

#include "formats/error.h"
#include "results/holm.h"
#include "tests/results/sample_records.h"
#include "tests/results/simulated_runs.h"

namespace wide::results {
namespace {

using test::failed_case;
using test::has;
using test::passed_case;
using test::sample_run;
using test::simulated_run;
using test::SimulatedMachine;

int count(const Comparison& comparison, Change change) {
  const auto found = comparison.counts.find(change);
  return found == comparison.counts.end() ? 0 : found->second;
}

TEST(HolmTest, TwoSidedPValuesAreThoseOfTables) {
  EXPECT_NEAR(student_p(2.228, 10), 0.05, 1e-4);
  EXPECT_NEAR(student_p(12.706, 1), 0.05, 1e-4);
  EXPECT_NEAR(student_p(1.96, 1e6), 0.05, 1e-4);
  EXPECT_NEAR(student_p(-3.169, 10), 0.01, 1e-4);
  EXPECT_DOUBLE_EQ(student_p(0, 5), 1);
  EXPECT_TRUE(std::isnan(student_p(kUnknown, 5)));
  EXPECT_EQ(student_p(INFINITY, 5), 0);
  for (const double degrees : {1.0, 3.0, 10.0, 200.0})
    EXPECT_NEAR(student_p(student_quantile(0.01, degrees), degrees), 0.01, 1e-9);
}

TEST(HolmTest, DerivativesOfTheGammaFunctionAreThoseOfTables) {
  EXPECT_NEAR(digamma(1), -0.5772156649, 1e-9);
  EXPECT_NEAR(digamma(0.5), -1.9635100260, 1e-9);
  EXPECT_NEAR(trigamma(1), 1.6449340668, 1e-9);
  EXPECT_NEAR(trigamma(0.5), 4.9348022005, 1e-9);
  for (const double x : {0.2, 1.0, 7.0, 300.0}) EXPECT_NEAR(inverse_trigamma(trigamma(x)) / x, 1, 1e-9);
}

TEST(HolmTest, StepsDown) {
  const auto adjusted = holm({0.01, 0.04, 0.03, kUnknown, 0.005});
  EXPECT_NEAR(adjusted[0], 0.03, 1e-12);
  EXPECT_NEAR(adjusted[1], 0.06, 1e-12);
  EXPECT_NEAR(adjusted[2], 0.06, 1e-12);
  EXPECT_TRUE(std::isnan(adjusted[3]));
  EXPECT_NEAR(adjusted[4], 0.02, 1e-12);
  EXPECT_EQ(holm({0.9})[0], 0.9);
  EXPECT_EQ(holm({0.9, 0.8})[0], 1);
  EXPECT_TRUE(holm({}).empty());
}

TEST(HolmTest, WilsonsInterval) {
  const auto half = wilson(5, 10);
  EXPECT_NEAR(half.low, 0.2366, 1e-4);
  EXPECT_NEAR(half.high, 0.7634, 1e-4);
  EXPECT_EQ(wilson(0, 100).low, 0);
  EXPECT_NEAR(wilson(0, 100).high, 0.0370, 1e-4);
  EXPECT_FALSE(wilson(0, 0).known());
}

TEST(CompareTest, FindsWhatIsSlowerFasterAndTheSame) {
  profiler::Random random(1);
  const SimulatedMachine quiet{.process = 0.005, .round = 0.01, .outliers = 0};
  Side before{"before", {}}, after{"after", {}};
  for (int i = 0; i < 3; ++i) {
    before.runs.push_back(simulated_run(quiet, 20, 0, 1, random));
    after.runs.push_back(simulated_run(quiet, 20, 2, 1.2, random));
  }
  const auto forth = compare(before, after), back = compare(after, before);
  EXPECT_EQ(forth.spread_from, "repeated runs");
  for (int i = 0; i < 20; ++i) {
    const auto at = static_cast<std::size_t>(i);
    EXPECT_EQ(forth.cases[at].change, i < 2 ? Change::kSlower : Change::kSame) << i;
    EXPECT_EQ(back.cases[at].change, i < 2 ? Change::kFaster : Change::kSame) << i;
    EXPECT_EQ(forth.cases[at].reference, "eager");
    EXPECT_NEAR(forth.cases[at].ratio.value * back.cases[at].ratio.value, 1, 1e-12);
  }
  EXPECT_NEAR(forth.cases[0].ratio.value, 1.2, 0.03);
  EXPECT_NEAR(forth.geometric_mean.value, std::pow(1.2, 0.1), 0.01);
  EXPECT_LT(forth.geometric_mean.low, forth.geometric_mean.value);
  EXPECT_TRUE(has(text(forth), "slower"));
  EXPECT_TRUE(has(markdown(forth), "| slower |"));
  EXPECT_EQ(to_json(forth).at("counts").at("slower"), 2);
}

TEST(CompareTest, DriftOfTheMachineIsNoChange) {
  profiler::Random random(2);
  const SimulatedMachine calm{.process = 0.005, .round = 0.01, .outliers = 0};
  const Side before{"before", {simulated_run(calm, 20, 0, 1, random)}};
  Side after{"after", {simulated_run(calm, 20, 0, 1, random)}};
  for (auto& record : after.runs[0].cases) {  // everything takes half as long again
    record.wide.median_us *= 1.5, record.rivals[0].time.median_us *= 1.5;
  }
  const auto seen = compare(before, after);
  EXPECT_EQ(count(seen, Change::kSlower), 0);
  EXPECT_NEAR(seen.cases[0].reference_ratio, 1.5, 0.05);
}

TEST(CompareTest, AChangeOfTheRivalAloneIsNoneOfWide) {
  profiler::Random random(2);
  const SimulatedMachine calm{.process = 0.005, .round = 0.01, .outliers = 0};
  for (const int cases : {20, 1}) {
    const Side before{"before", {simulated_run(calm, cases, 0, 1, random)}};
    Side after{"after", {simulated_run(calm, cases, 0, 1, random)}};
    auto& record = after.runs[0].cases[0];
    record.rivals[0].time.median_us /= 3;
    for (double* value :
         {&record.rivals[0].speedup.value, &record.rivals[0].speedup.low, &record.rivals[0].speedup.high}) {
      *value /= 3;
    }
    const auto seen = compare(before, after);
    EXPECT_EQ(seen.cases[0].change, Change::kInconclusive);
    EXPECT_TRUE(has(seen.cases[0].reasons[0], "the rival eager changed")) << seen.cases[0].reasons[0];
    record.wide.median_us *= 3, record.rivals[0].time.median_us *= 3;  // now it is wide that changed
    EXPECT_EQ(compare(before, after).cases[0].change, Change::kSlower) << cases;
  }
}

TEST(CompareTest, AGeneralSlowDownIsSeenThoughNoCaseDiffersFromTheOthers) {
  profiler::Random random(3);
  const SimulatedMachine machine{.process = 0.01, .round = 0.01, .outliers = 0};
  const Side before{"before", {simulated_run(machine, 40, 0, 1, random)}};
  const Side after{"after", {simulated_run(machine, 40, 40, 1.2, random)}};
  EXPECT_GE(count(compare(before, after), Change::kSlower), 38);
}

TEST(CompareTest, DifferentMachinesAreFlaggedFirstAndNotJudged) {
  Side before{"before", {{sample_run(), {passed_case()}}}}, after = before;
  after.name = "after";
  after.runs[0].run.machine.cpu = "Other 1";
  after.runs[0].run.machine.extra["libtorch"] = "2.12.0";
  after.runs[0].run.threads = 8;
  after.runs[0].run.environment["OMP_NUM_THREADS"] = "8";
  auto seen = compare(before, after);
  ASSERT_EQ(seen.barriers.size(), 3u);
  EXPECT_EQ(seen.barriers[0], "CPU: Tiny 9000 | Other 1");
  EXPECT_EQ(seen.cases[0].change, Change::kNotComparable);
  EXPECT_EQ(seen.cases[0].reasons[0], seen.barriers[0]);
  EXPECT_FALSE(seen.geometric_mean.known());
  const std::string shown = text(seen);
  EXPECT_LT(shown.find("DIFFERENT  CPU"), shown.find("not comparable"));
  EXPECT_TRUE(has(shown, "environment OMP"));
  seen = compare(before, after, {.across_machines = true});
  EXPECT_EQ(seen.barriers.size(), 3u);
  EXPECT_NE(seen.cases[0].change, Change::kNotComparable);
}

TEST(CompareTest, ClocksAndKernelReleasesAreNoBarrier) {
  Side before{"before", {{sample_run(), {passed_case()}}}}, after = before;
  after.runs[0].run.machine.kernel = "Linux 9";
  after.runs[0].run.git_commit = "other";
  after.runs[0].cases[0].cpu_mhz = 1;
  const auto seen = compare(before, after);
  EXPECT_TRUE(seen.barriers.empty());
  EXPECT_EQ(seen.remarks.size(), 2u);
}

TEST(CompareTest, CasesOfOneSideAreListed) {
  const Side before{"before", {{sample_run(), {passed_case("a"), passed_case("b")}}}};
  const Side after{"after", {{sample_run(), {passed_case("b"), passed_case("c")}}}};
  const auto seen = compare(before, after);
  ASSERT_EQ(seen.only_in_first.size(), 1u);
  EXPECT_EQ(seen.only_in_first[0].key, "a");
  EXPECT_EQ(seen.only_in_second[0].key, "c");
  EXPECT_EQ(seen.cases.size(), 1u);
  EXPECT_TRUE(has(text(seen), "MISSING    a is not in after"));
  EXPECT_TRUE(has(text(seen), "NEW        c is not in before"));
}

TEST(CompareTest, WhatDidNotPassIsNotCompared) {
  for (const Verdict verdict :
       {Verdict::kFail, Verdict::kSkipped, Verdict::kError, Verdict::kOom, Verdict::kTimeout}) {
    const Side before{"before", {{sample_run(), {passed_case("a")}}}};
    const Side after{"after", {{sample_run(), {failed_case("a", verdict)}}}};
    const auto seen = compare(before, after);
    EXPECT_EQ(seen.cases[0].change, Change::kNotComparable);
    EXPECT_TRUE(has(seen.cases[0].reasons[0], "second: " + std::string(name(verdict))));
    EXPECT_TRUE(std::isnan(seen.cases[0].ratio.value));
  }
}

TEST(CompareTest, WhatIsNotKnownIsInconclusive) {
  CaseRecord no_twin = passed_case("a"), no_rival = passed_case("a"), no_time = passed_case("a");
  no_twin.noise_floor = {};
  no_rival.rivals.clear();
  no_time.rivals.clear();
  no_time.wide = {};
  const Side before{"before", {{sample_run(), {passed_case("a")}}}};
  const auto against = [&](const CaseRecord& record) {
    return compare(before, Side{"after", {{sample_run(), {record}}}}).cases[0];
  };
  EXPECT_EQ(against(no_twin).change, Change::kInconclusive);
  EXPECT_TRUE(has(against(no_rival).reasons[0], "no rival in common"));
  EXPECT_EQ(against(no_rival).reference, "");
  EXPECT_EQ(against(no_time).change, Change::kNotComparable);
  EXPECT_THROW(compare(before, Side{"none", {}}), Error);
}

/// Where threads fight over CPUs: half of the cases take one of two times, at random, and the others are
/// calm.
TEST(CompareTest, CasesThatSpreadWidelyRaiseNoAlarmAndHideNoOther) {
  profiler::Random random(8);
  const SimulatedMachine machine{.process = 0.01, .round = 0.02, .outliers = 0};
  int alarms = 0, found = 0, trials = 100;
  for (int trial = 0; trial < trials; ++trial) {
    const auto runs = [&](double slow) {
      Side side{"side", {}};
      for (int i = 0; i < 4; ++i) {
        side.runs.push_back(simulated_run(machine, 40, 4, slow, random));
        for (std::size_t at = 20; at < 40; ++at) {
          auto& rival = side.runs.back().cases[at].rivals[0];
          const double luck = random.below(2) == 0 ? 0.5 : 1;
          for (double* value : {&rival.speedup.value, &rival.speedup.low, &rival.speedup.high})
            *value *= luck;
        }
      }
      return side;
    };
    const auto seen = compare(runs(1), runs(1.2));
    for (std::size_t at = 0; at < 40; ++at) {
      const bool alarm = seen.cases[at].change == Change::kSlower || seen.cases[at].change == Change::kFaster;
      (at < 4 ? found : alarms) += alarm;
    }
  }
  EXPECT_LE(alarms, trials * 36 / 100);
  EXPECT_GE(found, trials * 4 * 95 / 100);
}

TEST(CompareTest, AnotherModelOfTheSameNameIsSaid) {
  const Side before{"before", {{sample_run(), {passed_case("a")}}}};
  Side after = before;
  EXPECT_FALSE(has(text(compare(before, after), true), "are others"));
  after.runs[0].cases[0].model_hash = "77";
  EXPECT_TRUE(has(text(compare(before, after), true), "the files of the model are others"));
  auto disturbed = before;
  disturbed.runs[0].cases[0].circumstances.disturbed = "other processes kept both CPUs busy";
  EXPECT_TRUE(has(text(compare(disturbed, after), true), "the files of the model are others"));
  after.runs[0].cases[0].model_hash = "";
  EXPECT_FALSE(has(text(compare(before, after), true), "are others")) << "not known";
}

TEST(CompareTest, AnOverloadedMachineGetsNoVerdict) {
  profiler::Random random(6);
  const SimulatedMachine calm{.process = 0.005, .round = 0.01, .outliers = 0};
  const Side before{"before", {simulated_run(calm, 20, 0, 1, random)}};
  Side after{"after", {simulated_run(calm, 20, 20, 1.5, random)}};
  after.runs[0].run = before.runs[0].run;
  EXPECT_EQ(count(compare(before, after), Change::kSlower), 20);
  after.runs[0].run.machine.logical_cores = 2;
  auto same_machine = before;
  same_machine.runs[0].run.machine.logical_cores = 2;
  for (auto& record : after.runs[0].cases) record.load_1min = 9;
  const auto seen = compare(same_machine, after);
  EXPECT_EQ(count(seen, Change::kInconclusive), 20);
  EXPECT_TRUE(has(seen.cases[0].reasons[0], "load 9.0 on 2 CPUs"));
}

TEST(CompareTest, HostileNamesStayText) {
  CaseRecord record =
      passed_case("a|b\n\x1b[31m<img src=x onerror=alert(1)> @everyone `x` \xE2\x80\xAE \xff");
  CaseRecord other = record;
  other.verdict = Verdict::kSkipped;
  other.checks.clear();
  clear_speedups(other);
  other.reason = "</script>\r\n| x |";
  const auto seen =
      compare(Side{"\x1b]0;x\x07", {{sample_run(), {record}}}}, Side{"b", {{sample_run(), {other}}}});
  for (const auto& shown : {text(seen), markdown(seen), to_json(seen).dump()}) {
    EXPECT_FALSE(has(shown, "\x1b") || has(shown, "\r") || has(shown, "\xff"));
  }
  EXPECT_FALSE(has(markdown(seen), "<img") || has(markdown(seen), "</script") ||
               has(markdown(seen), "@every"));
  EXPECT_FALSE(has(text(seen), "\xE2\x80\xAE"));
}

TEST(CompareTest, OneRunASideFindsWhatChangedMuchInAFewOfFewCases) {
  profiler::Random random(11);
  const SimulatedMachine machine;
  int found = 0, false_alarms = 0;
  for (int trial = 0; trial < 50; ++trial) {
    const Side before{"before", {simulated_run(machine, 12, 0, 1, random)}};
    const Side after{"after", {simulated_run(machine, 12, 2, 1.6, random)}};
    const auto seen = compare(before, after);
    for (std::size_t i = 0; i < seen.cases.size(); ++i) {
      const bool alarm = seen.cases[i].change == Change::kSlower || seen.cases[i].change == Change::kFaster;
      (i < 2 ? found : false_alarms) += alarm;
    }
  }
  EXPECT_GE(found, 90) << "of 100";
  EXPECT_LE(false_alarms, 5) << "of 500";
}

/// Ten thousand A/A cases and as many that are 10 % slower, four runs against four.
TEST(CompareTest, FalseAlarmsAreRareAndTenPercentAreFound) {
  profiler::Random random(11);
  const SimulatedMachine machine{.process = 0.02, .round = 0.04, .drift = 0.2, .outliers = 0.02};
  int false_alarms = 0, found = 0, quiet = 0, planted = 0;
  for (int trial = 0; trial < 500; ++trial) {
    Side before{"before", {}}, after{"after", {}};
    for (int i = 0; i < 4; ++i) {
      before.runs.push_back(simulated_run(machine, 40, 0, 1, random));
      after.runs.push_back(simulated_run(machine, 40, 20, 1.10, random));
    }
    const auto seen = compare(before, after);
    for (std::size_t i = 0; i < 40; ++i) {
      const bool alarm = seen.cases[i].change == Change::kSlower || seen.cases[i].change == Change::kFaster;
      i < 20 ? ++planted : ++quiet;
      (i < 20 ? found : false_alarms) += alarm;
    }
  }
  EXPECT_EQ(planted, 10'000);
  EXPECT_LE(false_alarms, quiet / 100);
  EXPECT_GE(found, planted * 95 / 100);
}

}  // namespace
}  // namespace wide::results
