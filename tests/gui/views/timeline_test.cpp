// Lanes, idle time, search, measuring; and a million events in a frame's time.
#include "gui/views/timeline.h"

#include <gtest/gtest.h>

#include <array>
#include <chrono>

#include "gui/views/time_view.h"
#include "profiler/trace/sample_traces.h"
#include "tests/machine_speed.h"

namespace wide::gui {
namespace {

// Sanitized code is several times slower: there the figures only guard against another order of growth.
#if defined(__SANITIZE_ADDRESS__)
constexpr double kTimelineSlower = 10;
#else
constexpr double kTimelineSlower = 1;
#endif

using profiler::Structure;
using profiler::Trace;

struct Loaded {
  explicit Loaded(std::vector<Trace> given) : traces(std::move(given)) {
    for (const auto& trace : traces) structures.push_back(profiler::structure(trace));
    timeline = make_timeline(traces, structures);
  }
  std::vector<Trace> traces;
  std::vector<Structure> structures;
  Timeline timeline;
};

Loaded wide_and_eager() {
  std::vector<Trace> traces;
  traces.push_back(test::wide_trace());
  traces.push_back(test::eager_trace());
  return Loaded(std::move(traces));
}

TEST(Timeline, PutsTheBaselineAboveWideOnOneScale) {
  const auto loaded = wide_and_eager();
  ASSERT_EQ(loaded.timeline.lanes.size(), 2u);
  EXPECT_EQ(loaded.traces[loaded.timeline.lanes[0].capture].contender, "eager");
  EXPECT_EQ(loaded.traces[loaded.timeline.lanes[1].capture].contender, "wide");
  EXPECT_EQ(loaded.timeline.lanes[0].rows[0].start(0), 0) << "the first pass of each begins at 0";
  EXPECT_EQ(loaded.timeline.lanes[1].rows[0].start(0), 0);
  EXPECT_EQ(loaded.timeline.length, 7000);
  EXPECT_EQ(loaded.timeline.slices, loaded.traces[0].slices.size() + loaded.traces[1].slices.size());
}

TEST(Timeline, CallsLieBelowTheirCallers) {
  const auto loaded = wide_and_eager();
  const auto& rows = loaded.timeline.lanes[1].rows;
  ASSERT_EQ(rows.size(), 4u);  // pass, node, wrapper operator, leaf operator
  EXPECT_EQ(rows[0].size(), 2u);
  EXPECT_EQ(rows[1].size(), 6u);
  EXPECT_EQ(slice_at(loaded.timeline, loaded.traces, {1, 3, 0}).name,
            loaded.traces[0].slices[3].name);  // aten::addmm
}

TEST(Timeline, WhatOverlapsGetsARowOfItsOwn) {
  std::vector<Trace> traces;
  traces.push_back(test::wide_trace());
  profiler::Slice slice;
  slice.start = 500, slice.duration = 1000;  // begins within the first pass, ends after it
  traces[0].slices.push(slice);
  const auto loaded = Loaded(std::move(traces));
  std::size_t placed = 0;
  for (const auto& row : loaded.timeline.lanes[0].rows) {
    placed += row.size();
    for (std::size_t i = 1; i < row.size(); ++i) EXPECT_GE(row.start(i), row.end(i - 1));
  }
  EXPECT_EQ(placed, loaded.traces[0].slices.size());
}

TEST(Timeline, WorkIsAUnionAndTheRestIsIdle) {
  const auto loaded = wide_and_eager();
  const auto& work =
      loaded.timeline.lanes[1].work;  // of wide: addmm 300, copy_ 80, clamp_min 200 in each pass
  EXPECT_DOUBLE_EQ(work.busy(0, 1000), 580);
  std::vector<Block> blocks;
  work.blocks(0, 1000, 1, blocks);
  ASSERT_EQ(blocks.size(), 3u);
  EXPECT_EQ(blocks[0].end, 400);
  EXPECT_EQ(blocks[1].start, 460) << "idle from 400 to 460";
}

TEST(Timeline, AKernelKnowsItsDelayAfterTheLaunch) {
  std::vector<Trace> traces;
  traces.push_back(test::device_trace());
  const auto loaded = Loaded(std::move(traces));
  const auto& trace = loaded.traces[0];
  for (std::size_t i = 0; i < trace.slices.size(); ++i) {
    if (trace.slices.kind(i) == profiler::Kind::kKernel && trace.slices.correlation(i) == 1) {
      EXPECT_EQ(launch_delay(trace, i), 900);
      const auto lines = describe(trace, loaded.structures[0], i);
      EXPECT_EQ(lines[0], "gemm");
      EXPECT_NE(std::find(lines.begin(), lines.end(), "members 0 to 1"), lines.end());
      EXPECT_NE(std::find(lines.begin(), lines.end(), "takes 9.00 µs"), lines.end());
      EXPECT_NE(std::find(lines.begin(), lines.end(), "began 900 ns after its launch"), lines.end());
    }
  }
  EXPECT_TRUE(loaded.timeline.lanes[1].stream);
  EXPECT_EQ(loaded.timeline.lanes[1].title, "stream 7");
  EXPECT_FALSE(launch_delay(trace, 0));
}

TEST(Timeline, SearchFindsNamesAndNodesAndGoesRound) {
  const auto loaded = wide_and_eager();
  Search search;
  search.look_for("ADDMM", loaded.timeline, loaded.traces);
  EXPECT_EQ(search.found(), 2u + 16u);
  const auto first = search.next(loaded.timeline, -1, true);
  ASSERT_TRUE(first);
  EXPECT_EQ(slice_at(loaded.timeline, loaded.traces, *first).start, 20) << "of eager, which begins at 20";
  auto time = -1.0;
  std::vector<double> seen;
  for (int i = 0; i < 40; ++i) {
    const auto place = search.next(loaded.timeline, time, true);
    ASSERT_TRUE(place);
    const auto start =
        static_cast<double>(loaded.timeline.lanes[place->lane].rows[place->row].start(place->index));
    if (start < time) break;
    seen.push_back(start), time = start;
  }
  EXPECT_TRUE(std::is_sorted(seen.begin(), seen.end()));
  const auto last = search.next(loaded.timeline, 0, false);
  ASSERT_TRUE(last) << "backwards from the beginning it goes round";
  search.look_for("%1 aten.relu", loaded.timeline, loaded.traces);
  EXPECT_GT(search.found(), 0u);
  search.look_for("no such thing", loaded.timeline, loaded.traces);
  EXPECT_EQ(search.found(), 0u);
  EXPECT_FALSE(search.next(loaded.timeline, 0, true));
  search.look_for("", loaded.timeline, loaded.traces);
  EXPECT_EQ(search.within(0, 0, 0, 1), 0u);
}

TEST(Timeline, AMergedBlockKnowsHowManyOfItsItemsAreFound) {
  const auto loaded = wide_and_eager();
  Search search;
  search.look_for("addmm", loaded.timeline, loaded.traces);
  std::vector<Block> blocks;
  const auto& row = loaded.timeline.lanes[1].rows[3];
  row.blocks(0, 10000, 4000, blocks);
  std::size_t found = 0;
  for (const auto& block : blocks) found += search.within(1, 3, block.first, block.count);
  EXPECT_EQ(found, 2u);
}

TEST(Timeline, MeasuringSnapsToEdgesAndCountsWork) {
  const auto loaded = wide_and_eager();
  EXPECT_DOUBLE_EQ(snapped(loaded.timeline, 452, 5), 450);
  EXPECT_DOUBLE_EQ(snapped(loaded.timeline, 4000, 5), 4000);
  const auto seen = measured(loaded.timeline.lanes[1], {0, 500});
  EXPECT_DOUBLE_EQ(seen.busy_ns, 340);  // addmm and half of copy_
  EXPECT_EQ(seen.slices, 6u);           // pass, linear, addmm's two, layout, copy_
}

// The promise is a frame's worth of blocks in well under 16 ms; processor time, since others use the machine.
TEST(Timeline, AMillionEventsAreCutDownInAFractionOfAFrame) {
  std::vector<Trace> traces;
  traces.push_back(test::large_trace(1'000'000));
  const auto loaded = Loaded(std::move(traces));
  ASSERT_EQ(loaded.timeline.slices, 1'000'000u);
  constexpr double kPixels = 1280;
  TimeView view;
  view.set_extent(0, static_cast<double>(loaded.timeline.length));
  view.set_width(kPixels);
  view.fit();
  std::vector<Block> blocks;
  double worst = 0;
  std::size_t most = 0;
  for (int step = 0; step < 40; ++step) {  // from the whole down to single events
    const auto start = std::clock();
    std::size_t count = 0;
    for (const auto& lane : loaded.timeline.lanes) {
      for (const auto& row : lane.rows) {
        row.blocks(view.from(), view.to(), 2 * view.scale(), blocks);
        count += blocks.size();
      }
      lane.work.blocks(view.from(), view.to(), 2 * view.scale(), blocks);
    }
    worst = std::max(worst, 1e3 * static_cast<double>(std::clock() - start) / CLOCKS_PER_SEC);
    most = std::max(most, count);
    view.zoom(1.5, 700);
  }
  EXPECT_LE(most, 4u * (static_cast<std::size_t>(kPixels) + 2));
  EXPECT_LT(worst, 4 * kTimelineSlower * wide::test::slowness()) << "milliseconds";
  RecordProperty("worst_ms", std::to_string(worst));

  Search search;
  const auto start = std::clock();
  search.look_for("op49", loaded.timeline, loaded.traces);
  const double search_ms = 1e3 * static_cast<double>(std::clock() - start) / CLOCKS_PER_SEC;
  EXPECT_GT(search.found(), 1000u);
  EXPECT_LT(search_ms, 50 * kTimelineSlower * wide::test::slowness()) << "milliseconds";
}

}  // namespace
}  // namespace wide::gui
