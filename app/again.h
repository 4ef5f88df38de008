#pragma once
// Measuring the cases of a stored run once more: for the gate, for comparing in turns, for reproducing.

#include <functional>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "app/engine.h"
#include "presets/sweep.h"
#include "results/compare.h"

namespace wide::app {

/// The specs that the run was measured by. Throws wide::Error when its settings do not hold them, or when an
/// imported run names files: a report is a claim, and no path is taken from it.
std::vector<presets::CaseSpec> specs_of(const results::RunRecord& run);

/// Why this machine cannot resume the run: it is done, imported, of another machine, or one of
/// measurements of alerts. Empty: it can.
std::string cannot_go_on(const results::RunRecord& run, const profiler::Facts& machine);

/// Those with one of these keys.
std::vector<presets::CaseSpec> with_keys(std::vector<presets::CaseSpec> specs,
                                         const std::set<std::string>& keys);

/// One program that measures.
struct Measurer {
  presets::SweepOptions options;
  std::string program;            ///< whose worker measures; empty: this program's own
  std::function<void()> waiting;  ///< called about ten times a second; may be empty
  std::function<void(const presets::CaseSpec&)> starting;  ///< may be empty
};

/// Measures every spec once, each in a new worker; nothing is stored. `run` gives the record its facts.
/// Nothing when it was stopped.
std::optional<results::Imported> measure_once(const std::vector<presets::CaseSpec>& specs,
                                              const results::RunRecord& run, const Measurer& measurer);

/// Two sides measured in turns (A B, B A, A B, …), `repeats` times each.
struct Turns {
  results::Side first, second;
};
std::optional<Turns> measure_in_turns(const results::Imported& first, const Measurer& first_measurer,
                                      const results::Imported& second, const Measurer& second_measurer,
                                      const std::vector<presets::CaseSpec>& first_specs,
                                      const std::vector<presets::CaseSpec>& second_specs, int repeats);

}  // namespace wide::app
