// Captures of a fake CUPTI: whole streams, faulty ones, and every way to be refused.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <set>

#include "cuda/activity_capture.h"
#include "cuda/fake_cupti.h"
#include "profiler/trace/activity.h"
#include "profiler/trace/chrome_export.h"
#include "profiler/trace/kernels.h"
#include "profiler/trace/structure.h"

namespace wide::cuda {
namespace {

using profiler::Kind;
using profiler::Trace;
using test::FakeCupti;

ActivityCapture::Settings small() {
  ActivityCapture::Settings settings;
  settings.buffers = 2, settings.buffer_bytes = 1 << 16;
  settings.now = [] { return std::int64_t{0}; };  // the fake's clock stands at 1000
  return settings;
}

Trace new_trace() {
  Trace trace;
  trace.contender = "wide", trace.members = 2, trace.passes = 1;
  trace.nodes = {{"%0 aten.mm.default", "aten.mm.default"}, {"%1 aten.relu.default", "aten.relu.default"}};
  return trace;
}

/// A capture of what `fake` replays, which must start.
Trace captured(const ActivityCapture::Settings& settings = small()) {
  ActivityCapture capture(FakeCupti::api(), settings);
  EXPECT_EQ(capture.start(0), "");
  capture.stop();
  auto trace = new_trace();
  capture.add_to(trace);
  return trace;
}

std::size_t count(const Trace& trace, Kind kind) {
  std::size_t found = 0;
  for (std::size_t i = 0; i < trace.slices.size(); ++i) found += trace.slices.kind(i) == kind;
  return found;
}

bool mentions(const Trace& trace, const std::string& words) {
  const auto& because = trace.completeness.because;
  return std::any_of(because.begin(), because.end(),
                     [&](const std::string& reason) { return reason.find(words) != std::string::npos; });
}

TEST(CuptiCaptureTest, TiesKernelsToNodesAndMembers) {
  FakeCupti fake;
  ActivityCapture capture(FakeCupti::api(), small());
  ASSERT_EQ(capture.start(0), "");
  capture.begin({Kind::kNode, "mm", 0, 0, 2, 0});
  capture.begin({Kind::kNode, "relu", 1, 1, 1, 0});
  EXPECT_EQ(fake.externals, (std::vector<std::uint64_t>{1, 2}));
  capture.end();
  capture.end();
  EXPECT_TRUE(fake.externals.empty());
  fake.external(10, 1), fake.launch(10, 1100), fake.kernel(10, 1200, 1300);
  fake.external(11, 2), fake.launch(11, 1150), fake.kernel(11, 1300, 1350, "_ZN2at4reluEv", 8);
  fake.external(12, 2), fake.launch(12, 1160, 1, false, "cudaMemcpyAsync_v3020"), fake.copy(12, 1400, 1410);
  capture.stop();
  auto trace = new_trace();
  capture.add_to(trace);
  EXPECT_TRUE(trace.completeness.complete);
  EXPECT_EQ(trace.completeness.launches, 2u);
  EXPECT_EQ(trace.completeness.kernels, 2u);
  ASSERT_EQ(trace.slices.size(), 6u);
  const auto relu = trace.slices[3];
  EXPECT_EQ(trace.names[relu.name], "at::relu()");
  EXPECT_EQ(relu.start, 300);  // from CUPTI's time at the start
  EXPECT_EQ(relu.duration, 50);
  EXPECT_EQ(relu.node, 1);
  EXPECT_EQ(relu.member, 1);
  EXPECT_EQ(trace.tracks[relu.track].name, "stream 8");
  EXPECT_EQ(trace.names[trace.slices.name(5)], "Memcpy DtoD");
  const auto spent = profiler::activity(trace, profiler::structure(trace));
  EXPECT_EQ(spent.launches, 3);
  EXPECT_EQ(spent.copies, 10);
}

TEST(CuptiCaptureTest, RuntimeAndDriverCallOfOneLaunchCountOnce) {
  FakeCupti fake;
  fake.launch(5, 1100), fake.launch(5, 1101, 1, false, "cuLaunchKernel"), fake.kernel(5, 1200, 1300);
  const auto trace = captured();
  EXPECT_EQ(trace.completeness.launches, 1u);
  EXPECT_TRUE(trace.completeness.complete);
  EXPECT_EQ(count(trace, Kind::kDriver), 1u);
}

TEST(CuptiCaptureTest, OrderDoesNotMatter) {
  FakeCupti fake;
  fake.kernel(2, 1400, 1500), fake.kernel(1, 1200, 1300);
  fake.next_buffer();
  fake.launch(2, 1110), fake.external(1, 1);
  fake.next_buffer();
  fake.launch(1, 1100);
  const auto trace = captured();
  EXPECT_TRUE(trace.completeness.complete);
  EXPECT_EQ(fake.buffers_taken, 3);
  EXPECT_EQ(trace.facts.at("buffers made during the capture"), "1");  // two were made before
}

TEST(CuptiCaptureTest, DroppedRecordsAreCountedAndTold) {
  FakeCupti fake;
  fake.launch(1, 1100), fake.kernel(1, 1200, 1300);
  fake.dropped = 17;
  const auto trace = captured();
  EXPECT_EQ(trace.completeness.dropped, 17u);
  EXPECT_FALSE(trace.completeness.complete);
  EXPECT_TRUE(mentions(trace, "dropped 17 records"));
}

TEST(CuptiCaptureTest, WhatWasLostBeforeItBeganIsNotIts) {
  FakeCupti fake;
  fake.launch(1, 1100), fake.kernel(1, 1200, 1300);
  fake.lost_before = 90'000;
  const auto trace = captured();
  EXPECT_EQ(trace.completeness.dropped, 0u);
  EXPECT_TRUE(trace.completeness.complete);
}

TEST(CuptiCaptureTest, UnknownKindsAreCountedAndPassedOver) {
  FakeCupti fake;
  fake.launch(1, 1100), fake.unknown(9999), fake.unknown(54), fake.kernel(1, 1200, 1300), fake.unknown(-1);
  const auto trace = captured();
  EXPECT_EQ(trace.completeness.unknown, 3u);
  EXPECT_TRUE(trace.completeness.complete);
  EXPECT_EQ(trace.facts.at("records not read, by CUPTI kind"), "-1, 54, 9999");
}

TEST(CuptiCaptureTest, NoKernelAtAllIsIncomplete) {
  FakeCupti fake;
  const auto trace = captured();
  EXPECT_FALSE(trace.completeness.complete);
  EXPECT_TRUE(mentions(trace, "no kernel was recorded"));
}

TEST(CuptiCaptureTest, ALaunchWithoutKernelAndAKernelWithoutLaunchAreTold) {
  FakeCupti fake;
  fake.launch(1, 1100), fake.launch(2, 1110), fake.kernel(1, 1200, 1300), fake.kernel(3, 1300, 1400);
  const auto trace = captured();
  EXPECT_TRUE(mentions(trace, "1 of 2 launches have no kernel record"));
  EXPECT_TRUE(mentions(trace, "1 kernels have no launch record"));
}

TEST(CuptiCaptureTest, AFailedLaunchOwesNoKernel) {
  FakeCupti fake;
  fake.launch(1, 1100), fake.kernel(1, 1200, 1300), fake.launch(2, 1110, 1, true);
  EXPECT_TRUE(captured().completeness.complete);
}

TEST(CuptiCaptureTest, OneGraphLaunchHasManyKernels) {
  FakeCupti fake;
  fake.launch(1, 1100, 1, false, "cudaGraphLaunch_v10000");
  for (std::uint64_t node = 0; node < 3; ++node) fake.graph_kernel(1, 1200 + 20 * node, 70 + node);
  const auto trace = captured();
  EXPECT_TRUE(trace.completeness.complete);
  EXPECT_EQ(trace.completeness.launches, 1u);
  EXPECT_EQ(trace.completeness.kernels, 3u);
  EXPECT_NE(trace.names[trace.slices.detail(1)].find("\"graph node id\":70"), std::string_view::npos);
}

TEST(CuptiCaptureTest, TimesThatMakeNoSenseAreTold) {
  FakeCupti fake;
  fake.launch(1, 1100), fake.kernel(1, 1300, 1200), fake.launch(2, 1110), fake.kernel(2, 0, 0);
  const auto trace = captured();
  EXPECT_TRUE(mentions(trace, "2 records have no usable times"));
  for (std::size_t i = 0; i < trace.slices.size(); ++i) EXPECT_GE(trace.slices.duration(i), 0);
}

TEST(CuptiCaptureTest, ABufferThatEndsBadlyIsTold) {
  FakeCupti fake;
  fake.launch(1, 1100), fake.kernel(1, 1200, 1300);
  fake.record_fails = CUPTI_ERROR_INVALID_KIND;
  const auto trace = captured();
  EXPECT_EQ(trace.slices.size(), 2u);
  EXPECT_TRUE(mentions(trace, "could not be read to its end"));
}

TEST(CuptiCaptureTest, AFailedFlushIsTold) {
  FakeCupti fake;
  fake.launch(1, 1100), fake.kernel(1, 1200, 1300);
  fake.flush_fails = CUPTI_ERROR_UNKNOWN;
  EXPECT_TRUE(mentions(captured(), "last records may be missing"));
}

TEST(CuptiCaptureTest, ASentinelMustBeSeen) {
  auto settings = small();
  settings.sentinel_name = "widebench_sentinel";
  {
    FakeCupti fake;
    settings.sentinel = [&] { fake.launch(1, 1100), fake.kernel(1, 1200, 1300, "widebench_sentinel"); };
    EXPECT_TRUE(captured(settings).completeness.complete);
  }
  FakeCupti fake;
  settings.sentinel = [&] { fake.launch(1, 1100), fake.kernel(1, 1200, 1300, "another"); };
  EXPECT_TRUE(mentions(captured(settings), "launched to test the capture"));
}

TEST(CuptiCaptureTest, RangesAreAnnotations) {
  FakeCupti fake;
  fake.range(3, 1100, 1400, "forward"), fake.launch(1, 1110), fake.kernel(1, 1200, 1300);
  const auto trace = captured();
  ASSERT_EQ(count(trace, Kind::kAnnotation), 1u);
  EXPECT_EQ(trace.names[trace.slices.name(0)], "forward");
  EXPECT_EQ(trace.slices.duration(0), 300);
}

TEST(CuptiCaptureTest, NoisyCallsAreSwitchedOffAndCallbacksRegisteredOnce) {
  FakeCupti first;
  captured();
  EXPECT_EQ(first.quietened, std::vector<std::string>{"cudaGetDevice_v3020"});
  FakeCupti second;
  captured();
  EXPECT_EQ(second.registrations, 0);
}

TEST(CuptiCaptureTest, AKindThatIsMissingMakesItIncomplete) {
  FakeCupti fake;
  fake.enable_fails[CUPTI_ACTIVITY_KIND_MEMSET] = CUPTI_ERROR_NOT_SUPPORTED;
  fake.launch(1, 1100), fake.kernel(1, 1200, 1300);
  const auto trace = captured();
  EXPECT_TRUE(mentions(trace, "a kind of record is missing"));
  EXPECT_TRUE(fake.enabled.empty());  // all that was switched on is off again
}

// See Note [One clock].
TEST(CuptiCaptureTest, IsGivenTheHostsClockAndThreads) {
  FakeCupti fake;
  fake.takes_clock = true;
  fake.thread_ids = CUPTI_ACTIVITY_THREAD_ID_TYPE_DEFAULT;
  auto settings = small();
  settings.now = profiler::now;
  ActivityCapture capture(FakeCupti::api(), settings);
  const auto origin = profiler::now();
  ASSERT_EQ(capture.start(origin), "");
  ASSERT_NE(fake.clock, nullptr);
  EXPECT_EQ(fake.thread_ids, CUPTI_ACTIVITY_THREAD_ID_TYPE_SYSTEM);
  const auto time = fake.clock();
  fake.launch(1, time), fake.kernel(1, time + 10, time + 20);
  capture.stop();
  auto trace = new_trace();
  capture.add_to(trace);
  EXPECT_TRUE(trace.completeness.complete);
  EXPECT_NEAR(static_cast<double>(trace.slices.start(0)),
              static_cast<double>(static_cast<std::int64_t>(time) - origin), 50'000);
}

TEST(CuptiCaptureTest, ClocksThatRunApartAreTold) {
  FakeCupti fake;
  ActivityCapture capture(FakeCupti::api(), small());
  ASSERT_EQ(capture.start(0), "");
  fake.launch(1, 1100), fake.kernel(1, 1200, 1300);
  fake.time += 1'000'000;  // the host's stands still
  capture.stop();
  auto trace = new_trace();
  capture.add_to(trace);
  EXPECT_TRUE(mentions(trace, "clock and the host's ran apart by 1000 us"));
}

TEST(CuptiCaptureTest, OneCaptureAtATime) {
  FakeCupti fake;
  ActivityCapture first(FakeCupti::api(), small());
  ASSERT_EQ(first.start(0), "");
  {
    ActivityCapture second(FakeCupti::api(), small());
    EXPECT_NE(second.start(0).find("another capture"), std::string::npos);
  }
  first.stop();
  EXPECT_FALSE(captured().completeness.complete);  // it starts; there is nothing to record
}

TEST(CuptiCaptureTest, AnAbandonedCaptureSwitchesEverythingOff) {
  FakeCupti fake;
  {
    ActivityCapture capture(FakeCupti::api(), small());
    ASSERT_EQ(capture.start(0), "");
    EXPECT_EQ(fake.enabled.size(), 9u);
  }
  EXPECT_TRUE(fake.enabled.empty());
}

// Row 18 of the promises: each reason has a text and a remedy of its own, and leaves nothing switched on.
TEST(CuptiRefusalTest, EveryReasonHasItsOwnTextAndRemedy) {
  std::set<std::string> reasons;
  const std::array codes = {CUPTI_ERROR_NOT_INITIALIZED,
                            CUPTI_ERROR_INSUFFICIENT_PRIVILEGES,
                            CUPTI_ERROR_MULTIPLE_SUBSCRIBERS_NOT_SUPPORTED,
                            CUPTI_ERROR_OLD_PROFILER_API_INITIALIZED,
                            CUPTI_ERROR_NOT_SUPPORTED,
                            CUPTI_ERROR_VIRTUALIZED_DEVICE_NOT_SUPPORTED,
                            CUPTI_ERROR_VIRTUALIZED_DEVICE_INSUFFICIENT_PRIVILEGES,
                            CUPTI_ERROR_CONFIDENTIAL_COMPUTING_NOT_SUPPORTED,
                            CUPTI_ERROR_MIG_DEVICE_NOT_SUPPORTED,
                            CUPTI_ERROR_WSL_DEVICE_NOT_SUPPORTED,
                            CUPTI_ERROR_OUT_OF_MEMORY,
                            CUPTI_ERROR_HARDWARE_BUSY,
                            CUPTI_ERROR_UNKNOWN};
  for (const auto code : codes) {
    FakeCupti fake;
    fake.enable_fails[CUPTI_ACTIVITY_KIND_RUNTIME] = code;
    ActivityCapture capture(FakeCupti::api(), small());
    const auto refusal = capture.start(0);
    ASSERT_NE(refusal, "") << code;
    reasons.insert(refusal.substr(0, refusal.find(" (")));
    EXPECT_NE(refusal.find(", " + std::to_string(static_cast<int>(code)) + "); "), std::string::npos);
    EXPECT_FALSE(refusal.ends_with("; "));
    EXPECT_TRUE(fake.enabled.empty());
  }
  EXPECT_EQ(reasons.size(), codes.size());
}

TEST(CuptiRefusalTest, AnotherProfilerIsFound) {
  FakeCupti fake;
  EXPECT_FALSE(other_subscriber(FakeCupti::api()));
  fake.subscribe_fails = CUPTI_ERROR_MULTIPLE_SUBSCRIBERS_NOT_SUPPORTED;
  const auto refusal = other_subscriber(FakeCupti::api());
  ASSERT_TRUE(refusal);
  EXPECT_NE(refusal->text().find("another profiler"), std::string::npos);
}

}  // namespace
}  // namespace wide::cuda
