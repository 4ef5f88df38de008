#include "core/stopwatch.h"

#include <algorithm>
#include <chrono>
#include <exception>
#include <limits>

namespace wide {
namespace {

using Clock = std::chrono::steady_clock;

double nanoseconds(Clock::duration duration) {
  return std::chrono::duration<double, std::nano>(duration).count();
}

double time_of(const std::function<void()>& function, int repeats) {
  const auto start = Clock::now();
  for (int i = 0; i < repeats; ++i) function();
  return nanoseconds(Clock::now() - start) / repeats;
}

// Other work on the machine only ever adds time: the lower quartile is steadier than the median, and unlike
// the least it does not rest on one lucky sample.
double lower_quartile(std::vector<double> samples) {
  if (samples.empty()) return std::numeric_limits<double>::infinity();
  const auto place = samples.begin() + static_cast<std::ptrdiff_t>(samples.size() / 4);
  std::nth_element(samples.begin(), place, samples.end());
  return *place;
}

struct Runner {
  const std::function<void()>* function;
  int repeats = 1;
  double spent = 0;
  std::vector<double> samples;
  bool failed = false;

  // The first call pays for what is made once; the second says how long a call takes.
  void warm_up(double sample_ns) {
    spent += time_of(*function, 1);
    const double once = time_of(*function, 1);
    spent += once;
    repeats = static_cast<int>(std::clamp(sample_ns / std::max(once, 1.0), 1.0, 1000.0));
  }
  void sample() {
    samples.push_back(time_of(*function, repeats));
    spent += samples.back() * repeats;
  }
  double time() const { return failed ? std::numeric_limits<double>::infinity() : lower_quartile(samples); }
};

double least_of(const std::vector<Runner>& runners) {
  double least = std::numeric_limits<double>::infinity();
  for (const auto& runner : runners) least = std::min(least, runner.time());
  return least;
}

template <typename Body>
void guarded(Runner& runner, const Body& body) {
  if (runner.failed) return;
  try {
    body();
  } catch (const std::exception&) {
    runner.failed = true;
  }
}

}  // namespace

std::vector<double> time_in_turns(std::span<const std::function<void()>> functions,
                                  const StopwatchOptions& options) {
  std::vector<Runner> runners;
  for (const auto& function : functions) runners.push_back({&function, 1, 0, {}, false});
  for (auto& runner : runners) guarded(runner, [&] { runner.warm_up(options.sample_us * 1e3); });
  double limit = std::numeric_limits<double>::infinity();
  for (int round = 0; round < options.rounds; ++round) {
    if (round >= options.least_rounds) limit = options.hopeless * least_of(runners);
    for (auto& runner : runners) {
      const bool enough = runner.spent > options.seconds_each * 1e9 || runner.time() > limit;
      if (round >= options.least_rounds && enough) continue;
      guarded(runner, [&] { runner.sample(); });
    }
  }
  std::vector<double> times;
  for (const auto& runner : runners) times.push_back(runner.time());
  return times;
}

}  // namespace wide
