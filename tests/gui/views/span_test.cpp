// A stretch of a profile by itself; how long calls took; what took longest.
#include "gui/views/span.h"

#include <gtest/gtest.h>

#include <numeric>

#include "formats/error.h"
#include "gui/views/samples.h"

namespace wide::gui {
namespace {

void quiet(double, const char*) {}

double calls_of(const ProfileData& data, std::size_t capture) {
  const auto& table = data.kernels[capture];
  double sum = 0;
  for (std::size_t row = 0; row < table.rows(); ++row) sum += table.number(row, table.column("count"));
  return sum;
}

TEST(Span, OfEverythingIsTheWhole) {
  const auto data = sample_profile();
  const auto part = within(data, {-1, static_cast<double>(data.timeline.length) + 1}, quiet);
  ASSERT_EQ(part.traces.size(), data.traces.size());
  EXPECT_EQ(part.wide, data.wide);
  for (std::size_t i = 0; i < data.traces.size(); ++i) EXPECT_EQ(calls_of(part, i), calls_of(data, i));
  ASSERT_EQ(part.comparisons.size(), data.comparisons.size());
  EXPECT_TRUE(part.roofline.has_value());
  EXPECT_EQ(part.limits.nodes.size(), data.limits.nodes.size());
}

TEST(Span, CountsWholePassesOnly) {
  const auto data = sample_profile();
  const auto& wide = data.traces[data.wide];
  std::vector<std::pair<std::int64_t, std::int64_t>> passes;
  for (std::size_t i = 0; i < wide.slices.size(); ++i) {
    if (wide.slices.kind(i) == profiler::Kind::kPass)
      passes.emplace_back(wide.slices.start(i), wide.slices.end(i));
  }
  ASSERT_EQ(passes.size(), 6U);
  const auto origin = data.timeline.origins[data.wide];
  const auto at = [&](std::int64_t time) { return static_cast<double>(time - origin); };
  const auto two = within(data, {at(passes[1].first), at(passes[2].second)}, quiet);
  EXPECT_EQ(two.traces[two.wide].passes, 2);
  EXPECT_EQ(3 * calls_of(two, two.wide), calls_of(data, data.wide));
  const auto less = within(data, {at(passes[1].first) + 1, at(passes[2].second)}, quiet);
  EXPECT_EQ(less.traces[less.wide].passes, 1);
  // Within one pass there is work, but nothing of which a gain could be told.
  const auto inside = within(data, {at(passes[1].first) + 1, at(passes[1].second) - 1}, quiet);
  EXPECT_EQ(inside.traces[inside.wide].passes, 0);
  EXPECT_GT(calls_of(inside, inside.wide), 0);
  EXPECT_TRUE(inside.comparisons.empty());
  EXPECT_THROW((void)within(data, {at(passes[5].second) + 1e12, at(passes[5].second) + 2e12}, quiet), Error);
}

TEST(Span, TheHistogramHoldsEveryCall) {
  const auto data = sample_profile();
  const auto& table = data.kernels[data.wide];
  const std::string kernel(table.text(0, 0));
  const auto shown = histogram(data.traces[data.wide], data.structures[data.wide], kernel, 8);
  EXPECT_EQ(static_cast<double>(shown.calls), table.number(0, table.column("count")));
  EXPECT_EQ(std::accumulate(shown.counts.begin(), shown.counts.end(), std::size_t{0}), shown.calls);
  EXPECT_EQ(shown.edges.size(), 9U);
  EXPECT_NEAR(shown.low_us, table.number(0, table.column("min")), 1e-9);
  EXPECT_NEAR(shown.high_us, table.number(0, table.column("max")), 1e-9);
  EXPECT_EQ(histogram(data.traces[data.wide], data.structures[data.wide], "no such kernel").calls, 0U);
}

TEST(Span, TheSlowestComeFirst) {
  const auto data = sample_profile();
  const auto time_of = [&](const SlicePlace& place) {
    const auto& lane = data.timeline.lanes[place.lane];
    return data.structures[lane.capture].own[lane.rows[place.row].item(place.index)];
  };
  const auto all = slowest(data, std::nullopt, 1000);
  ASSERT_GT(all.size(), 50U);
  for (std::size_t i = 1; i < all.size(); ++i) EXPECT_LE(time_of(all[i]), time_of(all[i - 1]));
  const auto five = slowest(data, std::nullopt, 5);
  ASSERT_EQ(five.size(), 5U);
  for (std::size_t i = 0; i < 5; ++i) EXPECT_EQ(time_of(five[i]), time_of(all[i]));
  const Measure half{0, static_cast<double>(data.timeline.length) / 2};
  for (const auto& place : slowest(data, half))
    EXPECT_LT(slice_at(data.timeline, data.traces, place).start,
              data.timeline.origins[data.timeline.lanes[place.lane].capture] + data.timeline.length / 2 + 1);
}

}  // namespace
}  // namespace wide::gui
