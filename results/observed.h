#pragma once
// What the runs of a side show of each case. Only results/ includes this.

#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "results/compare.h"

namespace wide::results {

/// A case as one side has it: one entry a run that passed and whose times say something.
struct Observed {
  const CaseRecord* any = nullptr;  ///< whatever became of it
  int runs = 0;                     ///< that passed, disturbed or not
  std::set<std::string> models;     ///< hashes, of all runs that have one
  std::vector<const CaseRecord*> passed;
  std::string trouble;    ///< of a run that did not pass; empty: none
  std::string overload;   ///< of a run in `passed` whose machine had other work to do; empty: none
  std::string disturbed;  ///< of a run that passed, but so disturbed that it has no speed-up; empty: none
};

/// The same as numbers, one entry a run: cost is wide over rival, or wide's time where there is no rival.
struct Sample {
  std::vector<double> log_cost;
  std::vector<double> error;  ///< standard error of log_cost within the run
  double wide_us = kUnknown;
  double rival_us = kUnknown;

  double mean() const;
  double squares() const;  ///< of deviations from mean()
  double count() const { return static_cast<double>(log_cost.size()); }
};

/// The rival that every run of both sides measured with an interval: eager, else the first; empty: none.
std::string common_rival(const Observed& first, const Observed& second);

/// Log costs of a side's runs; nothing when a run has no interval.
std::optional<Sample> sample_of(const Observed& side, const std::string& rival);

/// How far from 1 the A/A twins are, on the side where they are farther; NaN when a run had none. Over the
/// runs of a side the median: like the cost that it is held against, it shrinks with more runs unless it is
/// a bias.
double noise_of(const Observed& first, const Observed& second);

/// Other weights take as long, another architecture does not: said, and left to the reader.
bool is_another_model(const Observed& first, const Observed& second);

/// All cases of a side, in the order they were first seen; points into the side.
struct Cases {
  std::vector<Observed> all;
  std::unordered_map<std::string_view, std::size_t> by_key;  ///< index into `all`

  explicit Cases(const Side& side);
  const Observed* find(std::string_view key) const;  ///< nullptr: there is none
};

/// Median of a chi-square distribution over its degrees of freedom.
double median_of_chi_square(double degrees);

}  // namespace wide::results
