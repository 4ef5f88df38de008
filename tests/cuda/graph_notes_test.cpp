// For which node of a model the kernels of a CUDA Graph were recorded, by a fake CUPTI.
#include <gtest/gtest.h>

#include <thread>

#include "cuda/activity_capture.h"
#include "cuda/fake_cupti.h"
#include "cuda/graph_notes.h"
#include "profiler/trace/comparison.h"
#include "profiler/trace/structure.h"

namespace wide::cuda {
namespace {

using profiler::Kind;
using profiler::Step;
using profiler::Trace;
using test::FakeCupti;

constexpr Step kPass{Kind::kPass, "pass 0", -1, 0, 4, 0};

class Graphs : public testing::Test {
 protected:
  void SetUp() override { ASSERT_EQ(notes_.start(0), ""); }

  /// One node of the graph, recorded in these steps.
  void record(std::uint64_t node, std::initializer_list<Step> steps) {
    for (const auto& step : steps) notes_.begin(step);
    fake_.node_made(node);
    for (std::size_t i = 0; i < steps.size(); ++i) notes_.end();
  }
  /// As CUDA does it: within the pass.
  void instantiate(std::uint64_t node, std::uint64_t original) {
    notes_.begin(kPass);
    fake_.node_made(node);
    fake_.node_copied(node, original);
    notes_.end();
  }
  /// A capture of one launch of a graph, in pass 2, with kernels of these nodes of it.
  Trace launched(std::initializer_list<std::uint64_t> nodes) {
    notes_.stop();
    ActivityCapture::Settings settings;
    settings.buffers = 1, settings.buffer_bytes = 1 << 16;
    settings.now = [] { return std::int64_t{0}; };
    settings.graphs = graphs_;
    ActivityCapture capture(FakeCupti::api(), settings);
    EXPECT_EQ(capture.start(0), "");
    capture.begin({Kind::kPass, "pass 2", -1, 0, 4, 2});
    fake_.external(9, fake_.externals.back());
    capture.end();
    fake_.launch(9, 1100, 1, false, "cudaGraphLaunch_v10000");
    std::uint64_t start = 1200;
    for (const auto node : nodes) fake_.graph_kernel(9, start += 100, node);
    capture.stop();
    Trace trace;
    trace.contender = "wide", trace.members = 4, trace.passes = 1;
    trace.nodes = {{"%0 aten.mm.default", "aten.mm.default"}, {"%1 aten.relu.default", "aten.relu.default"}};
    capture.add_to(trace);
    EXPECT_TRUE(trace.completeness.complete);
    return trace;
  }
  static std::string untied(const Trace& trace) {
    const auto found = trace.facts.find(profiler::kUntiedFact);
    return found == trace.facts.end() ? "" : found->second;
  }

  FakeCupti fake_;
  std::shared_ptr<GraphPlaces> graphs_ = std::make_shared<GraphPlaces>();
  GraphNotes notes_{FakeCupti::api(), *graphs_};
};

TEST_F(Graphs, KernelsAreOfTheNodesTheyWereRecordedFor) {
  record(1, {kPass, {Kind::kNode, "mm", 0, 0, 4, 0}});
  record(2, {kPass, {Kind::kNode, "relu", 1, 0, 4, 0}, {Kind::kMember, "member 3", 1, 3, 1, 0}});
  for (const auto node : {1, 2}) instantiate(10 + node, node);
  const auto trace = launched({11, 12});
  ASSERT_EQ(trace.slices.size(), 3u);
  const auto mm = trace.slices[1], relu = trace.slices[2];
  EXPECT_EQ(mm.node, 0);
  EXPECT_EQ(mm.members, 4);
  EXPECT_EQ(mm.pass, 2);  // not the one that recorded it
  EXPECT_EQ(relu.node, 1);
  EXPECT_EQ(relu.member, 3);
  EXPECT_EQ(relu.members, 1);
  EXPECT_EQ(relu.pass, 2);
  EXPECT_EQ(untied(trace), "");
  EXPECT_EQ(trace.slices[0].node, -1);  // the launch is the pass's
  const auto times = profiler::node_times(trace, profiler::structure(trace));
  EXPECT_DOUBLE_EQ(times[0].work_us, 0.01);
  EXPECT_DOUBLE_EQ(times[1].work_us, 0.01);
  EXPECT_DOUBLE_EQ(times[2].work_us, 0);
}

TEST_F(Graphs, ChangesOfLayoutAreKnown) {
  record(1,
         {kPass, {Kind::kConversion, "front->packed", 0, 0, 4, 0}, {Kind::kMember, "member 0", 0, 0, 1, 0}});
  record(2, {kPass, {Kind::kNode, "mm", 0, 0, 4, 0}});
  for (const auto node : {1, 2}) instantiate(10 + node, node);
  const auto trace = launched({11, 12});
  const auto times = profiler::node_times(trace, profiler::structure(trace));
  EXPECT_DOUBLE_EQ(times[0].conversion_us, 0.01);
  EXPECT_DOUBLE_EQ(times[0].total_us, 0.01);
}

TEST_F(Graphs, CopiesMayBeToldInAnyOrder) {
  record(1, {kPass, {Kind::kNode, "mm", 0, 0, 4, 0}});
  notes_.begin(kPass);
  fake_.node_copied(11, 1);
  fake_.node_made(11);
  notes_.end();
  EXPECT_EQ(launched({11}).slices.node(1), 0);
}

TEST_F(Graphs, AGraphMayBeInstantiatedAgain) {
  record(1, {kPass, {Kind::kNode, "mm", 0, 0, 4, 0}});
  for (const auto copy : {11, 21}) instantiate(copy, 1);
  fake_.node_copied(31, 21);  // of the copy
  const auto trace = launched({11, 21, 31});
  EXPECT_EQ(untied(trace), "");
  for (const auto slice : {1, 2, 3}) EXPECT_EQ(trace.slices.node(slice), 0);
}

TEST_F(Graphs, ThreadsRecordApart) {
  notes_.begin({Kind::kNode, "mm", 0, 0, 4, 0});
  std::thread([&] { record(2, {{Kind::kNode, "relu", 1, 2, 1, 0}}); }).join();
  std::thread([&] { fake_.node_made(3); }).join();  // of somebody else
  fake_.node_made(1);
  notes_.end();
  for (const auto node : {1, 2, 3}) instantiate(10 + node, node);
  const auto trace = launched({11, 12, 13});
  EXPECT_EQ(trace.slices.node(1), 0);
  EXPECT_EQ(trace.slices.node(2), 1);
  EXPECT_EQ(trace.slices.member(2), 2);
  EXPECT_EQ(trace.slices.node(3), -1);
  EXPECT_EQ(untied(trace), "1 of 3: they were recorded before anybody looked");
}

TEST_F(Graphs, WorkBetweenNodesIsThePasses) {
  record(1, {kPass});
  instantiate(11, 1);
  const auto trace = launched({11});
  EXPECT_EQ(trace.slices.node(1), -1);
  EXPECT_EQ(trace.slices.pass(1), 2);
  EXPECT_EQ(untied(trace), "");
}

TEST_F(Graphs, AnIdThatIsUsedAgainIsNotTheOldOne) {
  record(1, {kPass, {Kind::kNode, "mm", 0, 0, 4, 0}});
  instantiate(11, 1);
  instantiate(11, 5);  // a copy of what nobody saw
  EXPECT_EQ(untied(launched({11})), "1 of 1: they were recorded before anybody looked");
}

TEST_F(Graphs, ADriverWithoutIdsIsTold) {
  record(1, {kPass, {Kind::kNode, "mm", 0, 0, 4, 0}});
  instantiate(11, 1);
  EXPECT_EQ(untied(launched({0, 0})), "2 of 2: the driver does not say which node of the graph each is");
}

TEST_F(Graphs, ACuptiWithoutIdsIsTold) {
  fake_.node_id_fails = CUPTI_ERROR_NOT_SUPPORTED;
  record(1, {kPass, {Kind::kNode, "mm", 0, 0, 4, 0}});
  instantiate(11, 1);
  const auto trace = launched({11});
  EXPECT_EQ(trace.slices.node(1), -1);
  EXPECT_NE(untied(trace), "");
}

TEST_F(Graphs, CopiesInAGraphAreTiedToo) {
  record(1, {kPass, {Kind::kNode, "mm", 0, 0, 4, 0}});
  instantiate(11, 1);
  fake_.copy(9, 1500, 1510, 11);
  const auto trace = launched({11});
  for (std::size_t i = 0; i < trace.slices.size(); ++i) {
    if (profiler::on_device(trace.slices.kind(i))) {
      EXPECT_EQ(trace.slices.node(i), 0);
    }
  }
  EXPECT_EQ(untied(trace), "");
}

TEST_F(Graphs, NothingIsToldAfterTheEnd) {
  EXPECT_EQ(fake_.told.size(), 2u);
  notes_.stop();
  EXPECT_TRUE(fake_.told.empty());
  record(1, {kPass, {Kind::kNode, "mm", 0, 0, 4, 0}});
  EXPECT_FALSE(graphs_->find(1));
}

TEST(GraphRefusal, IsToldBesideTheKernels) {
  FakeCupti fake;
  GraphPlaces graphs;
  GraphNotes notes(FakeCupti::api(), graphs);
  fake.subscribe_fails = CUPTI_ERROR_MULTIPLE_SUBSCRIBERS_NOT_SUPPORTED;
  EXPECT_EQ(notes.start(0), "");
  EXPECT_NE(graphs.refusal().find("another profiler"), std::string::npos) << graphs.refusal();
  fake.subscribe_fails = CUPTI_SUCCESS, fake.callback_fails = CUPTI_ERROR_NOT_SUPPORTED;
  EXPECT_EQ(notes.start(0), "");
  EXPECT_NE(graphs.refusal(), "");
  EXPECT_FALSE(other_subscriber(FakeCupti::api()));  // it is no subscriber any more
  fake.callback_fails = CUPTI_SUCCESS;
  EXPECT_EQ(notes.start(0), "");
  EXPECT_EQ(graphs.refusal(), "");
}

}  // namespace
}  // namespace wide::cuda
