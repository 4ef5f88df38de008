#pragma once
// Measures candidates where estimates leave more than one that may be best.

#include <chrono>
#include <cstdint>
#include <functional>
#include <limits>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <unordered_map>
#include <vector>

#include "core/aten/device.h"
#include "core/plan/costs.h"
#include "core/tune/cost_book.h"
#include "processes/load.h"

namespace wide {

/// How much AUTO may measure.
enum class Tuning : std::uint8_t {
  kEstimate,  ///< nothing: estimates only
  kCached,    ///< what the cost book knows; a node that it does not know whole is estimated
  kMeasure,   ///< what the cost book does not know from a quiet machine
  kAnew,      ///< all, whatever the cost book knows
};

struct TunerOptions {
  Tuning tuning = Tuning::kEstimate;
  double seconds = 20;  ///< beyond it nothing more is measured; the rest is estimated
  /// Told what is being measured, for a progress bar. May be empty.
  std::function<void(const std::string& what)> progress = {};
  /// Bytes that two packed copies of a node's weights may take; where they are more, its candidates are timed
  /// one after the other, which says less of those that are near each other.
  std::int64_t memory = std::numeric_limits<std::int64_t>::max();
  /// Who else works on the machine; it is asked where none is given.
  std::shared_ptr<processes::LoadSource> load = nullptr;
};

/// Costs by the cost book and by measuring. Times are those of operators run alone on made-up operands of the
/// right shape, dtype and layout, with the number of threads that libtorch has at the time.
class Tuner : public Costs {
 public:
  /// Where the device records, the times are those of recorded operators.
  Tuner(CostBook& book, TunerOptions options, ComputeDevice device = {});

  /// Drops candidates that cannot be best by far, then replaces the costs of the others by measured ones. A
  /// candidate that fails becomes a refusal with its reason; where all fail, the made-up values may be at
  /// fault, and all keep their estimates.
  void settle(NodeCandidates& node, const std::vector<ValueState>& states) override;

  double conversion(const ConcreteType& type, Layout from, Layout to, std::int64_t members) override;

  /// Starts the clock of TunerOptions::seconds.
  void begin() { end_ = Clock::now() + std::chrono::duration_cast<Clock::duration>(limit()); }
  /// Nanoseconds: as this tuner timed it, or as the cost book knows it. What was timed beside other work is
  /// known only to those who may not measure, or would measure beside other work, too.
  std::optional<double> known(const std::string& key);
  /// For the cost book, which has it from keep() on.
  void learn(const std::string& key, double nanoseconds);
  /// Gives the cost book what was learnt since the last time, and says of it whether the machine was quiet.
  /// What was learnt in too short a time to tell stays for the next time, unless this is the last.
  void keep(bool is_last = false);
  /// Where it measures: why the times say little, what else worked on the machine when some of them were
  /// taken. Empty: nothing.
  const std::string& doubt() const { return doubt_; }
  /// Nothing else worked on the machine any more when the last times were taken, though it did before, and
  /// half of the seconds or more are left: forgets what was learnt, so that it is timed again.
  bool try_again();
  const TunerOptions& options() const { return options_; }
  /// What the costs are of.
  const ComputeDevice& device() const { return device_; }
  /// Operators measured so far; those found in the book are not counted.
  std::int64_t measured() const { return measured_; }

 private:
  using Clock = std::chrono::steady_clock;
  std::chrono::duration<double> limit() const { return std::chrono::duration<double>(options_.seconds); }
  bool may_measure() const {
    return options_.tuning >= Tuning::kMeasure && (end_ == Clock::time_point() || Clock::now() < end_);
  }
  bool recall(NodeCandidates& node, const std::vector<std::string>& keys);
  void measure(NodeCandidates& node, const std::vector<bool>& constant, const std::vector<std::string>& keys);
  std::function<void()> as_it_will_run(std::function<void()> call) const;
  int calls() const;  ///< of what as_it_will_run() gives

  CostBook& book_;
  TunerOptions options_;
  ComputeDevice device_;
  std::string where_;  ///< what times are kept by
  Clock::time_point end_ = {};
  std::int64_t measured_ = 0;
  std::unordered_map<std::string, double> learnt_;
  std::set<std::string> to_keep_;                    ///< learnt since `since_`
  processes::LoadReading before_ = {}, since_ = {};  ///< at the last two calls of keep()
  int threads_ = 0;                                  ///< most that something was timed with since then
  std::string doubt_;
  bool quiet_at_last_ = true;
};

}  // namespace wide
