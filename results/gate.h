#pragma once
// The gate: may this run replace the baseline? An alert is measured again before it counts. See Note [Gate].

#include <functional>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "results/compare.h"

namespace wide::results {

struct GateOptions {
  CompareOptions compare;
  int repeats = 24;                ///< most fresh measurements of an alert, each by a process of its own
  bool fail_inconclusive = false;  ///< what could not be decided fails, too
};

/// What was measured again.
struct Fresh {
  Imported run;
  std::optional<Imported> baseline;  ///< by the baseline's own program, in turns with the run
};

/// Measures the cases with these keys once more; `repeat` counts from 0. Nothing: stopped, the gate gives up.
using MeasureAgain = std::function<std::optional<Fresh>(const std::set<std::string>& keys, int repeat)>;

enum class GateVerdict : std::uint8_t { kPassed, kRegressed, kInconclusive, kStopped, kWrongNumbers };

/// "passed", "regressed", "inconclusive", "stopped" or "wrong numbers".
std::string_view name(GateVerdict verdict);

struct GateOutcome {
  GateVerdict verdict = GateVerdict::kPassed;
  Comparison first_look;  ///< the baseline and the run as it was measured
  /// The baseline and the fresh measurements, each case when it was decided; those that proved fine on the
  /// way are left out.
  Comparison second_look;
  std::set<std::string> alerts;      ///< keys measured again
  std::vector<std::string> slower;   ///< keys of confirmed regressions
  std::vector<std::string> missing;  ///< keys the baseline passed and the run has not, or skipped
  std::vector<std::string> open;     ///< keys that could not be decided
  std::set<std::string> wrong;       ///< keys that computed wrong numbers, in the run or measured again
  std::set<std::string> broken;  ///< keys that ended in error, oom or timeout when they were measured again
};

/// The first case that computed wrong numbers, or nullptr.
const CaseRecord* wrong_case(const std::vector<CaseRecord>& cases);

/// A case of a run passed.
bool any_passed(const Side& side);

/// Throws wide::Error{"gate", …} when a run of the baseline computed wrong numbers, naming the case, or when
/// none of its cases passed: there is nothing to hold another against.
void require_usable(const Side& baseline);

/// Decides. `again` may be empty: then alerts stay undecided. Nothing is measured again once a case computed
/// wrong numbers. Throws wide::Error{"gate", …} when the machines differ (and options do not allow it), no
/// case is in both, or as require_usable() does.
GateOutcome gate(const Side& baseline, const Side& run, const GateOptions& options,
                 const MeasureAgain& again);

nlohmann::json to_json(const GateOutcome& outcome);
std::string text(const GateOutcome& outcome);
/// For a pull request: the verdict first, then what led to it.
std::string markdown(const GateOutcome& outcome);

}  // namespace wide::results
