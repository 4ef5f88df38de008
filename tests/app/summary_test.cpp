#include "app/summary.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace wide::app {
namespace {

using results::CaseRecord;
using results::Verdict;
using testing::HasSubstr;

// A passed case: wide takes 10 us, eager and threads `speedup` and `threads` times as long, spread a little.
CaseRecord passed(const std::string& strategy, std::int64_t n, double speedup, double threads = 100) {
  CaseRecord record;
  record.subject = "mlp";
  record.strategy = strategy;
  record.n = n;
  record.verdict = Verdict::kPass;
  profiler::Measurement measurement;
  measurement.contenders = {"wide", "eager", "threads", "wide'"};
  measurement.warmup.resize(4);
  measurement.rounds = 12;
  for (int round = 0; round < measurement.rounds; ++round) {
    const double times[] = {10, 10 * speedup, 10 * threads, 10};
    for (int i = 0; i < 4; ++i) {
      const double spread = 1 + 0.001 * ((round * 7 + i * 3) % 11);
      measurement.samples.push_back(
          {.contender = i, .round = round, .position = i, .microseconds = times[i] * spread});
    }
  }
  add_measurement(record, measurement);
  return record;
}

const StrategySummary& of(const Summary& summary, const std::string& strategy) {
  for (const auto& one : summary.strategies) {
    if (one.strategy == strategy) return one;
  }
  throw std::out_of_range(strategy);
}

TEST(SummaryTest, CountsWinsPerPlaceAndLeavesAutoOut) {
  auto skipped = passed("fused", 8, 9);
  skipped.verdict = Verdict::kSkipped;
  clear_speedups(skipped);
  const auto summary =
      summarize({passed("auto", 4, 9), passed("a", 4, 2), passed("b", 4, 3), passed("a", 8, 5.001),
                 passed("b", 8, 5), skipped, passed("a", 16, 3)});  // at 16 there is nobody to beat
  EXPECT_EQ(of(summary, "auto").contests, 0);
  EXPECT_EQ(of(summary, "a").contests, 2);
  EXPECT_EQ(of(summary, "a").fastest, 1);
  EXPECT_EQ(of(summary, "a").clearly, 0);
  EXPECT_EQ(of(summary, "b").fastest, 1);
  EXPECT_EQ(of(summary, "b").clearly, 1);
  EXPECT_EQ(of(summary, "fused").contests, 0);
  EXPECT_EQ(of(summary, "b").headline.measured, 2);
  EXPECT_THAT(text(summary), HasSubstr("1 of 2"));
}

TEST(SummaryTest, AnotherShapeIsAnotherPlace) {
  auto other = passed("b", 4, 3);
  other.shape = {{"batch", 2}};
  const auto summary = summarize({passed("a", 4, 2), other});
  EXPECT_EQ(of(summary, "a").contests, 0);
  EXPECT_TRUE(summary.crossovers.empty());
}

TEST(SummaryTest, TellsFromWhichNOnWidePays) {
  const auto summary = summarize(
      {passed("a", 8, 4, 0.5), passed("a", 2, 1.5, 0.2), passed("a", 32, 9, 2.0), passed("b", 2, 3)});
  ASSERT_EQ(summary.crossovers.size(), 1u);
  const auto& one = summary.crossovers[0];
  EXPECT_EQ(one.n, (std::vector<std::int64_t>{2, 8, 32}));
  EXPECT_EQ(one.over_eager.value, 0);
  EXPECT_NEAR(one.over_best_rival.value, 16, 0.2);
  EXPECT_THAT(text(summary), testing::AllOf(HasSubstr("below 2"), HasSubstr("16.0 [")));
  const auto json = to_json(summary).at("crossovers").at(0);
  EXPECT_EQ(json.at("over_eager").at("n"), "below");
  EXPECT_NEAR(json.at("over_best_rival").at("n").get<double>(), 16, 0.2);
}

TEST(SummaryTest, SaysWhatCouldNotBeDone) {
  auto record = passed("auto", 4, 2);
  record.plan = {{"left_out", {{"streams", "no such device"}, {"graph", 7}}},
                 {"unproved", {"no float64 reference", 3}}};
  auto strange = passed("auto", 8, 2);
  strange.plan = {{"left_out", "all"}, {"unproved", nullptr}};
  const auto summary = summarize({record, record, strange});
  EXPECT_THAT(summary.remarks, testing::ElementsAre("mlp N=4: without the rival streams: no such device",
                                                    "mlp N=4: no float64 reference"));
  EXPECT_THAT(text(summary), HasSubstr("\nmlp N=4: no float64 reference\n"));
}

TEST(SummaryTest, WithoutSamplesThereAreNoCrossovers) {
  auto low = passed("a", 2, 2), high = passed("a", 4, 2);
  low.samples.clear(), high.samples.clear();
  EXPECT_TRUE(summarize({low, high}).crossovers.empty());
}

}  // namespace
}  // namespace wide::app
