#include "results/record.h"

#include <gtest/gtest.h>

#include <cmath>
#include <utility>

#include "results/text.h"
#include "tests/results/sample_records.h"

namespace wide::results {
namespace {

using test::failed_case;
using test::passed_case;

/// 8 rounds in which wide takes 100, "eager" 300, "threads" 150 us.
profiler::Measurement sample_measurement() {
  profiler::Measurement measurement;
  measurement.contenders = {"wide", "eager", "threads", "wide'"};
  measurement.warmup.resize(4);
  measurement.warmup[0].first_run_us = 900;
  measurement.warmup[2].first_run_us = 950;
  measurement.rounds = 8;
  measurement.seed = 5;
  const double us[] = {100, 300, 150, 101};
  for (int round = 0; round < 8; ++round) {
    for (int i = 0; i < 4; ++i) measurement.samples.push_back({i, round, i, 1, us[i] + 0.1 * round});
  }
  return measurement;
}

TEST(RecordTest, NamesReadBack) {
  for (int i = 0; i < 6; ++i)
    EXPECT_EQ(parse_verdict(name(static_cast<Verdict>(i))), static_cast<Verdict>(i));
  for (int i = 0; i < 4; ++i)
    EXPECT_EQ(parse_status(name(static_cast<RunStatus>(i))), static_cast<RunStatus>(i));
  EXPECT_EQ(parse_verdict("Pass"), std::nullopt);
  EXPECT_EQ(parse_status(""), std::nullopt);
}

TEST(RecordTest, MeasurementOfAPassedCaseGivesSpeedups) {
  CaseRecord record = passed_case();
  add_measurement(record, sample_measurement());
  EXPECT_NEAR(record.speedup.value, 3, 0.02);
  EXPECT_EQ(record.best_rival, "threads");  // the hardest to beat
  EXPECT_NEAR(record.speedup_best_rival.value, 1.5, 0.02);
  EXPECT_NEAR(record.noise_floor.value, 1.01, 0.001);
  ASSERT_EQ(record.rivals.size(), 2u);
  EXPECT_EQ(record.rivals[1].first_run_us, 950);
  EXPECT_EQ(record.first_run_us, 900);
  EXPECT_EQ(record.wide.samples, 8);
  EXPECT_EQ(record.samples.size(), 32u);
  EXPECT_EQ(objection(record), "");
}

TEST(RecordTest, MeasurementOfAnyOtherCaseGivesTimesOnly) {
  for (const Verdict verdict :
       {Verdict::kFail, Verdict::kSkipped, Verdict::kError, Verdict::kOom, Verdict::kTimeout}) {
    CaseRecord record = failed_case("k", verdict);
    add_measurement(record, sample_measurement());
    EXPECT_NEAR(record.wide.median_us, 100.35, 0.01);
    EXPECT_TRUE(std::isnan(record.speedup.value));
    EXPECT_TRUE(std::isnan(record.speedup_best_rival.value));
    EXPECT_EQ(record.best_rival, "");
    for (const Rival& rival : record.rivals) EXPECT_TRUE(std::isnan(rival.speedup.value));
    EXPECT_EQ(objection(record), "");
  }
}

TEST(RecordTest, ObjectsToASpeedupWithoutAPass) {
  CaseRecord record = passed_case();
  record.verdict = Verdict::kFail;
  EXPECT_NE(objection(record), "");
  clear_speedups(record);
  EXPECT_EQ(objection(record), "");
  record.rivals[0].speedup.low = 1.5;
  EXPECT_NE(objection(record), "");
}

TEST(RecordTest, ObjectsToAnIntervalThatEndsBeforeItBegins) {
  CaseRecord record = passed_case();
  ASSERT_EQ(objection(record), "");
  std::swap(record.speedup.low, record.speedup.high);
  EXPECT_NE(objection(record), "");
}

TEST(RecordTest, ObjectsToTimesBelow0) {
  for (const bool of_rival : {false, true}) {
    CaseRecord record = passed_case();
    (of_rival ? record.rivals[0].time : record.wide).median_us = -1;
    EXPECT_NE(objection(record), "");
  }
  CaseRecord record = passed_case();
  record.first_run_us = -1;
  EXPECT_NE(objection(record), "");
  record = passed_case();
  add_measurement(record, sample_measurement());
  EXPECT_EQ(objection(record), "");
  record.samples[0].microseconds = -1;
  EXPECT_NE(objection(record), "");
  record.samples[0] = {.contender = -1, .microseconds = 1};
  EXPECT_NE(objection(record), "");
}

TEST(RecordTest, ObjectsToAPassThatIsNotProven) {
  CaseRecord record = passed_case();
  record.checks.clear();
  EXPECT_NE(objection(record), "");
  for (const double error : {kUnknown, HUGE_VAL}) {
    record = passed_case();
    record.checks[1].max_abs_err = error;
    EXPECT_NE(objection(record), "");
  }
  record = passed_case();
  record.checks[1].passed = false;
  EXPECT_NE(objection(record), "");
}

TEST(RecordTest, LargestErrorIsUnknownWhenOneIs) {
  CaseRecord record = passed_case();
  EXPECT_EQ(max_abs_err(record), 1.25e-7);
  record.checks[1].max_abs_err = kUnknown;
  EXPECT_TRUE(std::isnan(max_abs_err(record)));
  record.checks.clear();
  EXPECT_TRUE(std::isnan(max_abs_err(record)));
}

TEST(RecordTest, TimeIsUtc) {
  const auto now = utc_now();
  ASSERT_EQ(now.size(), 20u);
  EXPECT_EQ(now[10], 'T');
  EXPECT_EQ(now.back(), 'Z');
}

TEST(TextTest, KeepsUtf8AndReplacesTheRest) {
  EXPECT_EQ(valid_utf8("a\xC3\xA9\xE2\x82\xAC\xF0\x9F\x98\x80"), "a\xC3\xA9\xE2\x82\xAC\xF0\x9F\x98\x80");
  const std::string r = "\xEF\xBF\xBD";
  EXPECT_EQ(valid_utf8("a\xFFz"), "a" + r + "z");
  EXPECT_EQ(valid_utf8("\xC3"), r);                          // cut short
  EXPECT_EQ(valid_utf8("\xC0\xAF"), r + r);                  // overlong
  EXPECT_EQ(valid_utf8("\xED\xA0\x80"), r + r + r);          // surrogate
  EXPECT_EQ(valid_utf8("\xF4\x90\x80\x80"), r + r + r + r);  // beyond U+10FFFF
  EXPECT_EQ(valid_utf8(std::string("a\0b", 3)), std::string("a\0b", 3));
  EXPECT_EQ(valid_utf8(""), "");
}

}  // namespace
}  // namespace wide::results
