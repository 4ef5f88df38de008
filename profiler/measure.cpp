#include "profiler/measure.h"

#include <algorithm>
#include <cmath>
#include <deque>
#include <numeric>

#include "formats/error.h"
#include "profiler/random.h"
#include "profiler/statistics.h"

// Note [Rounds]
// Machines drift: clocks rise and fall, neighbours come and go. Times taken one contender after the other
// compare two different machines. So a round runs every contender once, and a speed-up is the median over
// rounds of the ratio within the round, in which drift slower than a round cancels. Who runs first, or after
// whom, matters too (cold caches, a busy allocator), so orders are Latin squares of Williams' kind: over a
// block everyone holds every place once, and, over one block (even count) or two (odd), follows everyone else
// equally often. Rows and names are drawn at random.

// Note [Other processes]
// A contender in another process tells how long its runs took by its own clock. It takes its turns in the
// same rounds, so that drift cancels as among the others. Threads of an OpenMP pool spin on for some
// milliseconds after their last work and would take cores from the other process, so there is a pause when
// the turn passes from one process to another, and a run that is not timed, for the threads that slept
// meanwhile.
//
// Note [Hot]
// Between two turns of a contender the others run, and drive its weights and results from the cache; not all
// alike: those that share weights, or get the memory that another has just freed, find it warm. So every turn
// begins with a run that is not timed, as in the loop over requests that is to be told about. Where a run
// takes so long that filling a cache is a small part of it, that is left out.

namespace wide::profiler {
namespace {

constexpr std::int64_t kMaxBatch = 100'000;
constexpr int kWindowRuns = 3;                    // a warm-up window has at least so many runs …
constexpr std::int64_t kWindowNs = 5'000'000;     // … and lasts at least so long
constexpr std::int64_t kMaxWarmupRuns = 200'000;  // ends a warm-up whose runs take no time
constexpr double kSteadySpread = 0.10;            // of the last three windows
constexpr double kSteadyTrend = 0.97;             // the newest window over the fastest of the two before
constexpr double kSettleUs = 10'000;     // longer than libgomp's threads spin; see Note [Other processes]
constexpr double kLongUs = 20'000;       // a cache of 32 MB is filled in a twentieth of it; see Note [Hot]
constexpr double kRecheckGrowth = 1.15;  // rounds between two looks at precision: intervals cost time

double seconds_between(std::int64_t from, std::int64_t to) {
  return static_cast<double>(to - from) * 1e-9;
}

bool is_steady(const std::deque<double>& windows) {
  if (windows.size() < 3) return false;
  const auto [low, high] = std::minmax_element(windows.begin(), windows.end());
  return *high <= *low * (1 + kSteadySpread) && windows[2] >= std::min(windows[0], windows[1]) * kSteadyTrend;
}

std::int64_t batch_for(double run_us, double min_sample_us) {
  if (!(run_us > 0)) return kMaxBatch;
  const double runs = std::ceil(min_sample_us / run_us);
  return static_cast<std::int64_t>(std::clamp(runs, 1.0, static_cast<double>(kMaxBatch)));
}

/// Nanoseconds of `runs` runs.
std::int64_t nanoseconds_of(const Contender& contender, std::int64_t runs, Clock& clock) {
  if (contender.run_elsewhere) return contender.run_elsewhere(runs);
  std::int64_t total = 0;
  for (std::int64_t done = 0; done < runs;) {
    const auto left = runs - done;
    const auto ready = contender.prepare ? std::clamp<std::int64_t>(contender.prepare(left), 1, left) : left;
    const auto start = clock.nanoseconds();
    for (std::int64_t i = 0; i < ready; ++i) contender.run();
    total += clock.nanoseconds() - start;
    if (contender.finished) contender.finished();
    done += ready;
  }
  return total;
}

/// Runs until the medians of the last three windows agree and no longer fall, or a cap.
Warmup warm_up(const Contender& contender, const StoppingRule& rule, Clock& clock,
               const std::function<bool()>& cancelled) {
  Warmup result;
  std::deque<double> windows;
  std::vector<double> window;
  const auto start = clock.nanoseconds();
  auto window_start = start;
  double run_us = 0;
  while (!result.steady && !cancelled()) {
    const double us = static_cast<double>(nanoseconds_of(contender, 1, clock)) * 1e-3;
    const auto now = clock.nanoseconds();
    result.seconds = seconds_between(start, now);
    if (result.iterations++ == 0) {
      run_us = result.first_run_us = us;
      window_start = now;
    } else {
      window.push_back(us);
    }
    if (static_cast<int>(window.size()) >= kWindowRuns && now - window_start >= kWindowNs) {
      windows.push_back(median(window));
      if (windows.size() > 3) windows.pop_front();
      run_us = windows.back();
      window.clear();
      window_start = now;
      result.steady = is_steady(windows);
    }
    if (result.seconds >= rule.warmup_seconds || result.iterations >= kMaxWarmupRuns) break;
  }
  if (!window.empty() && windows.empty()) run_us = median(window);
  result.batch = batch_for(run_us, rule.min_sample_us);
  return result;
}

Sample take_sample(const Contender& contender, std::int64_t iterations, Clock& clock) {
  Sample sample;
  sample.iterations = iterations;
  sample.microseconds = static_cast<double>(nanoseconds_of(contender, iterations, clock)) * 1e-3 /
                        static_cast<double>(iterations);
  return sample;
}

/// Precise: every wide-against-rival interval is narrow; without rivals, the noise floor's.
bool is_precise(const Measurement& measurement, double relative_width) {
  const int first = measurement.twin() > 1 ? 1 : measurement.twin();
  const int last = measurement.twin() > 1 ? measurement.twin() - 1 : measurement.twin();
  for (int rival = first; rival <= last; ++rival) {
    const Interval ratio = speedup(measurement, rival);
    if (!ratio.known() || !(ratio.relative_width() <= relative_width)) return false;
  }
  return true;
}

/// Rows of a Latin square; `mirrored` ones run backwards. See Note [Rounds].
std::vector<std::vector<int>> williams_square(int count, bool mirrored) {
  std::vector<std::vector<int>> rows(count, std::vector<int>(count));
  for (int row = 0; row < count; ++row) {
    for (int place = 0; place < count; ++place) {
      const int first = place % 2 == 1 ? (place + 1) / 2 : count - place / 2;  // 0, 1, count-1, 2, count-2, …
      rows[row][mirrored ? count - 1 - place : place] = (first + row) % count;
    }
  }
  return rows;
}

constexpr int kFewestRounds = 3;  // an interval of a median needs as many

/// Runs rounds into `result` until the rule or the caller ends them.
StopReason run_rounds(std::span<const Contender> contenders, const StoppingRule& rule, Clock& clock,
                      const std::function<bool()>& cancelled, const std::function<void()>& after_round,
                      Measurement& result) {
  const int count = static_cast<int>(result.contenders.size());
  const auto whole_blocks = [&](int rounds) { return std::max(1, (rounds + count - 1) / count) * count; };
  const int min_rounds = whole_blocks(rule.min_rounds);
  const int max_rounds = std::max(min_rounds, whole_blocks(rule.max_rounds));
  const auto orders = balanced_orders(count, max_rounds, result.seed);
  const auto start = clock.nanoseconds();
  int next_check = min_rounds;
  bool elsewhere = static_cast<bool>(contenders.back().run_elsewhere);  // whoever was warmed up last
  std::vector<double> last_us(contenders.size());
  while (result.rounds < max_rounds) {
    for (int position = 0; position < count; ++position) {
      if (cancelled()) return StopReason::kCancelled;
      const int contender = orders[result.rounds][position];
      const int runs_as = contender == result.twin() ? 0 : contender;
      const bool changes = static_cast<bool>(contenders[runs_as].run_elsewhere) != elsewhere;
      if (changes) {
        elsewhere = !elsewhere;
        clock.pause(kSettleUs);
      }
      if (changes || last_us[runs_as] < kLongUs) nanoseconds_of(contenders[runs_as], 1, clock);
      Sample sample = take_sample(contenders[runs_as], result.warmup[runs_as].batch, clock);
      last_us[runs_as] = sample.microseconds;
      sample.contender = contender;
      sample.round = result.rounds;
      sample.position = position;
      result.samples.push_back(sample);
    }
    ++result.rounds;
    if (after_round) after_round();
    if (result.rounds >= next_check) {
      if (is_precise(result, rule.relative_width)) return StopReason::kPrecision;
      next_check = whole_blocks(static_cast<int>(std::ceil(result.rounds * kRecheckGrowth)));
    }
    // Each contender has led once, and a median has an interval: less would not be a measurement.
    const bool enough = result.rounds >= std::max(count, kFewestRounds);
    if (enough && seconds_between(start, clock.nanoseconds()) >= rule.max_seconds) return StopReason::kTime;
  }
  return StopReason::kRounds;
}

}  // namespace

std::string_view name(StopReason reason) {
  switch (reason) {
    case StopReason::kPrecision:
      return "precision";
    case StopReason::kRounds:
      return "rounds";
    case StopReason::kTime:
      return "time";
    case StopReason::kCancelled:
      return "cancelled";
  }
  return "";
}

std::vector<std::vector<int>> balanced_orders(int count, int rounds, std::uint64_t seed) {
  Random random(derive(seed, 0));
  std::vector<int> names(count);
  std::iota(names.begin(), names.end(), 0);
  std::vector<std::vector<int>> orders;
  for (int block = 0; static_cast<int>(orders.size()) < rounds; ++block) {
    const bool mirrored = block % 2 == 1;
    if (!mirrored) random.shuffle(std::span(names));  // a mirrored block repeats the names of the one before
    auto rows = williams_square(count, mirrored);
    random.shuffle(std::span(rows));
    for (auto& row : rows) {
      for (int& contender : row) contender = names[contender];
      if (static_cast<int>(orders.size()) < rounds) orders.push_back(std::move(row));
    }
  }
  return orders;
}

Measurement measure(std::span<const Contender> contenders, const StoppingRule& rule, std::uint64_t seed,
                    Clock& clock, const std::function<bool()>& cancelled,
                    const std::function<void()>& after_round) {
  if (contenders.empty()) throw Error("measure", "there is nothing to measure: give at least one contender");
  const std::function<bool()> stop = cancelled ? cancelled : [] { return false; };
  Measurement result;
  result.seed = seed;
  const auto start = clock.nanoseconds();
  for (const Contender& contender : contenders) {
    result.contenders.push_back(contender.name);
    result.warmup.push_back(warm_up(contender, rule, clock, stop));
  }
  result.contenders.push_back(contenders[0].name + "'");
  result.warmup.push_back(result.warmup[0]);
  result.stop_reason = run_rounds(contenders, rule, clock, stop, after_round, result);
  result.seconds = seconds_between(start, clock.nanoseconds());
  return result;
}

}  // namespace wide::profiler
