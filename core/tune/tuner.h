#pragma once
// Measures candidates where estimates leave more than one that may be best.

#include <chrono>
#include <cstdint>
#include <functional>
#include <limits>
#include <string>
#include <vector>

#include "core/aten/device.h"
#include "core/plan/costs.h"
#include "core/tune/cost_book.h"

namespace wide {

/// How much AUTO may measure.
enum class Tuning : std::uint8_t {
  kEstimate,  ///< nothing: estimates only
  kCached,    ///< what the cost book knows; a node that it does not know whole is estimated
  kMeasure,   ///< what the cost book does not know
};

struct TunerOptions {
  Tuning tuning = Tuning::kEstimate;
  double seconds = 20;  ///< beyond it nothing more is measured; the rest is estimated
  /// Told what is being measured, for a progress bar. May be empty.
  std::function<void(const std::string& what)> progress = {};
  /// Bytes that two packed copies of a node's weights may take; where they are more, its candidates are timed
  /// one after the other, which says less of those that are near each other.
  std::int64_t memory = std::numeric_limits<std::int64_t>::max();
};

/// Costs by the cost book and by measuring. Times are those of operators run alone on made-up operands of the
/// right shape, dtype and layout, with the number of threads that libtorch has at the time.
class Tuner : public Costs {
 public:
  /// Where the device records, the times are those of recorded operators.
  Tuner(CostBook& book, TunerOptions options, ComputeDevice device = {})
      : book_(book),
        options_(std::move(options)),
        device_(std::move(device)),
        where_(device_.record ? device_.name + ", recorded" : device_.name) {}

  /// Drops candidates that cannot be best by far, then replaces the costs of the others by measured ones. A
  /// candidate that fails becomes a refusal with its reason; where all fail, the made-up values may be at
  /// fault, and all keep their estimates.
  void settle(NodeCandidates& node, const std::vector<ValueState>& states) override;

  double conversion(const ConcreteType& type, Layout from, Layout to, std::int64_t members) override;

  /// Starts the clock of TunerOptions::seconds.
  void begin() { end_ = Clock::now() + std::chrono::duration_cast<Clock::duration>(limit()); }
  CostBook& book() { return book_; }
  const TunerOptions& options() const { return options_; }
  /// What the costs are of.
  const ComputeDevice& device() const { return device_; }
  /// Operators measured so far; those found in the book are not counted.
  std::int64_t measured() const { return measured_; }

 private:
  using Clock = std::chrono::steady_clock;
  std::chrono::duration<double> limit() const { return std::chrono::duration<double>(options_.seconds); }
  bool may_measure() const {
    return options_.tuning == Tuning::kMeasure && (end_ == Clock::time_point() || Clock::now() < end_);
  }
  bool recall(NodeCandidates& node, const std::vector<std::string>& keys) const;
  void measure(NodeCandidates& node, const std::vector<bool>& constant, const std::vector<std::string>& keys);
  std::function<void()> as_it_will_run(std::function<void()> call) const;
  int calls() const;  ///< of what as_it_will_run() gives

  CostBook& book_;
  TunerOptions options_;
  ComputeDevice device_;
  std::string where_;  ///< what times are kept by
  Clock::time_point end_ = {};
  std::int64_t measured_ = 0;
};

}  // namespace wide
