#include "app/headline.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "app/cli/progress.h"
#include "app/exit_code.h"

namespace wide::app {
namespace {

using results::CaseRecord;
using results::Verdict;

CaseRecord passed_with(double value, double low, double high, double rival = 1.5) {
  CaseRecord record;
  record.verdict = Verdict::kPass;
  record.speedup = {value, low, high};
  record.speedup_best_rival = {rival, rival * 0.99, rival * 1.01};
  record.noise_floor = {1, 0.99, 1.01};
  record.circumstances.spread = 0;  // processes of a test do not differ
  return record;
}

CaseRecord with(Verdict verdict) {
  CaseRecord record;
  record.verdict = verdict;
  return record;
}

TEST(Headline, IsTheGeometricMeanWithItsInterval) {
  const auto head = headline({passed_with(2, 1.8, 2.0 * 2.0 / 1.8), passed_with(8, 7.2, 8.0 * 8.0 / 7.2)});
  EXPECT_NEAR(head.over_eager.value, 4, 1e-12);
  // Two equal errors of the logarithm: the mean's is smaller by the square root of two.
  EXPECT_NEAR(std::log(head.over_eager.high / 4), std::log(1 / 0.9) / std::sqrt(2), 1e-9);
  EXPECT_NEAR(head.over_eager.low * head.over_eager.high, 16, 1e-9);
  EXPECT_NEAR(head.over_best_rival.value, 1.5, 1e-12);
}

TEST(Headline, ClaimsNothingWithoutAnInterval) {
  const auto head = headline({passed_with(100, NAN, NAN), passed_with(2, 1.9, 2.1), with(Verdict::kFail)});
  EXPECT_EQ(head.measured, 1);
  EXPECT_NEAR(head.over_eager.value, 2, 1e-12);
  const auto none = headline({passed_with(100, NAN, NAN)});
  EXPECT_FALSE(none.over_eager.known());
  EXPECT_THAT(
      text(none),
      testing::StrEq("left out of the means: 1 case that passed with too few rounds for an interval, or no "
                     "eager runs beside\n"));
  EXPECT_TRUE(to_json(none).at("speedup_geometric_mean").is_null());
}

TEST(Headline, LeavesDisturbedCasesOutOfTheMeans) {
  auto disturbed = passed_with(40000, 39000, 41000, 43000);
  results::set_disturbed(disturbed, "other processes kept 7.0 CPUs busy while it was measured");
  const auto head = headline({disturbed, passed_with(2, 1.9, 2.1)});
  EXPECT_NEAR(head.over_eager.value, 2, 1e-12);
  EXPECT_EQ(head.disturbed, 1);
  EXPECT_EQ(to_json(head).at("disturbed"), 1);
  EXPECT_THAT(text(head), testing::HasSubstr("1 faster, 0 same, 0 slower, 1 inconclusive"));
  EXPECT_THAT(text(head), testing::HasSubstr("left out of the means: 1 case that passed beside other work"));
}

TEST(Headline, LeavesNoiseOutOfTheMeans) {
  auto noisy = passed_with(14488, 13082, 25768);
  noisy.noise_floor = {1, 0.9, 50.68};
  const auto head = headline({noisy, passed_with(2, 1.9, 2.1)});
  EXPECT_NEAR(head.over_eager.value, 2, 1e-12);
  EXPECT_EQ(head.disturbed, 1);
}

TEST(Headline, TellsWidthFromKernels) {
  auto record = passed_with(6, 5.9, 6.1, 2);
  record.rivals = {{"eager", {}, {6, 5.9, 6.1}}, {"apart", {}, {2, 1.9, 2.1}}};
  for (int round = 0; round < 12; ++round) {
    const double times[] = {100, 600, 200, 100};
    for (int i = 0; i < 4; ++i)
      record.samples.push_back({.contender = i, .round = round, .position = i, .microseconds = times[i]});
  }
  const auto head = headline({record});
  EXPECT_NEAR(head.by_width.value, 2, 1e-12);
  EXPECT_NEAR(head.by_kernels.value, 3, 1e-12);
  EXPECT_THAT(text(head), testing::HasSubstr("gain by width"));
  EXPECT_TRUE(to_json(headline({passed_with(2, 1.9, 2.1)})).at("gain_by_width").is_null());
}

TEST(Headline, IsAsWideAsProcessesDiffer) {
  auto known = passed_with(2, 1.999, 2.001), assumed = known;
  assumed.circumstances.spread = NAN;
  EXPECT_LT(headline({known}).over_eager.high, 2.01);
  EXPECT_GT(headline({assumed}).over_eager.high, 2.1);
}

TEST(Headline, CountsWhatWonAgainstTheBestRival) {
  const auto head =
      headline({passed_with(2, 1.9, 2.1, 1.5), passed_with(2, 1.9, 2.1, 0.5), passed_with(2, 1.9, 2.1, 1.0)});
  EXPECT_THAT(text(head), testing::HasSubstr("1 faster, 1 same, 1 slower, 0 inconclusive"));
}

TEST(Headline, DecidesTheExitCode) {
  const auto code = [](std::vector<CaseRecord> cases) { return exit_code(headline(cases)); };
  const auto good = passed_with(2, 1.9, 2.1);
  EXPECT_EQ(code({good}), kExitDone);
  EXPECT_EQ(code({good, with(Verdict::kSkipped)}), kExitDone);
  EXPECT_EQ(code({}), kExitCannotMeasure);
  EXPECT_EQ(code({with(Verdict::kSkipped)}), kExitCannotMeasure);
  for (const auto verdict : {Verdict::kError, Verdict::kOom, Verdict::kTimeout}) {
    EXPECT_EQ(code({good, with(verdict)}), kExitCannotMeasure);
    EXPECT_EQ(code({good, with(verdict), with(Verdict::kFail)}), kExitWrongNumbers);
  }
}

TEST(Progress, ClockText) {
  EXPECT_EQ(cli::clock_text(7.2), "0:07");
  EXPECT_EQ(cli::clock_text(59.6), "1:00");
  EXPECT_EQ(cli::clock_text(3723), "1:02:03");
}

}  // namespace
}  // namespace wide::app
