// What a sweep says of its cases: spread of processes, all rivals, Holm over the cases, disturbed times.
#include <gtest/gtest.h>

#include <cmath>

#include "formats/error.h"
#include "results/reliability.h"
#include "results/store.h"
#include "results/table.h"
#include "results/trend.h"
#include "tests/results/sample_records.h"

namespace wide::results {
namespace {

using profiler::Effect;
using test::passed_case;
using test::TemporaryFolder;

CaseRecord judged(double value, double low, double high, double spread) {
  CaseRecord record = passed_case("k");
  record.speedup_best_rival = {value, low, high};
  record.noise_floor = {1, 0.995, 1.005};
  record.circumstances.spread = spread;
  for (Rival& rival : record.rivals) {
    if (rival.name != "threads") continue;
    rival.speedup = record.speedup_best_rival;
    rival.time.median_us = value * record.wide.median_us;
  }
  return record;
}

TEST(Effects, OneProcessIsHeldAgainstHowMuchProcessesDiffer) {
  EXPECT_EQ(effect(judged(1.06, 1.05, 1.07, 0.005)), Effect::kFaster) << "processes are known to be alike";
  EXPECT_NE(effect(judged(1.06, 1.05, 1.07, 0.05)), Effect::kFaster) << "and to differ";
  EXPECT_NE(effect(judged(1.06, 1.05, 1.07, kUnknown)), Effect::kFaster) << "and nothing is known";
  EXPECT_EQ(effect(judged(1.5, 1.45, 1.55, kUnknown)), Effect::kFaster);
  EXPECT_EQ(effect(judged(0.7, 0.68, 0.72, kUnknown)), Effect::kSlower);
  EXPECT_EQ(effect(judged(1.01, 1.0, 1.02, kUnknown)), Effect::kSame);
}

TEST(Effects, AreHeldToFivePercentOverAllCases) {
  const auto narrow = judged(1.1, 1.01, 1.2, 0.001);  // two-sided p about 0.03
  EXPECT_EQ(effect(narrow), Effect::kFaster);
  const std::vector<CaseRecord> sweep(20, narrow);
  for (const Effect one : effects(sweep)) EXPECT_EQ(one, Effect::kInconclusive);
}

TEST(Effects, KnowNoIntervalThatHoldsAnything) {
  auto record = judged(1, 0.0099, 8.8, 0.01);
  record.noise_floor = {1, 0.01, 90};
  EXPECT_EQ(effect(record), Effect::kInconclusive);
  record = judged(43364, 1.5, 90000, 0.01);
  EXPECT_EQ(effect(record), Effect::kInconclusive);
  record = judged(3, 2.9, 3.1, 0.01);
  record.noise_floor = {1, 0.7, 1.4};
  EXPECT_EQ(effect(record), Effect::kInconclusive) << "the same work differs by 40 %";
}

TEST(Effects, AreNoneWhereNoiseExceedsATenth) {
  auto record = judged(3, 2.9, 3.1, 0.01);
  EXPECT_EQ(unreliable(record), "");
  record.noise_floor = {1, 0.95, 1.14};
  EXPECT_EQ(effect(record), Effect::kInconclusive);
  EXPECT_EQ(unreliable(record), "the same work measured twice differs by up to 14 %");
  EXPECT_NE(table({record}).find("pass, inconclusive: the same work"), std::string::npos);
  record.noise_floor = {1, 0.995, 50.68};
  EXPECT_EQ(unreliable(record), "the same work measured twice differs by up to 4968 %");
}

TEST(Effects, AreNoneWhereTheTimesBesideThemSayAnother) {
  auto record = judged(4.26, 4.1, 4.4, 0.01);
  for (Rival& rival : record.rivals)
    if (rival.name == "threads") rival.time.median_us = record.wide.median_us / 7;
  EXPECT_EQ(effect(record), Effect::kInconclusive);
  EXPECT_EQ(unreliable(record), "the times of wide and threads contradict the speed-up");
  EXPECT_FALSE(contradicts(1.4, 2100, 1520)) << "medians of rounds are no quotient of medians";
  EXPECT_FALSE(contradicts(1.4, kUnknown, 1520)) << "nothing is known";
}

TEST(Effects, AnIntervalOfBothMuchFasterAndMuchSlowerIsNoVerdict) {
  const auto record = judged(1.01, 0.7, 1.4, 0.01);
  EXPECT_EQ(effect(record), Effect::kInconclusive);
  EXPECT_EQ(unreliable(record), "the interval holds both much faster and much slower");
}

TEST(Effects, NoisyAndContradictoryTimesAreComparedWithNothing) {
  const auto change = [](const CaseRecord& second) {
    const auto seen =
        compare({"a", {{test::sample_run(), {passed_case("k")}}}}, {"b", {{test::sample_run(), {second}}}});
    return seen.cases.at(0);
  };
  CaseRecord noisy = passed_case("k");
  noisy.noise_floor = {1.2, 1.15, 1.25};
  EXPECT_EQ(change(noisy).change, Change::kInconclusive);
  EXPECT_NE(change(noisy).reasons.at(0).find("differs by 20 %"), std::string::npos);
  CaseRecord odd = passed_case("k");
  for (Rival& rival : odd.rivals)
    for (double* one : {&rival.speedup.value, &rival.speedup.low, &rival.speedup.high}) *one *= 14488;
  EXPECT_EQ(change(odd).change, Change::kInconclusive);
  EXPECT_EQ(change(odd).reasons.at(0), "second: the times of wide and eager contradict the speed-up");
}

TEST(Effects, OverTheBestRivalHoldOverEvery) {
  profiler::Measurement measurement;
  measurement.contenders = {"wide", "steady", "wild", "wide'"};
  measurement.warmup.resize(4);
  measurement.rounds = 15;
  for (int round = 0; round < measurement.rounds; ++round) {
    const double wild = round % 3 == 0 ? 80 : 160;  // slower in the median, faster at times
    const double times[] = {100, 150, wild, 100};
    for (int i = 0; i < 4; ++i)
      measurement.samples.push_back(
          {.contender = i, .round = round, .position = i, .microseconds = times[i]});
  }
  CaseRecord record = passed_case("k");
  add_measurement(record, measurement);
  EXPECT_EQ(record.best_rival, "steady");
  for (const Rival& rival : record.rivals)
    EXPECT_LE(record.speedup_best_rival.low, rival.speedup.low) << rival.name;
  EXPECT_LT(record.speedup_best_rival.low, 1) << "wide does not win against the wild one for certain";
  EXPECT_NE(effect(record), Effect::kFaster);
  EXPECT_EQ(record.circumstances.steady, false);
}

TEST(Effects, DisturbedTimesHaveNoSpeedUpAnywhere) {
  CaseRecord record = passed_case("k");
  const std::string why = "the hypervisor took 30 % of the CPUs' time while it was measured";
  set_disturbed(record, why);
  EXPECT_EQ(record.verdict, Verdict::kPass);
  EXPECT_FALSE(record.speedup.known());
  for (const Rival& rival : record.rivals) EXPECT_FALSE(rival.speedup.known());
  EXPECT_EQ(effect(record), Effect::kInconclusive);
  EXPECT_NE(table({record}).find("pass, inconclusive: the hypervisor"), std::string::npos);
  EXPECT_EQ(objection(record), "");
  record.speedup_best_rival = {2, 1, 3};
  EXPECT_NE(objection(record), "");
}

TEST(Effects, DisturbedTimesAreComparedWithNothing) {
  CaseRecord quiet = passed_case("k"), disturbed = quiet;
  set_disturbed(disturbed, "other processes kept 7.0 CPUs busy while it was measured");
  const auto seen =
      compare({"a", {{test::sample_run(), {quiet}}}}, {"b", {{test::sample_run(), {disturbed}}}});
  ASSERT_EQ(seen.cases.size(), 1U);
  EXPECT_EQ(seen.cases[0].change, Change::kInconclusive);
  EXPECT_NE(seen.cases[0].reasons.at(0).find("7.0 CPUs"), std::string::npos);
  EXPECT_FALSE(seen.geometric_mean.known());
}

TEST(Effects, AChangeOfFewerMicrosecondsThanAskedForIsNone) {
  const auto slower = [](double factor) {
    CaseRecord record = passed_case("k");
    record.wide.median_us *= factor;
    for (Rival& rival : record.rivals)
      for (double* one : {&rival.speedup.value, &rival.speedup.low, &rival.speedup.high}) *one /= factor;
    return record;
  };
  const auto change = [&](double minimum_us) {
    CompareOptions options;
    options.known_spread = 0.01;
    options.minimum_us = minimum_us;
    const auto seen = compare({"a", {{test::sample_run(), {slower(1)}}}},
                              {"b", {{test::sample_run(), {slower(1.5)}}}}, options);
    return seen.cases.at(0).change;
  };
  EXPECT_EQ(change(0), Change::kSlower);
  EXPECT_EQ(change(61), Change::kSlower) << "123.5 us became 185.2";
  EXPECT_EQ(change(62), Change::kSame);
}

TEST(Circumstances, AreRefusedWhereTheyAreNone) {
  EXPECT_EQ(circumstances_from_json(to_json(passed_case("k").circumstances)), passed_case("k").circumstances);
  for (const char* wrong : {"3", R"({"steal": "much"})", R"({"threads": -1})", R"({"threads": 4294967296})",
                            R"({"wetter": 1})", R"({"steady": 1})", R"({"disturbed": null})"})
    EXPECT_THROW((void)circumstances_from_json(nlohmann::json::parse(wrong)), Error) << wrong;
}

class History : public testing::Test {
 protected:
  std::int64_t add(double speedup, int threads = 2, const std::string& model = "0f1e2d3c",
                   const std::string& other_rival = "threads") {
    auto run = test::sample_run();
    run.uid.clear();
    run.threads = threads;
    const auto id = store_.begin_run(run);
    store_.add_case(id, a_case(speedup, model, other_rival));
    return id;
  }
  static CaseRecord a_case(double speedup, const std::string& model = "0f1e2d3c",
                           const std::string& other_rival = "threads") {
    CaseRecord record = passed_case("k");
    record.speedup_best_rival = {speedup, 0.99 * speedup, 1.01 * speedup};
    record.model_hash = model;
    record.rivals[0].name = other_rival;
    return record;
  }
  TemporaryFolder folder_;
  Store store_ = Store::open(folder_ / "r.db", OpenMode::kReadWrite);
  std::string machine_ = profiler::key(test::sample_run().machine);
};

TEST_F(History, ShowsHowMuchProcessesDifferFromThreeOn) {
  add(2.0);
  EXPECT_EQ(store_.process_spread(a_case(2.2), machine_, 2).processes, 0);
  add(2.4);
  const auto known = store_.process_spread(a_case(2.2), machine_, 2);
  EXPECT_EQ(known.processes, 3);
  EXPECT_GT(known.spread, 0.06) << "they differ by 9 %";
  EXPECT_LT(known.spread, 0.09) << "drawn towards what is usual";
  EXPECT_EQ(store_.process_spread(a_case(2.2), "another machine", 2).processes, 0);
  EXPECT_EQ(store_.process_spread(a_case(2.2), machine_, 1).processes, 0);
  EXPECT_EQ(store_.process_spread(a_case(2.2, "another model"), machine_, 2).processes, 0);
}

TEST_F(History, MixesNoThreadsRivalsOrModelsInASeries) {
  add(2), add(2), add(3, 1), add(4, 2, "another model"), add(5, 2, "0f1e2d3c", "streams");
  const auto trends = trend("mlp", store_.trend("mlp"));
  ASSERT_EQ(trends.series.size(), 4U);
  std::size_t points = 0;
  for (const auto& series : trends.series) points += series.points.size();
  EXPECT_EQ(points, 5U);
}

}  // namespace
}  // namespace wide::results
