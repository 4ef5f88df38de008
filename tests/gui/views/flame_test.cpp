// Calls of one name within the same calls are one frame, as long as all of them.
#include "gui/views/flame.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "gui/views/profile_data.h"
#include "profiler/trace/sample_traces.h"

namespace wide::gui {
namespace {

Flame flame_of(const profiler::Trace& trace) {
  return make_flame(trace, profiler::structure(trace));
}

std::size_t child(const Flame& flame, std::size_t of, const std::string& name) {
  for (const auto one : flame.frames[of].children) {
    if (flame.frames[one].name == name) return one;
  }
  ADD_FAILURE() << name << " is not within " << flame.frames[of].name;
  return 0;
}

TEST(Flame, AddsUpAllPassesAndMembers) {
  const auto trace = test::eager_trace();  // two passes of two members, 1000 ns a member
  const auto flame = flame_of(trace);
  ASSERT_EQ(flame.frames[0].children.size(), 1u);
  const auto pass = child(flame, 0, "pass");
  EXPECT_EQ(flame.frames[pass].calls, 2u);
  EXPECT_DOUBLE_EQ(flame.frames[pass].total_us, 4);
  EXPECT_DOUBLE_EQ(flame.frames[0].total_us, 4);
  const auto member = child(flame, pass, "member");
  EXPECT_EQ(flame.frames[member].calls, 4u);
  const auto linear = child(flame, member, selection_name(trace.nodes[0].name));
  EXPECT_EQ(flame.frames[linear].node, 0);
  EXPECT_DOUBLE_EQ(flame.frames[linear].total_us, 2);
  const auto addmm = child(flame, linear, "aten::addmm");
  EXPECT_EQ(flame.frames[addmm].calls, 16u);
  EXPECT_DOUBLE_EQ(flame.frames[addmm].total_us, 1.2);
  EXPECT_DOUBLE_EQ(flame.frames[linear].own_us, 0.8);
  EXPECT_EQ(path_of(flame, addmm), "pass > member > " + flame.frames[linear].name + " > aten::addmm");
  EXPECT_EQ(flame.deepest, 4u);
}

TEST(Flame, NothingIsLost) {
  for (const auto& trace : {test::wide_trace(), test::eager_trace()}) {
    const auto flame = flame_of(trace);
    double own = 0;
    std::size_t calls = 0;
    for (const auto& one : flame.frames) {
      own += one.own_us, calls += one.calls;
      EXPECT_TRUE(std::is_sorted(one.children.begin(), one.children.end(), [&](std::size_t a, std::size_t b) {
        return flame.frames[a].total_us > flame.frames[b].total_us;
      }));
    }
    EXPECT_NEAR(own, flame.frames[0].total_us, 1e-9);
    EXPECT_EQ(calls, trace.slices.size());
    EXPECT_EQ(flame_table(flame).rows(), flame.frames.size() - 1);
  }
}

TEST(Flame, OfNothingIsNothing) {
  const auto flame = flame_of(profiler::Trace{});
  ASSERT_EQ(flame.frames.size(), 1u);
  EXPECT_EQ(flame.frames[0].total_us, 0);
  EXPECT_EQ(flame_table(flame).rows(), 0u);
}

// A name that a stranger wrote, and calls deeper than anyone looks.
TEST(Flame, StrangeTracesDoNoHarm) {
  profiler::Trace trace;
  trace.track({"p", "t", 1, 1, -1});
  for (int i = 0; i < 500; ++i) {
    profiler::Slice slice;
    slice.name = trace.names.intern(i % 2 == 0 ? "\x1b[31m" : ""), slice.start = i,
    slice.duration = 1000 - 2 * i;
    slice.node = 99;  // there is none
    slice.kind = profiler::Kind::kNode;
    trace.slices.push(slice);
  }
  const auto flame = flame_of(trace);
  EXPECT_LE(flame.deepest, 64u);
  for (const auto& one : flame.frames) EXPECT_EQ(one.name.find('\x1b'), std::string::npos);
}

}  // namespace
}  // namespace wide::gui
