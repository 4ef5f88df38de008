#include "core/tune/stopwatch.h"

#include <algorithm>
#include <chrono>
#include <exception>
#include <limits>

#include "core/aten/device.h"

namespace wide {
namespace {

constexpr double kNever = std::numeric_limits<double>::infinity();
// Slower than any moment of the machine makes a function.
constexpr double kFarBehind = 2, kHopelessAtOnce = 3;
// Rounds of what takes long: other work hardly changes its time.
constexpr int kLeastOfLong = 3;

double steady_now() {
  return std::chrono::duration<double, std::nano>(std::chrono::steady_clock::now().time_since_epoch())
      .count();
}

double quantile(std::vector<double> samples, std::size_t numerator, std::size_t denominator) {
  if (samples.empty()) return kNever;
  const auto place = samples.begin() + static_cast<std::ptrdiff_t>(samples.size() * numerator / denominator);
  std::nth_element(samples.begin(), place, samples.end());
  return *place;
}

// Other work on the machine only ever adds time: the lower quartile is steadier than the median, and unlike
// the least it does not rest on one lucky sample.
double lower_quartile(std::vector<double> samples) {
  return quantile(std::move(samples), 1, 4);
}

struct Runner {
  const std::function<void()>* function;
  int repeats = 1;
  double spent = 0;
  std::vector<double> samples;  ///< one a round, from the first
  bool failed = false, dropped = false;
  double once = kNever;       ///< the second call, before all rounds
  double last_look = kNever;  ///< of one that was dropped, after all rounds

  double time() const { return failed ? kNever : std::min(lower_quartile(samples), last_look); }
};

// One sample of `one` over the sample of `other` in the same round, for all rounds that both ran in.
std::vector<double> ratios(const Runner& one, const Runner& other) {
  std::vector<double> all;
  for (std::size_t i = 0; i < std::min(one.samples.size(), other.samples.size()); ++i)
    all.push_back(one.samples[i] / other.samples[i]);
  return all;
}

class Race {
 public:
  Race(std::span<const std::function<void()>> functions, const StopwatchOptions& options)
      : options_(options), now_(options.now ? options.now : steady_now) {
    for (const auto& function : functions) runners_.push_back({&function});
  }

  std::vector<double> run() {
    for (auto& runner : runners_) guarded(runner, [&] { warm_up(runner); });
    drop_far_behind();
    const double settled = now_() + options_.patience * 1e9;
    for (int round = 0; round < options_.rounds || (is_open() && now_() < settled); ++round) {
      if (round >= std::min(options_.least_rounds, kLeastOfLong))
        drop(round < options_.least_rounds,
             now_() < settled ? std::max(kFarBehind, options_.hopeless) : options_.hopeless);
      for (auto& runner : runners_) {
        if (!runner.dropped) guarded(runner, [&] { sample(runner); });
      }
    }
    for (auto& runner : runners_) {
      if (runner.dropped && !is_spent(runner))
        guarded(runner, [&] { runner.last_look = time_of(runner, runner.repeats); });
    }
    return times();
  }

 private:
  template <typename Body>
  static void guarded(Runner& runner, const Body& body) {
    if (runner.failed) return;
    try {
      body();
    } catch (const std::exception&) {
      runner.failed = true;
    }
  }

  double time_of(const Runner& runner, int repeats) const {
    if (options_.before) options_.before();
    const double start = settled_now();
    for (int i = 0; i < repeats; ++i) (*runner.function)();
    return (settled_now() - start) / repeats;
  }

  double settled_now() const {
    synchronize(options_.device);
    return now_();
  }

  // The first call pays for what is made once; the second says how long a call takes.
  void warm_up(Runner& runner) const {
    const double first = time_of(runner, 1);
    runner.spent += first;
    if (first > options_.enough * 1e9) {
      runner.once = first, runner.dropped = true;
      return runner.samples.push_back(first);
    }
    const double once = time_of(runner, 1);
    runner.spent += once;
    runner.once = once;
    runner.repeats =
        static_cast<int>(std::clamp(options_.sample_us * 1e3 / std::max(once, 1.0), 1.0, 1000.0));
  }

  void sample(Runner& runner) const {
    runner.samples.push_back(time_of(runner, runner.repeats));
    runner.spent += runner.samples.back() * runner.repeats;
  }

  // The one that the others are compared with: the fastest by its own samples, then by the ratios to it.
  const Runner& best() const {
    const auto by_time = [](const Runner& a, const Runner& b) { return a.time() < b.time(); };
    const auto& first = *std::min_element(runners_.begin(), runners_.end(), by_time);
    const auto ratio = [&](const Runner& one) {
      return one.failed ? kNever : quantile(ratios(one, first), 1, 2);
    };
    return *std::min_element(runners_.begin(), runners_.end(),
                             [&](const Runner& a, const Runner& b) { return ratio(a) < ratio(b); });
  }

  bool is_spent(const Runner& runner) const { return runner.spent > options_.seconds_each * 1e9; }

  // Whether more than one is still running.
  bool is_open() const {
    return std::count_if(runners_.begin(), runners_.end(),
                         [](const Runner& runner) { return !runner.failed && !runner.dropped; }) > 1;
  }

  // A few calls of it take all the time there is.
  bool is_long(const Runner& runner) const {
    return !runner.samples.empty() && runner.samples[0] > options_.seconds_each * 1e9 / 6;
  }

  // What is long and takes a multiple of the best even in its first call needs no race.
  void drop_far_behind() {
    double least = kNever;
    for (const auto& runner : runners_)
      if (!runner.failed) least = std::min(least, runner.once);
    for (auto& runner : runners_) {
      if (runner.failed || runner.dropped || runner.once < kHopelessAtOnce * least ||
          runner.spent < options_.seconds_each * 1e9 / 3)
        continue;
      runner.dropped = true;
      runner.samples.push_back(runner.once);
    }
  }

  void drop(bool only_long, double hopeless) {
    const auto& fastest = best();
    for (auto& runner : runners_) {
      if (only_long && !is_long(runner)) continue;
      if (is_spent(runner)) runner.dropped = true;
      if (&runner != &fastest && lower_quartile(ratios(runner, fastest)) > hopeless) runner.dropped = true;
    }
  }

  std::vector<double> times() const {
    std::vector<double> times;
    if (runners_.empty()) return times;
    const auto& fastest = best();
    for (const auto& runner : runners_) {
      // The few rounds of one that was dropped were the first, in which the machine may have been in another
      // moment and the caches were everyone's, the fastest's too: neither its ratio nor its time then is what
      // the others have now, but its last look is.
      const bool ratio_holds = &runner != &fastest && !runner.dropped && !runner.failed;
      times.push_back(ratio_holds ? fastest.time() * quantile(ratios(runner, fastest), 1, 2) : runner.time());
    }
    return times;
  }

  const StopwatchOptions& options_;
  std::function<double()> now_;
  std::vector<Runner> runners_;
};

}  // namespace

std::vector<double> time_in_turns(std::span<const std::function<void()>> functions,
                                  const StopwatchOptions& options) {
  return Race(functions, options).run();
}

}  // namespace wide
