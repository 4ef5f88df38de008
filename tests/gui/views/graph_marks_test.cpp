// What colours say in the graph: captured times, and what another plan does otherwise.
#include "gui/views/graph_marks.h"

#include <gtest/gtest.h>

#include "profiler/trace/sample_traces.h"

namespace wide::gui {
namespace {

// A model whose nodes are called and run as those of the sample captures are.
ModelView model_of(const profiler::Trace& trace) {
  ModelView model;
  model.name = trace.subject;
  model.members.resize(static_cast<std::size_t>(trace.members));
  for (const auto& node : trace.nodes) {
    NodeView view;
    view.name = selection_name(node.name), view.strategy = node.strategy, view.microseconds = 777;
    model.graph.push_back(view);
  }
  return model;
}

ProfileData profile() {
  std::vector<profiler::Trace> traces;
  traces.push_back(test::wide_trace());
  traces.push_back(test::eager_trace());
  return make_profile(std::move(traces), "", [](double, const char*) {});
}

TEST(GraphMarks, TimesAreThoseOfTheCapture) {
  const auto data = profile();
  const auto model = model_of(data.traces[data.wide]);
  ASSERT_FALSE(data.limits.nodes.empty());
  const auto marks = marks_of_times(model, &data);
  ASSERT_EQ(marks.nodes.size(), model.graph.size());
  EXPECT_EQ(marks.captured, data.limits.nodes.size());
  for (const auto& limit : data.limits.nodes) {
    for (std::size_t i = 0; i < model.graph.size(); ++i) {
      if (model.graph[i].name != selection_name(limit.name)) continue;
      EXPECT_EQ(marks.nodes[i].us, limit.wide_us);
      EXPECT_TRUE(marks.nodes[i].measured);
    }
  }
}

TEST(GraphMarks, TimesOfAnotherModelOrStrategyAreNotTaken) {
  const auto data = profile();
  auto model = model_of(data.traces[data.wide]);
  EXPECT_EQ(marks_of_times(model, nullptr).captured, 0u);
  EXPECT_EQ(marks_of_times(model, nullptr).nodes[0].us, 777);
  model.graph[0].strategy = "another one";
  EXPECT_EQ(marks_of_times(model, &data).captured, data.limits.nodes.size() - 1);
  EXPECT_EQ(marks_of_times(model, &data).nodes[0].us, 777);
  EXPECT_FALSE(marks_of_times(model, &data).nodes[0].measured);
  model.members.emplace_back("one more");
  EXPECT_EQ(marks_of_times(model, &data).captured, 0u);
  model.members.pop_back();
  model.name += "2";
  EXPECT_EQ(marks_of_times(model, &data).captured, 0u);
}

TEST(GraphMarks, PlansDifferInStrategyOrLayout) {
  ModelView model;
  for (const char* name : {"conv2d", "relu", "weight", "linear"}) {
    model.graph.push_back({});
    model.graph.back().name = name, model.graph.back().microseconds = 5;
  }
  const Try shown{.nodes = {{"conv2d", "conv2d", "sequential", "packed", 30, false},
                            {"relu", "relu", "one_pass", "front", 3, false},
                            {"linear", "linear", "xsmm", "packed", 8, true}}};
  const Try other{.nodes = {{"conv2d", "conv2d", "grouped", "packed", 10, false},
                            {"relu", "relu", "one_pass", "packed", 4, false},
                            {"linear", "linear", "xsmm", "", 8, true}}};
  const auto marks = marks_of_plans(model, shown, other);
  ASSERT_EQ(marks.nodes.size(), 4u);
  EXPECT_EQ(marks.nodes[0].differs, "grouped to sequential");
  EXPECT_EQ(marks.nodes[0].change_us, 20);
  EXPECT_TRUE(marks.nodes[0].measured);
  EXPECT_EQ(marks.nodes[1].differs, "packed to front");
  EXPECT_EQ(marks.nodes[1].change_us, -1);
  EXPECT_EQ(marks.nodes[2].differs, "");  // in neither plan: nothing to choose
  EXPECT_EQ(marks.nodes[3].differs, "");  // the layout of what is not built is not known
  EXPECT_EQ(marks.differing, 2u);
  EXPECT_EQ(marks.change_us, 19);
  EXPECT_EQ(marks_of_plans(model, other, other).differing, 0u);
}

}  // namespace
}  // namespace wide::gui
