// A card of the dashboard: how a subject fared over its runs.
#include "gui/views/dashboard.h"

#include <gtest/gtest.h>

#include <cmath>

namespace wide::gui {
namespace {

results::TrendPoint point(std::int64_t run, std::int64_t n, double speedup) {
  results::TrendPoint one;
  one.run = run, one.n = n, one.dtype = "float32", one.mode = "eager", one.strategy = "auto";
  one.started = "2026-05-0" + std::to_string(run) + "T10:00:00Z";
  one.speedup = {speedup, speedup * 0.9, speedup * 1.1}, one.wide_us = 100;
  return one;
}

TEST(Dashboard, ShowsTheCaseThatWasMeasuredMost) {
  results::Trend trend{.subject = "resblock"};
  trend.series.push_back({.n = 32, .points = {point(1, 32, 9)}});
  trend.series.push_back({.n = 4, .points = {point(1, 4, 2), point(2, 4, 2.1), point(3, 4, 2.2)}});
  trend.series.push_back(
      {.n = 8, .points = {point(1, 8, 3), point(2, 8, NAN), point(3, 8, 3.5), point(4, 8, 4)}});
  const auto card = pinned_subject(trend);
  EXPECT_EQ(card.subject, "resblock");
  EXPECT_EQ(card.about, "N = 8, float32, eager");  // as often as with 4 members, and more members
  EXPECT_EQ(card.speedups, (std::vector<double>{3, 3.5, 4}));
  EXPECT_EQ(card.newest.value, 4);
  EXPECT_EQ(card.wide_us, 100);
  EXPECT_EQ(card.started, "2026-05-04 10:00");
  EXPECT_EQ(card.state, "steady over 3 runs");
  EXPECT_FALSE(card.changed);
}

TEST(Dashboard, SaysWhereTheLevelChanged) {
  results::Trend trend{.subject = "mlp"};
  trend.series.push_back(
      {.n = 4, .points = {point(1, 4, 2), point(2, 4, 2), point(7, 4, 3)}, .changes = {2}});
  const auto card = pinned_subject(trend);
  EXPECT_TRUE(card.changed);
  EXPECT_EQ(card.state, "changed with run 7");
}

TEST(Dashboard, KeepsWhatWasNeverMeasured) {
  EXPECT_EQ(pinned_subject({.subject = "mlp"}).state, "not measured yet");
  results::Trend failed{.subject = "mlp"};
  failed.series.push_back({.n = 4, .points = {point(1, 4, NAN)}});
  EXPECT_EQ(pinned_subject(failed).state, "not measured yet");
  EXPECT_TRUE(pinned_subject(failed).about.empty());
  EXPECT_TRUE(read_pinned("/nowhere/results.db", {"mlp"}).empty());
}

}  // namespace
}  // namespace wide::gui
