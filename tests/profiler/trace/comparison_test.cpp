// Two captures beside one another, and a capture beside what the machine can do.
#include <gtest/gtest.h>

#include <map>
#include <set>
#include <string>

#include "formats/error.h"
#include "profiler/trace/comparison.h"
#include "profiler/trace/roofline.h"
#include "profiler/trace/sample_traces.h"

namespace wide::profiler {
namespace {

// Two threads: one runs node 0 all the time, the other node 1 for the second half of it.
TEST(ComparisonTest, TimesOfNodesOnThreadsAddUpToThePass) {
  Trace trace;
  trace.passes = 1, trace.nodes.resize(2);
  trace.track({"wide", "main", 1, 1, -1}), trace.track({"wide", "worker 1", 1, 2, -1});
  trace.slices.push({.duration = 4000, .kind = Kind::kPass, .pass = 0});
  trace.slices.push({.duration = 4000, .kind = Kind::kNode, .node = 0, .pass = 0});
  trace.slices.push({.start = 2000, .duration = 2000, .kind = Kind::kNode, .track = 1, .node = 1, .pass = 0});
  const auto nesting = structure(trace);
  const auto times = node_times(trace, nesting);
  EXPECT_DOUBLE_EQ(times[0].wall_us, 3);
  EXPECT_DOUBLE_EQ(times[1].wall_us, 1);
  EXPECT_DOUBLE_EQ(times[0].total_us, 4);
  EXPECT_DOUBLE_EQ(times[1].on_the_clock(2), 1);
  EXPECT_DOUBLE_EQ(coverage_of_nodes(activity(trace, nesting)), 1);
}

TEST(ComparisonTest, ANodeFoldedAwayIsPartOfTheOneThatDoesItsWork) {
  auto wide = test::wide_trace();
  const auto eager = [] {
    auto trace = test::eager_trace();
    trace.nodes[0].name = "%9 aten.conv2d.default", trace.nodes[0].within = "%1 aten.relu.default";
    return trace;
  }();
  const auto result = compare(wide, structure(wide), eager, structure(eager));
  ASSERT_EQ(result.nodes.size(), 4u);
  EXPECT_EQ(result.nodes[0].rival.total_us, 0);
  ASSERT_EQ(result.nodes[1].parts.size(), 2u);
  EXPECT_EQ(result.nodes[1].parts[0].first, "%9 aten.conv2d.default");
  EXPECT_DOUBLE_EQ(result.nodes[1].rival.total_us,
                   result.nodes[1].parts[0].second.total_us + result.nodes[1].parts[1].second.total_us);
}

TEST(ComparisonTest, AlignsByNode) {
  const auto wide = test::wide_trace(), eager = test::eager_trace();
  const auto result = compare(wide, structure(wide), eager, structure(eager));
  ASSERT_TRUE(result.aligned);
  ASSERT_EQ(result.nodes.size(), 4u);
  EXPECT_DOUBLE_EQ(result.nodes[0].wide.total_us, 0.4);
  EXPECT_DOUBLE_EQ(result.nodes[0].rival.total_us, 1.0);  // both members
  EXPECT_DOUBLE_EQ(result.nodes[0].rival.launches, 8);
  EXPECT_DOUBLE_EQ(result.nodes[1].wide.conversion_us, 0.1);
  EXPECT_DOUBLE_EQ(result.nodes[1].wide.copy_us, 0.08);
  EXPECT_DOUBLE_EQ(result.nodes[2].wide.total_us, 0);  // computed at build
  EXPECT_DOUBLE_EQ(result.wide_launches, 3);
  EXPECT_DOUBLE_EQ(result.rival_launches, 10);
  EXPECT_DOUBLE_EQ(result.launches_saved_per_member(), 3.5);
}

TEST(ComparisonTest, SplitsTheGainWithoutRemainderWhereNothingElseWasMeasured) {
  const auto wide = test::wide_trace(), eager = test::eager_trace();
  const auto gain = compare(wide, structure(wide), eager, structure(eager)).gain;
  EXPECT_DOUBLE_EQ(gain.gained(), 1.0);
  // eager: busy 1.0 us, host 0.8, other 0.2; wide: busy 0.58 (0.08 of it copies), host 0.22, other 0.2.
  EXPECT_NEAR(gain.launch_us, 0.08, 1e-9);
  EXPECT_NEAR(gain.launches_removed, 7 * 0.08, 1e-9);
  EXPECT_NEAR(gain.idle_recovered, 0.58 - 0.56, 1e-9);
  EXPECT_NEAR(gain.layout_copies, -0.08, 1e-9);
  EXPECT_NEAR(gain.kernel_efficiency, 0.5, 1e-9);
  EXPECT_NEAR(gain.residual, 0, 1e-9);
}

TEST(ComparisonTest, WhatCapturingAddedIsTheResidual) {
  auto wide = test::wide_trace(), eager = test::eager_trace();
  wide.completeness.untraced_us = 0.9, eager.completeness.untraced_us = 1.7;
  const auto gain = compare(wide, structure(wide), eager, structure(eager)).gain;
  EXPECT_DOUBLE_EQ(gain.gained(), 0.8);
  EXPECT_NEAR(gain.residual, -0.2, 1e-9);
  eager.completeness.untraced_us = 0;  // one side only: both traced
  EXPECT_DOUBLE_EQ(compare(wide, structure(wide), eager, structure(eager)).gain.gained(), 1.0);
}

TEST(ComparisonTest, ANodeThatOneLacksStandsAlone) {
  auto wide = test::wide_trace();
  const auto eager = test::eager_trace();
  wide.nodes[1].name = "%7 aten.gelu.default";
  const auto result = compare(wide, structure(wide), eager, structure(eager));
  ASSERT_EQ(result.nodes.size(), 5u);
  EXPECT_EQ(result.nodes[1].name, "%7 aten.gelu.default");
  EXPECT_EQ(result.nodes[1].rival.total_us, 0);
  EXPECT_EQ(result.nodes[3].name, "%1 aten.relu.default");
  EXPECT_EQ(result.nodes[3].wide.total_us, 0);
  EXPECT_GT(result.nodes[3].rival.total_us, 0);
  for (auto& node : wide.nodes) node.name += " of another graph";
  EXPECT_FALSE(compare(wide, structure(wide), eager, structure(eager)).aligned);
}

TEST(DiffTest, NamesEveryChange) {
  Trace before, after;
  before.passes = after.passes = 1;
  before.track({}), after.track({});
  const auto add = [](Trace& trace, const char* what, std::int64_t duration, int count) {
    for (int i = 0; i < count; ++i) {
      Slice slice{.start = std::ssize(std::vector<int>(trace.slices.size())) * 10'000, .duration = duration};
      slice.name = trace.names.intern(what), slice.kind = Kind::kOperator;
      trace.slices.push(slice);
    }
  };
  add(before, "gone", 100, 1), add(after, "new", 200, 1);
  add(before, "more", 100, 1), add(after, "more", 100, 3);
  add(before, "fewer", 100, 3), add(after, "fewer", 100, 1);
  add(before, "slower", 100, 2), add(after, "slower", 150, 2);
  add(before, "faster", 100, 2), add(after, "faster", 50, 2);
  add(before, "same", 100, 2), add(after, "same", 102, 2);
  std::map<std::string, std::string> found;
  const auto rows = diff(before, structure(before), after, structure(after));
  for (const auto& row : rows) found[row.name] = name(row.change);
  EXPECT_EQ(found, (std::map<std::string, std::string>{{"gone", "removed"},
                                                       {"new", "added"},
                                                       {"more", "more"},
                                                       {"fewer", "fewer"},
                                                       {"slower", "slower"},
                                                       {"faster", "faster"},
                                                       {"same", "same"}}));
  EXPECT_EQ(rows.back().name, "same");
}

Peaks test_peaks() {
  Peaks peaks{.machine = "m", .device = "cpu", .threads = 2};
  peaks.flops["float32"] = 1e10;  // 0.2 us for the linear
  peaks.bandwidth = {{1e3, 4e8}, {1e8, 1e8}};
  peaks.launch_us = 0.05;
  return peaks;
}

TEST(RooflineTest, FractionAndWhatBinds) {
  const auto trace = test::wide_trace();
  const auto result = roofline(trace, structure(trace), test_peaks(), "float32");
  ASSERT_EQ(result.nodes.size(), 2u);                          // the one computed at build is left out
  EXPECT_NEAR(result.nodes[0].roof_us, 96 / 4e8 * 1e6, 1e-9);  // memory: 96 bytes from a cache
  EXPECT_NEAR(result.nodes[0].fraction(), 0.6, 1e-9);
  EXPECT_EQ(result.nodes[0].bound, Bound::kMemory);
  EXPECT_NEAR(result.nodes[0].practical_us, 0.24 + 0.05, 1e-9);
  EXPECT_EQ(result.nodes[1].bound, Bound::kHost);
  EXPECT_NEAR(result.total.time_us, 0.8, 1e-9);
  EXPECT_NEAR(result.nodes[0].share + result.nodes[1].share, 1, 1e-9);
  const auto unknown = roofline(trace, structure(trace), test_peaks(), "float64");
  EXPECT_NEAR(unknown.nodes[0].roof_us, 0.24, 1e-9);
}

TEST(RooflineTest, PeaksAreStoredAndRead) {
  const auto peaks = peaks_from_text(to_text(test_peaks()));
  EXPECT_EQ(peaks.flops.at("float32"), 1e10);
  EXPECT_EQ(peaks.bandwidth.size(), 2u);
  EXPECT_EQ(peaks.bytes_per_second(2e3), 4e8);
  EXPECT_EQ(peaks.bytes_per_second(1e9), 1e8);
  for (const char* text : {"", "{}", "[1]", R"({"machine": 3})"}) EXPECT_THROW(peaks_from_text(text), Error);
}

TEST(RooflineTest, PeaksThatCannotBeAreDoubted) {
  Peaks peaks{.machine = "m", .device = "cpu", .threads = 2};
  peaks.flops = {{"float32", 2e11}, {"float64", 1e11}, {"bfloat16", 4e12}, {"float16", 1e10}};
  peaks.bandwidth = {{3e4, 1e10}, {2e6, 8e10}, {1.6e7, 8.5e10}, {1.3e8, 2e10}};
  EXPECT_TRUE(nonsense(peaks).empty()) << "small copies have the cost of a call in them";
  peaks.bandwidth[3].bytes_per_second = 1.5e11;
  ASSERT_EQ(nonsense(peaks).size(), 1u);
  EXPECT_TRUE(nonsense(peaks)[0].starts_with("copies of 130 MB")) << nonsense(peaks)[0];
  EXPECT_NE(nonsense(peaks)[0].find("seemed faster (150 GB/s)"), std::string::npos);
  peaks.bandwidth[3].bytes_per_second = 2e10;
  peaks.flops["float32"] = 1.86e10;  // tried while others had the CPUs
  EXPECT_EQ(nonsense(peaks).size(), 2u) << "float64 and bfloat16 are too far above";
  peaks.doubts = {"other work"};
  EXPECT_EQ(peaks_from_text(to_text(peaks)).doubts, peaks.doubts);
}

// As an H100 gave them: products of float64 have units of their own, and a copy of 2 MB does not fill it.
TEST(RooflineTest, PeaksOfAGpuFollowOtherRules) {
  Peaks peaks{.machine = "m", .device = "NVIDIA H100 80GB HBM3", .threads = 1};
  peaks.flops = {{"float32", 4.48e13}, {"float64", 6.55e13}, {"bfloat16", 8.83e14}, {"float16", 8.43e14}};
  peaks.bandwidth = {
      {2.6e5, 1.42e11}, {2.1e6, 4.46e11}, {1.68e7, 1.25e12}, {1.34e8, 2.34e12}, {5.4e8, 2.83e12}};
  EXPECT_TRUE(nonsense(peaks).empty()) << nonsense(peaks)[0];
}

TEST(RooflineTest, WhatIsAboveTheRoofIsDoubted) {
  const auto trace = test::wide_trace();
  auto peaks = test_peaks();
  EXPECT_TRUE(roofline(trace, structure(trace), peaks, "float32").doubts.empty());
  peaks.bandwidth = {{1e3, 1e8}, {1e8, 1e8}};
  const auto doubts = roofline(trace, structure(trace), peaks, "float32").doubts;
  ASSERT_EQ(doubts.size(), 1u);
  EXPECT_NE(doubts[0].find("of the roof: a peak was measured too low"), std::string::npos);
}

TEST(RooflineTest, SvgIsWellFormedWhateverTheNames) {
  auto trace = test::wide_trace();
  trace.nodes[0].name = "<script>\"&\x1b\xff", trace.subject = "a<b>&c";
  const auto svg = to_svg(roofline(trace, structure(trace), test_peaks(), "float32"), trace);
  EXPECT_EQ(svg.find("<script"), std::string::npos);
  EXPECT_NE(svg.find("a&lt;b&gt;&amp;c"), std::string::npos);
  EXPECT_EQ(svg.find('\xff'), std::string::npos);
  std::size_t circles = 0;
  for (auto at = svg.find("<title>"); at != std::string::npos; at = svg.find("<title>", at + 1)) ++circles;
  EXPECT_EQ(circles, 2u);
  EXPECT_TRUE(svg.ends_with("</svg>\n"));
}

// The colours that follow `before` in a document, as often as they are there.
std::multiset<std::string> colours(const std::string& svg, const std::string& before) {
  constexpr std::size_t kColour = 7;  // "#1f77b4"
  std::multiset<std::string> found;
  for (auto at = svg.find(before); at != std::string::npos; at = svg.find(before, at + 1))
    found.insert(svg.substr(at + before.size(), kColour));
  return found;
}

TEST(RooflineTest, AColourOfTheSvgMeansOneThing) {
  const auto trace = test::wide_trace();
  auto seen = roofline(trace, structure(trace), test_peaks(), "float32");
  ASSERT_FALSE(seen.nodes.empty());
  seen.nodes.clear();  // what is left is the legend
  const auto svg = to_svg(seen, trace);
  const auto causes = colours(svg, "r=\"5\" fill=\""), lines = colours(svg, "stroke=\"");
  EXPECT_EQ(causes.size(), 6U);
  EXPECT_FALSE(lines.empty());
  for (const auto& colour : causes) {
    EXPECT_EQ(causes.count(colour), 1U) << colour;
    EXPECT_EQ(lines.count(colour), 0U) << colour << " is that of a line, too";
  }
}

}  // namespace
}  // namespace wide::profiler
