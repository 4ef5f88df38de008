// Curves over N, where they pass 1, ticks, and the comparison as a forest plot.
#include "gui/views/over_n.h"

#include <gtest/gtest.h>

#include "gui/views/forest.h"
#include "gui/views/samples.h"

namespace wide::gui {
namespace {

using results::CaseRecord;
using results::Verdict;

CaseRecord measured(const std::string& subject, std::int64_t n, double speedup) {
  CaseRecord record;
  record.subject = subject, record.n = n, record.device = "cpu", record.dtype = "float32",
  record.mode = "eager";
  record.strategy = "auto", record.shape = {{"batch", 8}};
  record.verdict = Verdict::kPass;
  record.wide.median_us = 2000, record.wide.ci95 = {2000, 1600, 2500};
  record.rivals = {{.name = "eager"}};
  record.rivals[0].time.median_us = speedup * 2000, record.best_rival = "eager";
  record.speedup = {speedup * 2, speedup * 1.9, speedup * 2.1};
  record.speedup_best_rival = {speedup, speedup * 0.98, speedup * 1.02};
  record.noise_floor = {1, 0.995, 1.005};
  return record;
}

std::vector<Series> best(const std::vector<CaseRecord>& cases) {
  return series_over_n(cases, OverN::kOverBestRival);
}

TEST(OverN, CurvesAreInOrderOfNAndNamedByWhatDiffers) {
  std::vector<CaseRecord> cases = {measured("linear", 8, 2), measured("linear", 2, 1),
                                   measured("resblock", 2, 3)};
  auto other = measured("linear", 2, 4);
  other.strategy = "einsum";
  cases.push_back(other);
  const auto series = best(cases);
  ASSERT_EQ(series.size(), 3U);
  EXPECT_EQ(series[0].n, (std::vector<double>{2, 8}));
  EXPECT_EQ(series[0].value, (std::vector<double>{1, 2}));
  EXPECT_EQ(series[0].title, "linear, auto");
  EXPECT_EQ(series[1].title, "resblock, auto");
  EXPECT_EQ(series[2].title, "linear, einsum");
  EXPECT_EQ(series_over_n(cases, OverN::kOverEager)[0].value, (std::vector<double>{2, 4}));
  EXPECT_EQ(series_over_n(cases, OverN::kOverEager, 1).size(), 1U);
}

TEST(OverN, EveryQuantityHasItsIntervalAndUnit) {
  auto record = measured("linear", 8, 2);
  record.peak_memory_bytes = 38'000'000;
  const auto only = [&](OverN what) {
    const auto series = series_over_n(std::span(&record, 1), what).at(0);
    return show(what, {series.value.at(0), series.low.at(0), series.high.at(0)});
  };
  EXPECT_EQ(only(OverN::kOverBestRival), "2.00× [1.96, 2.04]");
  EXPECT_EQ(only(OverN::kTime), "2.00 ms [1.60, 2.50]");
  EXPECT_EQ(only(OverN::kThroughput), "4,000 members/s [3,200, 5,000]");  // 8 members in 2 ms
  EXPECT_EQ(only(OverN::kMemory), "38.0 MB [38.0, 38.0]");
  record.peak_memory_bytes.reset();
  EXPECT_TRUE(series_over_n(std::span(&record, 1), OverN::kMemory).empty());
  for (const auto what : {OverN::kWeights, OverN::kActivations}) {
    EXPECT_TRUE(is_memory(what));
    EXPECT_TRUE(series_over_n(std::span(&record, 1), what).empty());  // of an older version
  }
  record.plan = {{"weight_bytes", 12'000'000}, {"activation_bytes", 3'400'000}};
  EXPECT_EQ(only(OverN::kWeights), "12.0 MB [12.0, 12.0]");
  EXPECT_EQ(only(OverN::kActivations), "3.40 MB [3.40, 3.40]");
  record.plan["weight_bytes"] = "many";
  EXPECT_TRUE(series_over_n(std::span(&record, 1), OverN::kWeights).empty());
}

TEST(OverN, WhatDidNotPassHasNoPointAndWhatIsNoisyIsMarked) {
  auto failed = measured("linear", 4, 5), noisy = measured("linear", 8, 14488);
  failed.verdict = Verdict::kFail;
  noisy.noise_floor = {1, 0.9, 50.68};
  const auto series = best({failed, noisy, measured("linear", 2, 1.4)}).at(0);
  EXPECT_EQ(series.n, (std::vector<double>{2, 8}));
  EXPECT_EQ(series.broken, (std::vector<double>{4}));
  EXPECT_EQ(series.unreliable, (std::vector<bool>{false, true}));
}

TEST(OverN, RunsAreLaidOverOneAnother) {
  const std::vector<CaseRecord> first = {measured("linear", 2, 1), measured("linear", 4, 2),
                                         measured("mlp", 2, 3)};
  const std::vector<CaseRecord> second = {measured("linear", 2, 1.5), measured("linear", 4, 3)};
  const std::vector<RunCurves> runs = {{"run 3", first}, {"run 5", second}};
  const auto all = series_over_n(runs, OverN::kOverBestRival);
  ASSERT_EQ(all.size(), 3U);
  EXPECT_EQ(all[0].title, "linear, run 3");
  EXPECT_EQ(all[1].title, "linear, run 5");
  EXPECT_EQ(all[2].title, "mlp, run 3");
  const std::vector<RunCurves> one = {{"run 3", first, "mlp"}, {"run 5", second, "mlp"}};
  ASSERT_EQ(series_over_n(one, OverN::kOverBestRival).size(), 1U);
}

TEST(OverN, ALonelySpeedupHasNoBand) {
  auto record = measured("linear", 4, 2);
  record.speedup = {2.0};
  const auto series = series_over_n(std::span(&record, 1), OverN::kOverEager);
  EXPECT_EQ(series[0].low, series[0].value);
  EXPECT_EQ(series[0].high, series[0].value);
}

TEST(OverN, TheCrossingLiesBetweenTheNThatWereMeasured) {
  const auto series = best({measured("linear", 2, 0.5), measured("linear", 8, 2), measured("linear", 16, 4)});
  ASSERT_EQ(crossings(series.at(0)).size(), 1U);
  EXPECT_NEAR(crossings(series.at(0))[0], 4, 1e-9);  // half way on both logarithms
  EXPECT_TRUE(crossings(best({measured("linear", 2, 1.5), measured("linear", 8, 2)}).at(0)).empty());
  auto noisy = measured("linear", 8, 2);
  noisy.noise_floor = {1, 0.7, 1.4};
  EXPECT_TRUE(crossings(best({measured("linear", 2, 0.5), noisy}).at(0)).empty());
}

TEST(OverN, TicksAreRoundAndFewEnough) {
  EXPECT_EQ(value_ticks(OverN::kOverEager, 0.45, 9, 6), (std::vector<double>{0.5, 1, 2, 4, 8}));
  EXPECT_EQ(value_ticks(OverN::kTime, 90, 1100, 8), (std::vector<double>{100, 200, 500, 1000}));
  EXPECT_EQ(value_ticks(OverN::kTime, 90, 1100, 2), (std::vector<double>{100, 1000}));
  EXPECT_EQ(value_ticks(OverN::kTime, 900, 700'000, 4), (std::vector<double>{1000, 10'000, 100'000}));
  EXPECT_EQ(value_ticks(OverN::kTime, 30, 500, 2), (std::vector<double>{50, 100, 200, 500}));  // two at least
  EXPECT_EQ(value_ticks(OverN::kMemory, 400, 430, 8), (std::vector<double>{400, 410, 420, 430}));
  for (const double high : {1e3, 1e9, 1e30})
    EXPECT_LE(value_ticks(OverN::kThroughput, 1, high, 6).size(), 8U) << high;
  EXPECT_TRUE(value_ticks(OverN::kTime, 0, 10, 6).empty());
  EXPECT_TRUE(value_ticks(OverN::kTime, 10, 10, 6).empty());
}

TEST(OverN, PointsAreExported) {
  const auto series = best({measured("linear", 2, 0.5), measured("linear", 8, 2)});
  const auto csv = to_csv(points_table(series, OverN::kOverBestRival));
  EXPECT_TRUE(
      csv.starts_with("curve,n,over_best_rival,over_best_rival_low,over_best_rival_high,unreliable\r\n"))
      << csv;
  EXPECT_NE(csv.find("linear,8,2,1.96,2.04,\r\n"), std::string::npos) << csv;
  const auto svg = over_n_svg(series, OverN::kOverBestRival);
  EXPECT_TRUE(svg.starts_with("<svg") && svg.ends_with("</svg>\n"));
  EXPECT_NE(svg.find(">N = 4.00<"), std::string::npos);  // the crossing
  EXPECT_NE(over_n_svg({}, OverN::kTime).find("</svg>"), std::string::npos);
}

TEST(Forest, HasARowACaseInTheOrderOfTheTable) {
  auto data = sample_comparison().at(0);
  const auto rows = forest_rows(data);
  ASSERT_EQ(rows.size(), 7U);  // five cases, one that is missing, and the mean
  EXPECT_EQ(rows[0].title, "resblock, N = 4");
  EXPECT_EQ(rows[0].word, "faster");
  EXPECT_EQ(rows[5].word, "missing");
  EXPECT_FALSE(rows[5].ratio.known());
  EXPECT_TRUE(rows[6].on_the_whole && rows[6].word.empty());
  data.table.filter("subject:mlp");
  EXPECT_EQ(forest_rows(data).size(), 2U);
}

TEST(Forest, TheScaleHoldsWhatIsDecidedAndCutsWhatIsNot) {
  const std::vector<ForestRow> rows = {{.title = "a", .ratio = {0.8, 0.7, 0.9}, .word = "faster"},
                                       {.title = "b", .ratio = {1.1, 0.01, 90}, .word = "inconclusive"}};
  const auto scale = forest_scale(rows);
  EXPECT_LT(scale.low, 0.7);
  EXPECT_GT(scale.low, 0.5);
  EXPECT_GT(scale.high, 1.1);
  EXPECT_LT(scale.high, 1.5);
  EXPECT_TRUE(scale.cut_low(rows[1].ratio) && scale.cut_high(rows[1].ratio));
  EXPECT_FALSE(scale.cut_low(rows[0].ratio) || scale.cut_high(rows[0].ratio));
  EXPECT_EQ(scale.at(0.001), 0);
  EXPECT_EQ(scale.at(1e9), 1);
  EXPECT_GT(scale.at(1), scale.at(0.9));
}

TEST(Forest, TheDocumentSaysEachVerdictInWordsAndEscapesNames) {
  auto rows = forest_rows(sample_comparison().at(0));
  rows[0].title = "<script>";
  const auto svg = forest_svg(rows, "run 1 to run 9");
  for (const char* word : {">faster<", ">slower<", ">same<", ">inconclusive<", ">missing<"})
    EXPECT_NE(svg.find(word), std::string::npos) << word;
  EXPECT_EQ(svg.find("<script>"), std::string::npos);
}

}  // namespace
}  // namespace wide::gui
