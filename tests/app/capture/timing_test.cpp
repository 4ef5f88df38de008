// Capturing costs no timing: a process that captured before is as fast as one that did not.
#include <gtest/gtest.h>

#include <algorithm>
#include <limits>
#include <memory>
#include <string>
#include <vector>

#include "app/capture/peaks.h"
#include "app/peer_process.h"
#include "machine_speed.h"
#include "profiler/measure.h"
#include "profiler/statistics.h"
#include "profiler/trace/source.h"

namespace wide::app {
namespace {

profiler::Contender contender(const std::string& name, PeerProcess& peer) {
  return {name, {}, [&peer](std::int64_t runs) {
            return peer.ask({{"runs", runs}}).at("ns").get<std::int64_t>();
          }};
}

// Two processes of one program differ by a few percent (where their memory lies) whatever they did before, so
// that there are several of each kind, each with a heap of its own, measured in the same rounds. Both kinds
// must overlap. A function left behind on every operator would cost a tenth or more.
TEST(TimingTest, ACaptureBeforeCostsNoTiming) {
  constexpr int kEach = 4;
  std::vector<std::unique_ptr<PeerProcess>> peers;
  std::vector<profiler::Contender> contenders;
  for (int i = 0; i < 2 * kEach; ++i) {
    const std::string kind = i % 2 == 0 ? "plain" : "captured";
    peers.push_back(
        std::make_unique<PeerProcess>(std::vector<std::string>{TIMING_PEER, kind, std::to_string(i)}));
    contenders.push_back(contender(kind + " " + std::to_string(i / 2), *peers.back()));
  }
  const profiler::StoppingRule rule{
      .min_rounds = 30, .max_rounds = 60, .max_seconds = 10, .relative_width = 0.01, .warmup_seconds = 0.2};
  profiler::SteadyClock clock;
  const auto measured = profiler::measure(contenders, rule, 5, clock, {});
  struct Range {
    double low = std::numeric_limits<double>::max(), high = 0;
    void take(double value) { low = std::min(low, value), high = std::max(high, value); }
  } plain, captured;  // times, in those of the first plain process
  const auto noise = profiler::noise_floor(measured);
  for (const double same : {1.0, noise.low, noise.high}) plain.take(same);
  for (int i = 1; i < 2 * kEach; ++i) {
    const auto ratio = profiler::speedup(measured, i);
    ASSERT_TRUE(ratio.known());
    (i % 2 == 0 ? plain : captured).take(ratio.value);
    RecordProperty(contenders[static_cast<std::size_t>(i)].name, std::to_string(ratio.value));
  }
  EXPECT_LT(captured.low, plain.high * (1 + profiler::kMinimumEffect)) << "a capture slows down what follows";
  EXPECT_GT(captured.high, plain.low * (1 - profiler::kMinimumEffect)) << "something else differs";
}

// Also where the processor, or the library of products, has no units for 16-bit types: a product of a size
// that takes float32 milliseconds takes those a second.
TEST(TimingTest, PeaksAreMeasuredInSeconds) {
  const test::Allowance allowance(2);
  const auto start = profiler::now();
  const auto peaks = measure_peaks({});
  const double seconds = static_cast<double>(profiler::now() - start) / 1e9;
  EXPECT_LT(seconds, 4 * allowance.now());
  for (const char* dtype : {"float32", "float64", "bfloat16", "float16"})
    EXPECT_GT(peaks.flops.at(dtype), 1e8) << dtype;
}

}  // namespace
}  // namespace wide::app
