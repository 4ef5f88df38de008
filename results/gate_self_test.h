#pragma once
// How much the gate can be trusted: slow-downs planted on purpose, false alarms counted.

#include <functional>
#include <vector>

#include "results/baseline.h"
#include "results/gate.h"

namespace wide::results {

struct SelfTestOptions {
  std::function<bool()> stopped = {};  ///< asked before each trial; those that are done are counted
  int trials = 40;
  int cases = 24;         ///< in a simulated trial; every third is slowed down
  int baseline_runs = 4;  ///< that make the baseline, before unsteady cases are measured again
  BaselineOptions baseline;
  std::uint64_t seed = 1;
  GateOptions gate;
  double process_spread = 0.02;  ///< simulated: standard deviation of log time between processes
  double round_spread = 0.04;    ///< simulated: and between samples
};

struct Detection {
  double slow_down = 0;  ///< 0.1: wide takes 10 % longer; 0: nothing was changed
  int cases = 0;
  int found = 0;  ///< that the gate called slower
  Interval rate;  ///< found / cases, with Wilson's 95 % interval
};

/// False alarms first, then every planted slow-down.
using SelfTestResult = std::vector<Detection>;

/// On a machine that exists in numbers only: the program's own measuring loop on a clock with noise, drift,
/// spikes and processes of different luck.
SelfTestResult simulated_self_test(const SelfTestOptions& options);

/// Runs that one trial uses up at most: the baseline's, the run, the repeats.
int runs_of_a_trial(const SelfTestOptions& options);
/// Runs that are enough to draw trials from, with replacement.
constexpr int kRunsToDrawFrom = 13;

/// On real runs of the same cases. For every trial it is drawn anew which are the baseline, the run and the
/// repeats: each run at most once where there are runs_of_a_trial() of them, else with replacement from at
/// least kRunsToDrawFrom. Throws wide::Error{"gate", …} for fewer.
SelfTestResult replayed_self_test(const std::vector<Imported>& runs, const SelfTestOptions& options);

/// Whether false alarms are at most 1 %.
bool false_alarms_are_rare(const SelfTestResult& result);
/// Whether that is so, and a slow-down of 10 % is found in at least 95 %.
bool trustworthy(const SelfTestResult& result);

nlohmann::json to_json(const SelfTestResult& result);
std::string text(const SelfTestResult& result);

/// The case as it would be if wide took `factor` times as long: exact, since every interval scales.
CaseRecord slowed(CaseRecord record, double factor);

}  // namespace wide::results
