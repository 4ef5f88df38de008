#pragma once
// The gate as a form: what a sweep is held against and how strictly; and what the gate said in the end.

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace wide::gui {

struct GateForm {
  std::string baseline;            ///< run, baseline or report file; empty: there is no gate
  double effect_percent = 5;       ///< smaller slow-downs do not count
  double minimum_us = 0;           ///< nor do those of fewer microseconds
  int repeats = 24;                ///< how often an alert is measured again at most
  bool fail_inconclusive = false;  ///< what is undecided fails, too
  bool across_machines = false;

  bool operator==(const GateForm&) const = default;
};

/// As options; none without a baseline.
std::vector<std::string> arguments(const GateForm& form);
/// Why it cannot be; empty: it can.
std::string objection(const GateForm& form);

/// What the gate said of a run.
struct GateSaid {
  std::int64_t run = 0;
  std::string verdict;  ///< "passed", "regressed", "inconclusive", "wrong numbers"; empty: it said nothing
  std::string counts;   ///< "12 cases, 1 measured again, 1 slower, 0 missing, 0 undecided"
  std::vector<std::string> cases;  ///< "SLOWER     resblock/n=4", those that led to it
};
/// Out of the output of the program.
GateSaid read_gate(std::string_view output);

}  // namespace wide::gui
