#pragma once
// Two sets of runs, case by case: is the second faster, slower, the same? See Note [Comparing runs].

#include <iosfwd>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "results/report.h"

namespace wide::results {

/// One side: a run, or several of equal settings (a baseline), and what the user called it.
struct Side {
  std::string name;
  std::vector<Imported> runs;  ///< at least one
};

enum class Change : std::uint8_t { kFaster, kSlower, kSame, kInconclusive, kNotComparable };

/// "faster", "slower", "same", "inconclusive" or "not comparable".
std::string_view name(Change change);

/// What all cases say of one: how far its runs are expected to differ (standard deviation of log cost), and
/// how many degrees of freedom that weighs against the case's own runs.
struct Prior {
  double spread = 0;
  double degrees = 0;
};

struct CompareOptions {
  double minimum_effect = 0.05;  ///< a smaller change is never called faster or slower
  double minimum_us = 0;         ///< one of fewer microseconds of wide's time is none
  double alpha = 0.05;           ///< chance of any false alarm among all cases together (Holm)
  bool across_machines = false;  ///< judge although machine, libraries or threads differ
  /// Spread of one run (standard deviation of log cost) where the runs at hand cannot show it; NaN: estimate.
  double known_spread = kUnknown;
  double least_spread = 0;     ///< and what it is not taken to be below
  std::optional<Prior> prior;  ///< for repeated runs; nothing: estimate
  int family = 0;              ///< Holm's correction counts at least so many cases: those of an earlier look
};

/// One case that both sides have.
struct CaseChange {
  std::string key, subject, device, dtype, mode, strategy;
  std::int64_t n = 0;
  Change change = Change::kInconclusive;
  std::vector<std::string> reasons;  ///< why not faster, slower or same; remarks on the others

  std::string reference;  ///< the rival that both were measured against; empty: wall-clock time alone
  Interval ratio;         ///< cost of the second over the first, above 1: slower. Spread of runs included
  double first_us = kUnknown;  ///< median time of wide, over the side's runs
  double second_us = kUnknown;
  double reference_ratio = kUnknown;  ///< the rival's own time, second over first: drift of the machine
  double standard_error = kUnknown;   ///< of log(ratio)
  double p = kUnknown;                ///< two-sided, of no change
  double adjusted_p = kUnknown;       ///< after Holm's correction over all cases
};

struct Missing {
  std::string key, subject;
  std::int64_t n = 0;
};

struct Comparison {
  std::string first, second;
  std::vector<std::string> barriers;  ///< machine, driver, library, threads: what forbids to compare
  std::vector<std::string> remarks;   ///< other differences worth knowing before any number
  std::vector<CaseChange> cases;      ///< in the first side's order
  std::vector<Missing> only_in_first, only_in_second;
  Interval geometric_mean;     ///< of the ratios of the cases that could be compared
  double spread = kUnknown;    ///< between runs of one case, standard deviation of log cost
  std::string spread_from;     ///< "repeated runs", "the spread over cases", "an assumption" or "the caller"
  std::optional<Prior> prior;  ///< as it was used; nothing: without repeated runs
  std::map<Change, int> counts;
};

/// Compares `second` with `first`. Cases are matched by key. Throws wide::Error{"compare", …} when a side has
/// no run.
Comparison compare(const Side& first, const Side& second, const CompareOptions& options = {});

nlohmann::json to_json(const Comparison& comparison);
/// The same, a case a line.
void write_json(std::ostream& out, const Comparison& comparison);
/// Differences first, then one line a case that changed or could not be judged (`all`: every case), totals.
std::string text(const Comparison& comparison, bool all = false);
/// The same as GitHub Markdown; names are escaped.
std::string markdown(const Comparison& comparison, bool all = false);

}  // namespace wide::results
