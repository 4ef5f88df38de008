// Captures of real models on the CPU: what is in them, and that nothing is left behind.
#include <ATen/ATen.h>
#include <ATen/record_function.h>
#include <c10/util/ThreadLocalDebugInfo.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <set>
#include <stdexcept>
#include <utility>

#include "app/capture/capture.h"
#include "app/capture/profile_job.h"
#include "core/aten/with_threads.h"
#include "core/eager/observe.h"
#include "formats/error.h"
#include "presets/zoo/zoo.h"
#include "profiler/trace/activity.h"
#include "profiler/trace/comparison.h"
#include "profiler/trace/structure.h"

namespace wide::app {
namespace {

using profiler::Kind;
using profiler::Trace;
using testing::Contains;
using testing::HasSubstr;

constexpr std::int64_t kMembers = 3;

WideModel make_model(const zoo::Architecture& architecture, const std::vector<std::string>& strategies = {}) {
  BuildOptions options;
  for (const auto& one : strategies) add_choice(options.strategies, one);
  return WideModel(architecture.graph, zoo::make_members(architecture, kMembers, 1, at::kFloat), options);
}

std::vector<Trace> profiled(const std::string& subject, std::vector<std::string> rivals,
                            const std::vector<std::string>& strategies = {}) {
  const auto architecture = zoo::build(subject);
  auto model = make_model(architecture, strategies);
  const auto inputs = zoo::make_inputs(architecture, kMembers, 1, at::kFloat);
  ProfileOptions options;
  options.subject = subject, options.passes = 3, options.rivals = std::move(rivals);
  return profile(model, inputs, options);
}

std::size_t count(const Trace& trace, Kind kind) {
  std::size_t found = 0;
  for (std::size_t i = 0; i < trace.slices.size(); ++i) found += trace.slices.kind(i) == kind;
  return found;
}

// How often each node ran, by pass and node.
std::map<std::pair<std::int32_t, std::int32_t>, int> node_runs(const Trace& trace) {
  std::map<std::pair<std::int32_t, std::int32_t>, int> runs;
  for (std::size_t i = 0; i < trace.slices.size(); ++i) {
    if (trace.slices.kind(i) == Kind::kNode) ++runs[{trace.slices.pass(i), trace.slices.node(i)}];
  }
  return runs;
}

TEST(CpuCaptureTest, ShowsEveryNodeOfEveryPass) {
  const auto traces = profiled("resblock", {"eager"}, {"conv2d=grouped"});
  ASSERT_EQ(traces.size(), 2u);
  for (const auto& trace : traces) {
    SCOPED_TRACE(trace.contender);
    EXPECT_EQ(trace.passes, 3);
    EXPECT_GT(trace.completeness.kernels, 0u);
    EXPECT_EQ(trace.completeness.launches, trace.completeness.kernels);
    EXPECT_EQ(trace.completeness.dropped, 0u);
    EXPECT_GT(trace.completeness.untraced_us, 0);
    const auto runs = node_runs(trace);
    const int each = trace.contender == "wide" ? 1 : kMembers;
    for (std::size_t node = 0; node < trace.nodes.size(); ++node) {
      for (int pass = 0; pass < 3; ++pass) {
        const auto found = runs.find({pass, static_cast<int>(node)});
        EXPECT_EQ(found == runs.end() ? 0 : found->second, trace.nodes[node].at_build ? 0 : each)
            << trace.nodes[node].name << " in pass " << pass;
      }
    }
  }
}

TEST(CpuCaptureTest, ShowsChangesOfLayoutApart) {
  const auto trace = std::move(profiled("resblock", {}, {"conv2d=grouped"}).at(0));
  EXPECT_GT(count(trace, Kind::kConversion), 0u);
  const auto times = profiler::node_times(trace, profiler::structure(trace));
  double conversions = 0;
  for (const auto& time : times) conversions += time.conversion_us;
  EXPECT_GT(conversions, 0);
}

TEST(CpuCaptureTest, TellsMembersApart) {
  const auto traces = profiled("mlp", {"eager"}, {"sequential"});
  for (const auto& trace : traces) {
    SCOPED_TRACE(trace.contender);
    std::map<std::string, std::set<std::int32_t>> work;  // by member's name: members of the operators
    const auto structure = profiler::structure(trace);
    for (std::size_t i = 0; i < trace.slices.size(); ++i) {
      if (trace.slices.kind(i) != Kind::kOperator || !structure.counts(trace, i)) continue;
      auto outer = structure.parent[i];
      while (outer >= 0 && trace.slices.kind(static_cast<std::size_t>(outer)) != Kind::kMember)
        outer = structure.parent[static_cast<std::size_t>(outer)];
      if (outer < 0) continue;
      const auto name = trace.names[trace.slices.name(static_cast<std::size_t>(outer))];
      work[std::string(name)].insert(trace.slices.member(i));
    }
    const std::map<std::string, std::set<std::int32_t>> expected = {
        {"member 0", {0}}, {"member 1", {1}}, {"member 2", {2}}};
    EXPECT_EQ(work, expected);
  }
}

TEST(CpuCaptureTest, ThreadsAreTracksOfTheirOwn) {
  const WithThreads two(2);
  const auto trace = std::move(profiled("mlp", {"threads"}).at(1));
  std::set<std::uint32_t> tracks;
  for (std::size_t i = 0; i < trace.slices.size(); ++i) {
    if (trace.slices.kind(i) == Kind::kMember) tracks.insert(trace.slices.track(i));
  }
  EXPECT_GE(tracks.size(), 1u);  // a quick thread may take all
  std::set<std::string> names;
  for (const auto& track : trace.tracks) names.insert(track.name);
  EXPECT_THAT(names, Contains("main"));
  EXPECT_EQ(count(trace, Kind::kMember), static_cast<std::size_t>(3 * kMembers));
}

TEST(CpuCaptureTest, CountsOperationsAndBytesOfANode) {
  const auto architecture = zoo::build("linear");
  auto model = make_model(architecture);
  const auto inputs = zoo::make_inputs(architecture, kMembers, 1, at::kFloat);
  const auto trace = std::move(profile(model, inputs, {"linear", "float32", 3, 1, {}}).at(0));
  const auto& weight = model.member_list()[0].tensors.begin()->second;
  double flops = 0, weights = 0;
  for (const auto& node : trace.nodes) flops += node.flops, weights += node.weight_bytes;
  const auto& x = inputs.at(0).tensor;
  const auto rows = static_cast<double>(x.numel() / x.size(-1)) / (inputs[0].mapped ? kMembers : 1);
  double largest = 0;
  for (const auto& [fqn, tensor] : model.member_list()[0].tensors)
    largest = std::max(largest, static_cast<double>(tensor.numel()));
  EXPECT_GE(flops, 2 * kMembers * rows * largest);
  EXPECT_LE(flops, 2.1 * kMembers * rows * largest);
  EXPECT_GE(weights, kMembers * largest * static_cast<double>(weight.element_size()));
}

TEST(CpuCaptureTest, SeesMemoryRiseAndFall) {
  Capture capture({"test", "wide", 1, {}});
  capture.pass([] {
    const c10::InferenceMode guard;
    const auto held = at::ones({1 << 18});
    (void)held;
  });
  const auto use = profiler::memory_use(capture.finish());
  EXPECT_GE(use.peak - use.at_end, 1 << 20);
  EXPECT_FALSE(use.timeline.empty());
}

TEST(CpuCaptureTest, AnErrorInAPassEndsItAndPassesThrough) {
  Capture capture({"test", "wide", 1, {}});
  EXPECT_THROW(capture.pass([] {
    const ObservedMembers observed({0, 1});
    throw std::runtime_error("on purpose");
  }),
               std::runtime_error);
  capture.pass([] { at::ones({1}); });
  const auto trace = capture.finish();
  EXPECT_EQ(trace.passes, 2);
  EXPECT_EQ(count(trace, Kind::kPass), 2u);
  EXPECT_TRUE(trace.completeness.complete);
}

TEST(CpuCaptureTest, WhatDoesNotFitIsCountedAndTold) {
  Capture capture({"test", "wide", 1, {}, 10});
  capture.pass([] {
    for (int i = 0; i < 100; ++i) at::ones({1});
  });
  const auto trace = capture.finish();
  EXPECT_GT(trace.completeness.dropped, 0u);
  EXPECT_FALSE(trace.completeness.complete);
  EXPECT_THAT(trace.completeness.because, Contains(HasSubstr("did not fit")));
}

TEST(CpuCaptureTest, OneAtATime) {
  Capture first({"test", "wide", 1, {}});
  EXPECT_THROW(Capture({"test", "wide", 1, {}}), Error);
  first.pass([] { at::ones({1}); });
  EXPECT_TRUE(first.finish().completeness.complete);
}

// A capture that was finished, one that was abandoned: no operator is looked at afterwards.
TEST(CpuCaptureTest, LeavesNothingBehind) {
  for (const bool finish : {true, false}) {
    {
      Capture capture({"test", "wide", 1, {}});
      EXPECT_TRUE(at::hasCallbacks());
      capture.pass([] { at::ones({1}); });
      if (finish) capture.finish();
    }
    EXPECT_FALSE(at::hasCallbacks());
    EXPECT_EQ(run_observer.load(), nullptr);
    EXPECT_EQ(c10::ThreadLocalDebugInfo::get(c10::DebugInfoKind::PROFILER_STATE), nullptr);
  }
}

TEST(ProfileTest, TheGainIsExplainedToItsLastMicrosecond) {
  const auto traces = profiled("mlp", {"eager"});
  const auto result =
      profiler::compare(traces[0], profiler::structure(traces[0]), traces[1], profiler::structure(traces[1]));
  ASSERT_TRUE(result.aligned);
  const auto& gain = result.gain;
  EXPECT_NEAR(gain.launches_removed + gain.idle_recovered + gain.kernel_efficiency + gain.layout_copies +
                  gain.residual,
              gain.gained(), 1e-6 * std::abs(gain.rival_us));
  EXPECT_LT(result.wide_launches, result.rival_launches);
}

}  // namespace
}  // namespace wide::app
