// What is read out of traces whose times are known.
#include <gtest/gtest.h>

#include <map>
#include <string>

#include "profiler/trace/activity.h"
#include "profiler/trace/comparison.h"
#include "profiler/trace/intervals.h"
#include "profiler/trace/kernels.h"
#include "profiler/trace/name_gaps.h"
#include "profiler/trace/sample_traces.h"

namespace wide::profiler {
namespace {

TEST(IntervalsTest, UnionOverlapAndGaps) {
  const auto a = united({{5, 9}, {0, 2}, {1, 3}, {9, 10}, {4, 4}, {8, 6}});
  EXPECT_EQ(a, (std::vector<Span>{{0, 3}, {5, 10}}));
  EXPECT_EQ(length(a), 8);
  const auto b = united({{2, 6}, {7, 8}, {9, 20}});
  EXPECT_EQ(overlap(a, b), (std::vector<Span>{{2, 3}, {5, 6}, {7, 8}, {9, 10}}));
  EXPECT_EQ(gaps(a, b), (std::vector<Span>{{0, 2}, {6, 7}, {8, 9}}));
  EXPECT_EQ(gaps({{0, 10}}, {}), (std::vector<Span>{{0, 10}}));
  EXPECT_EQ(gaps({}, {{0, 1}}), std::vector<Span>{});
}

TEST(StructureTest, InnermostOperatorsThatComputeAreTheWorkOfACpu) {
  const auto trace = test::wide_trace();
  const auto nesting = structure(trace);
  EXPECT_FALSE(nesting.device);
  for (std::size_t i = 0; i < trace.slices.size(); ++i) {
    const auto text = trace.names[trace.slices.name(i)];
    const bool leaf = text == "aten::addmm" || text == "aten::copy_" || text == "aten::clamp_min";
    EXPECT_EQ(nesting.work[i], leaf) << text;
    EXPECT_EQ(nesting.copy[i], text == "aten::copy_") << text;
    if (text == "aten::linear") {
      EXPECT_EQ(nesting.self[i], 80);
    }
  }
}

struct Written {
  const char* name;
  Kind kind;
  std::int64_t start, duration;
};

Trace written(const std::vector<Written>& slices) {
  Trace trace;
  trace.passes = 1;
  trace.track({"wide", "main", 1, 1, -1});
  for (const auto& one : slices) {
    trace.slices.push({.start = one.start,
                       .duration = one.duration,
                       .name = trace.names.intern(one.name),
                       .kind = one.kind,
                       .pass = 0});
  }
  return trace;
}

// As libtorch calls them: the product is aten::addmm itself, between its views and the copy of the bias.
TEST(StructureTest, AnOperatorComputesWhateverItArranges) {
  const auto trace = written({{"pass 0", Kind::kPass, 0, 1000},
                              {"aten::linear", Kind::kOperator, 0, 900},
                              {"aten::t", Kind::kOperator, 10, 40},
                              {"aten::transpose", Kind::kOperator, 20, 20},
                              {"aten::addmm", Kind::kOperator, 100, 700},
                              {"aten::expand", Kind::kOperator, 110, 20},
                              {"aten::copy_", Kind::kOperator, 200, 150},
                              {"aten::reshape", Kind::kOperator, 910, 60},
                              {"aten::clone", Kind::kOperator, 915, 50},
                              {"aten::copy_", Kind::kOperator, 920, 30},
                              {"aten::empty", Kind::kOperator, 980, 10}});
  const auto result = structure(trace);
  EXPECT_EQ(result.work,
            (std::vector<bool>{false, false, false, false, true, false, true, false, false, true, false}));
  EXPECT_EQ(result.own, (std::vector<std::int64_t>{0, 0, 0, 0, 550, 0, 150, 0, 0, 30, 0}));
  const auto spent = activity(trace, result);
  EXPECT_EQ(spent.launches, 3);
  EXPECT_EQ(spent.busy, 730);
  EXPECT_EQ(spent.work, 730);
  EXPECT_EQ(spent.copies, 180);
  const auto rows = kernels(trace, result);
  ASSERT_EQ(rows.size(), 2u);
  EXPECT_EQ(rows[0].name, "aten::addmm");
  EXPECT_EQ(rows[0].total, 550);
  EXPECT_EQ(rows[1].total, 180);
}

TEST(StructureTest, AFillWithinAnotherIsOneWork) {
  const auto trace = written({{"aten::zeros", Kind::kOperator, 0, 100},
                              {"aten::zero_", Kind::kOperator, 20, 70},
                              {"aten::fill_", Kind::kOperator, 30, 50}});
  EXPECT_EQ(structure(trace).work, (std::vector<bool>{false, false, true}));
  EXPECT_TRUE(only_arranges("aten::view"));
  EXPECT_FALSE(only_arranges("view"));
  EXPECT_FALSE(only_arranges("aten::mm"));
}

// A strategy with a kernel of its own may call no operator at all.
TEST(StructureTest, ANodeWithoutOperatorsIsItsOwnWork) {
  Trace trace;
  const auto add = [&](const char* name, Kind kind, std::int64_t start, std::int64_t duration) {
    trace.slices.push(
        {.start = start, .duration = duration, .name = trace.names.intern(name), .kind = kind, .pass = 0});
  };
  trace.track({"wide", "main", 1, 1, -1});
  add("pass 0", Kind::kPass, 0, 1000);
  add("own", Kind::kNode, 0, 300);
  add("called", Kind::kNode, 300, 300);
  add("aten::mm", Kind::kOperator, 400, 100);
  add("to layout packed", Kind::kConversion, 600, 100);
  const auto result = structure(trace);
  EXPECT_EQ(result.work, (std::vector<bool>{false, true, false, true, true}));
  EXPECT_EQ(result.copy, (std::vector<bool>{false, false, false, false, true}));
  EXPECT_EQ(activity(trace, result).busy, 500);
}

TEST(ActivityTest, NodesAndTheRestAddUpToThePasses) {
  for (const auto& trace : {test::wide_trace(), test::eager_trace(), test::device_trace()}) {
    const auto spent = activity(trace, structure(trace));
    EXPECT_EQ(spent.in_nodes + spent.before_nodes + spent.between_nodes + spent.after_nodes, spent.wall);
  }
  const auto wide = test::wide_trace(), eager = test::eager_trace();
  const auto ours = activity(wide, structure(wide)), theirs = activity(eager, structure(eager));
  EXPECT_EQ(ours.before_nodes, 2 * 50);
  EXPECT_EQ(ours.between_nodes, 0);
  EXPECT_EQ(ours.after_nodes, 2 * 150);
  EXPECT_EQ(theirs.before_nodes, 0);
  EXPECT_EQ(theirs.between_nodes, 2 * 100);
  EXPECT_EQ(theirs.after_nodes, 2 * 100);
}

// Each moment of a pass is then in a slice with a name, and nothing that was known has changed.
TEST(NameGapsTest, NamesWhatIsInNoNode) {
  for (const auto& plain : {test::wide_trace(), test::eager_trace()}) {
    SCOPED_TRACE(plain.contender);
    auto trace = test::wide_trace();
    if (plain.contender == "eager") trace = test::eager_trace();
    name_gaps(trace);
    const auto nesting = structure(trace);
    std::map<std::string, std::int64_t> gaps;
    for (std::size_t i = 0; i < trace.slices.size(); ++i) {
      const auto kind = trace.slices.kind(i);
      if (kind == Kind::kPass || kind == Kind::kMember) {
        EXPECT_EQ(nesting.self[i], 0);
      }
      if (kind != Kind::kAnnotation) continue;
      gaps[std::string(trace.names[trace.slices.name(i)])] += trace.slices.duration(i);
      EXPECT_FALSE(nesting.work[i]);
    }
    const std::map<std::string, std::int64_t> expected =
        plain.contender == "wide"
            ? std::map<std::string, std::int64_t>{{"executor: before the first node", 100},
                                                  {"executor: after the last node", 300}}
            : std::map<std::string, std::int64_t>{{"executor: after the last node", 400}};
    EXPECT_EQ(gaps, expected);
    const auto before = activity(plain, structure(plain)), after = activity(trace, nesting);
    EXPECT_EQ(after.busy, before.busy);
    EXPECT_EQ(after.other, before.other);
    EXPECT_EQ(after.launches, before.launches);
    EXPECT_EQ(after.in_nodes, before.in_nodes);
  }
}

TEST(NameGapsTest, LeavesWhatAMemberDoesWithinANodeToTheNode) {
  auto trace = written({{"pass 0", Kind::kPass, 0, 1000},
                        {"aten::select", Kind::kOperator, 10, 20},
                        {"node", Kind::kNode, 100, 800},
                        {"member 0", Kind::kMember, 110, 300},
                        {"aten::mm", Kind::kOperator, 120, 100}});
  name_gaps(trace);
  const auto nesting = structure(trace);
  ASSERT_EQ(trace.slices.size(), 7u);
  for (const std::size_t i : {5, 6}) {
    EXPECT_EQ(trace.slices.kind(i), Kind::kAnnotation);
    EXPECT_EQ(nesting.parent[i], 0);
  }
  EXPECT_EQ(nesting.parent[1], 5);  // the operator before the node is in the gap
}

TEST(KernelsTest, AddsUpByName) {
  const auto trace = test::eager_trace();
  const auto rows = kernels(trace, structure(trace));
  ASSERT_EQ(rows.size(), 2u);
  EXPECT_EQ(rows[0].name, "aten::addmm");
  EXPECT_EQ(rows[0].count, 16);
  EXPECT_EQ(rows[0].total, 1200);
  EXPECT_EQ(rows[0].min, 75);
  EXPECT_EQ(rows[0].max, 75);
  EXPECT_EQ(rows[0].median, 75);
  EXPECT_DOUBLE_EQ(rows[0].share, 0.6);
  EXPECT_EQ(rows[1].count, 4);
}

TEST(ActivityTest, SplitsTheTimeOfACpu) {
  const auto trace = test::wide_trace();
  const auto result = activity(trace, structure(trace));
  EXPECT_EQ(result.wall, 2000);
  EXPECT_EQ(result.busy, 2 * (300 + 80 + 200));
  EXPECT_EQ(result.host_wait, 2 * (800 - 580));  // in nodes, outside the leaves
  EXPECT_EQ(result.other, 2 * 200);
  EXPECT_EQ(result.kernel_wait, 0);
  EXPECT_EQ(result.wall, result.busy + result.host_wait + result.kernel_wait + result.other);
  EXPECT_EQ(result.launches, 6);
  EXPECT_EQ(result.copies, 160);
  EXPECT_DOUBLE_EQ(coverage_of_nodes(result), 0.8);
}

TEST(ActivityTest, SplitsTheIdleTimeOfADevice) {
  const auto trace = test::device_trace();
  const auto result = activity(trace, structure(trace));
  EXPECT_EQ(result.wall, 100'000);
  EXPECT_EQ(result.busy, 9'000 + 14'000 + 10'000 + 20'000);  // the overlap counts once
  EXPECT_EQ(result.work, 9'000 + 9'000 + 10'000 + 10'000 + 20'000);
  EXPECT_EQ(result.host_wait, 1'000 + 15'000);
  EXPECT_EQ(result.kernel_wait, 1'000);
  EXPECT_EQ(result.other, 10'000 + 20'000);
  EXPECT_EQ(result.wall, result.busy + result.host_wait + result.kernel_wait + result.other);
  EXPECT_EQ(result.launches, 5);
  EXPECT_EQ(result.copies, 20'000);
}

// The host was through with both nodes before the device began: a change of layout, a kernel, and two of a
// graph.
Trace launched_ahead() {
  Trace trace;
  trace.passes = 1, trace.nodes.resize(1), trace.devices = {"Test GPU"};
  trace.track({"wide", "main", 1, 1, -1}), trace.track({"GPU 0", "stream 7", 2, 7, 0});
  const auto add = [&](Kind kind, std::int64_t start, std::int64_t duration, std::uint32_t correlation,
                       std::int32_t node) {
    trace.slices.push({.start = start,
                       .duration = duration,
                       .kind = kind,
                       .track = on_device(kind) ? 1U : 0U,
                       .correlation = correlation,
                       .node = node,
                       .pass = 0});
  };
  add(Kind::kPass, 0, 10'000, 0, -1);
  add(Kind::kConversion, 0, 100, 0, 0), add(Kind::kRuntime, 10, 50, 1, 0);
  add(Kind::kNode, 100, 100, 0, 0), add(Kind::kRuntime, 110, 50, 2, 0);
  add(Kind::kRuntime, 300, 50, 3, -1);
  add(Kind::kKernel, 1'000, 1'000, 1, 0), add(Kind::kKernel, 2'000, 3'000, 2, 0);
  add(Kind::kKernel, 6'000, 1'000, 3, -1), add(Kind::kKernel, 7'000, 1'000, 3, -1);
  return trace;
}

TEST(ActivityTest, NodesOfADeviceTakeWhatTheirKernelsTake) {
  const auto trace = launched_ahead();
  const auto nesting = structure(trace);
  const auto times = node_times(trace, nesting);
  EXPECT_DOUBLE_EQ(times[0].wall_us, 4);
  EXPECT_DOUBLE_EQ(times[0].total_us, 3);
  EXPECT_DOUBLE_EQ(times[0].conversion_us, 1);  // by where it was launched
  EXPECT_DOUBLE_EQ(times[0].copy_us, 1);
  EXPECT_DOUBLE_EQ(times[0].host_us, 0.2);
  EXPECT_DOUBLE_EQ(times[1].wall_us, 2);  // of no node
  const auto spent = activity(trace, nesting);
  EXPECT_EQ(spent.in_nodes, 6'000);
  EXPECT_EQ(spent.before_nodes, 1'000);
  EXPECT_EQ(spent.between_nodes, 1'000);
  EXPECT_EQ(spent.after_nodes, 2'000);
  EXPECT_EQ(spent.launches, 3);  // the graph is one
}

TEST(ActivityTest, AnEmptyTraceIsNoFault) {
  const Trace trace;
  const auto nesting = structure(trace);
  EXPECT_EQ(activity(trace, nesting).wall, 0);
  EXPECT_TRUE(kernels(trace, nesting).empty());
  EXPECT_TRUE(memory_use(trace).timeline.empty());
  EXPECT_EQ(compare(trace, nesting, trace, nesting).gain.gained(), 0);
  EXPECT_TRUE(diff(trace, nesting, trace, nesting).empty());
}

TEST(MemoryTest, FindsThePeakAndKeepsItWhenThinned) {
  const auto trace = test::wide_trace();
  const auto all = memory_use(trace);
  EXPECT_EQ(all.peak, 4096);
  EXPECT_EQ(all.peak_time, 200);
  EXPECT_EQ(all.timeline.size(), 6u);
  const auto thin = memory_use(trace, 2);
  EXPECT_EQ(thin.timeline.size(), 2u);
  EXPECT_EQ(thin.timeline[0].value, 4096);
}

}  // namespace
}  // namespace wide::profiler
