#pragma once
// Measures several ways of doing the same work beside each other, in interleaved rounds. See Note [Rounds].

#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "profiler/clock.h"

namespace wide::profiler {

/// One way of doing the work: exactly one of `run` and `run_elsewhere` is set.
struct Contender {
  std::string name;           ///< "wide", "eager", "threads", …
  std::function<void()> run;  ///< does the whole work once and returns when it is finished
  /// Does the work so many times in another process and returns the nanoseconds they took there, all
  /// together: the way there and back is not part of the work. See Note [Other processes].
  std::function<std::int64_t(std::int64_t runs)> run_elsewhere = {};
  /// Gives the next `run`s something new to work on, while the clock stands: told how many are wanted,
  /// answers for how many of these it has (1 at least), and is asked again before the others. May be empty.
  std::function<std::int64_t(std::int64_t runs)> prepare = {};
  /// Called while the clock stands, after the runs that `prepare` answered for. May be empty.
  std::function<void()> finished = {};
};

/// When warm-up and rounds end. Every field has a cap or a floor, so a measurement always ends.
struct StoppingRule {
  int min_rounds = 12;           ///< floor before precision may stop; raised to a whole balanced block
  int max_rounds = 200;          ///< raised to a whole balanced block
  double max_seconds = 5.0;      ///< wall clock of the rounds; one balanced block is always finished
  double relative_width = 0.05;  ///< precise enough: (high - low) / value of every wide-against-rival ratio
  double min_sample_us = 200.0;  ///< a sample batches so many iterations that it lasts at least this long
  double warmup_seconds = 1.0;   ///< cap of one contender's warm-up
};

enum class StopReason : std::uint8_t { kPrecision, kRounds, kTime, kCancelled };

/// "precision", "rounds", "time" or "cancelled".
std::string_view name(StopReason reason);

/// One timed batch.
struct Sample {
  int contender = 0;            ///< index into Measurement::contenders
  int round = 0;                ///< from 0
  int position = 0;             ///< place within the round; 0 led it
  std::int64_t iterations = 1;  ///< runs in the batch
  double microseconds = 0;      ///< of one run: batch time / iterations

  bool operator==(const Sample&) const = default;
};

/// What happened before the first round.
struct Warmup {
  double first_run_us = 0;      ///< the very first run, apart from the rest
  std::int64_t iterations = 0;  ///< runs, the first one included
  double seconds = 0;
  bool steady = false;     ///< false: the cap ended it, time was still drifting
  std::int64_t batch = 1;  ///< iterations per sample from here on
};

/// Everything that was seen, in order.
struct Measurement {
  std::vector<std::string> contenders;  ///< those given, then the A/A twin of contender 0 ("NAME'")
  std::vector<Warmup> warmup;           ///< one per contender; the twin's repeats contender 0's
  std::vector<Sample> samples;          ///< in the order they were taken; a cancelled round may be partial
  int rounds = 0;                       ///< complete rounds
  StopReason stop_reason = StopReason::kRounds;
  double seconds = 0;  ///< wall clock of warm-up and rounds
  std::uint64_t seed = 0;

  /// Index of the A/A twin.
  int twin() const { return static_cast<int>(contenders.size()) - 1; }
};

/// Measures `contenders`, of which the first is the one under test ("wide") and the rest are its rivals. An
/// A/A twin of the first takes part in every round. `cancelled` (may be empty) is asked between any two runs
/// of a batch's worth of work; `after_round` (may be empty) is called between rounds. Exceptions of a
/// contender pass through. Throws wide::Error when there is no contender.
Measurement measure(std::span<const Contender> contenders, const StoppingRule& rule, std::uint64_t seed,
                    Clock& clock, const std::function<bool()>& cancelled,
                    const std::function<void()>& after_round = {});

/// The order of contenders in `rounds` rounds: [round][position] -> contender. Every block of `count` rounds
/// is a Latin square, drawn at random from `seed`: each contender holds each position (hence the lead) once.
std::vector<std::vector<int>> balanced_orders(int count, int rounds, std::uint64_t seed);

}  // namespace wide::profiler
