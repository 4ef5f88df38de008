#pragma once
// Cases that two sides measured, and how much single runs of them differ; see Note [Comparing runs] in
// compare.cpp.

#include <string>
#include <vector>

#include "profiler/statistics.h"
#include "results/compare.h"
#include "results/observed.h"

namespace wide::results {

inline constexpr std::size_t kFewestCases = 8;  ///< whose changes show a spread
/// Of freedom: tails at their lightest, where other cases alone show the spread.
inline constexpr double kSingleRunDegrees = 10;

struct Pair {
  Sample first, second;
  std::string overload;  ///< why no verdict can be had; empty: none
  double noise = 0;      ///< deviation from 1 of the A/A twins
  double inner = 1;      ///< share of the runs that were not drawn in
  double change() const { return second.mean() - first.mean(); }
  double degrees() const { return first.count() + second.count() - 2; }
  /// Of what a mean has, whose runs were in part drawn in: only the others move it (Huber 1981, section 6.6).
  double squares() const { return (first.squares() + second.squares()) / (inner * inner); }
  double scale() const { return 1 / first.count() + 1 / second.count(); }
  /// Variance of one run's log cost that the rounds alone explain: the middle one, as a run that met a
  /// neighbour says nothing of the others.
  double within() const {
    std::vector<double> squares;
    for (const auto* side : {&first, &second})
      for (const double error : side->error) squares.push_back(error * error);
    return profiler::median(squares);
  }
};

struct Spread {
  double variance = 0;  ///< of one run's log cost
  std::string from;
};

/// What the pairs, or what is known, say; never less than the least of `options`.
Spread spread_of(const std::vector<Pair>& pairs, const CompareOptions& options);

/// How alike the spreads of the cases are: the variance of log s² beyond what chance explains (Smyth 2004,
/// section 6.2). On a machine where threads fight over CPUs some cases spread a hundred times as much as
/// others: the one then says nothing of the other.
Prior estimated_prior(const std::vector<Pair>& pairs, const Spread& spread);

/// Tails of the changes over cases as degrees of freedom of Student's t that has them. See Note [Tails].
double tail_degrees(const std::vector<Pair>& pairs);

}  // namespace wide::results
