// Capturing costs no timing: a process that captured before is as fast as one that did not.
#include <gtest/gtest.h>

#include <algorithm>

#include "app/peer_process.h"
#include "profiler/measure.h"
#include "profiler/statistics.h"

namespace wide::app {
namespace {

profiler::Contender contender(const std::string& name, PeerProcess& peer) {
  return {name, {}, [&peer](std::int64_t runs) {
            return peer.ask({{"runs", runs}}).at("ns").get<std::int64_t>();
          }};
}

// How far from 1 the A/A twin is, and the interval of plain over captured.
TEST(TimingTest, ACaptureBeforeCostsNoTiming) {
  PeerProcess plain({TIMING_PEER, "plain"}), captured({TIMING_PEER, "captured"});
  const std::vector contenders = {contender("captured", captured), contender("plain", plain)};
  const profiler::StoppingRule rule{
      .min_rounds = 40, .max_rounds = 120, .max_seconds = 3, .relative_width = 0.01, .warmup_seconds = 0.2};
  profiler::SteadyClock clock;
  const auto measured = profiler::measure(contenders, rule, 5, clock, {});
  const auto ratio = profiler::speedup(measured, 1);
  const auto noise = profiler::noise_floor(measured);
  ASSERT_TRUE(ratio.known());
  // A function left behind on every operator would cost a tenth or more; two processes of one program differ
  // by a few percent (where their memory lies) whatever they did before.
  constexpr double kTwoProcesses = 0.05;
  const double allowed = kTwoProcesses + std::max(std::abs(noise.low - 1), std::abs(noise.high - 1));
  EXPECT_GT(ratio.high, 1 - allowed) << "a captured process takes " << 1 / ratio.value << " times as long";
  RecordProperty("plain over captured", std::to_string(ratio.value));
  RecordProperty("noise", std::to_string(noise.low) + " to " + std::to_string(noise.high));
}

}  // namespace
}  // namespace wide::app
