#include "results/pairs.h"

#include <algorithm>
#include <cmath>

#include "results/holm.h"

namespace wide::results {
namespace {

using profiler::kAssumedSpread;           // between runs of one case, where nothing can be estimated
constexpr double kFewestDegrees = 10;     // of freedom in repeated runs that show how much runs differ
constexpr double kPriorDegrees = 10;      // weight of the spread over all cases, where it cannot be estimated
constexpr double kMostPriorDegrees = 20;  // cases are never taken to be more alike than that
constexpr double kFewestTails = 3;        // degrees of freedom of the heaviest tails: see Note [Tails]

/// What the pairs, or what is known, say; see Note [Comparing runs].
Spread estimated_spread(const std::vector<Pair>& pairs, const CompareOptions& options) {
  if (!std::isnan(options.known_spread)) return {options.known_spread * options.known_spread, "the caller"};
  std::vector<double> repeated, changes;
  double degrees = 0;
  for (const Pair& pair : pairs) {
    changes.push_back(pair.change());
    if (pair.degrees() <= 0) continue;
    degrees += pair.degrees();
    repeated.push_back(pair.squares() / pair.degrees() / median_of_chi_square(pair.degrees()));
  }
  if (degrees >= kFewestDegrees || (degrees > 0 && options.prior))
    return {profiler::median(repeated), "repeated runs"};
  if (changes.size() < kFewestCases) return {kAssumedSpread * kAssumedSpread, "an assumption"};
  const double middle = profiler::median(changes);
  std::vector<double> scaled;
  for (const Pair& pair : pairs) scaled.push_back(std::abs(pair.change() - middle) / std::sqrt(pair.scale()));
  const double deviation = 1.4826 * profiler::median(scaled);
  return {deviation * deviation, "the spread over cases"};
}

// Note [Tails]
// Between single runs the changes of the cases that did not change show how far out chance reaches: further
// than normal noise would on a busy machine. From a dozen cases the tails are known so badly that an estimate
// often says Cauchy's, and then no change of any size is significant: they are taken to have at least three
// degrees. It is made from the four fifths and from the nine tenths of the cases that changed least, and the
// lighter counts, so that what did change in up to a fifth of them is not taken for tails. Seen on 14 sweeps
// of 52 cases each way: two cases of twelve that are 60 % slower are found in 99 of 100 on one thread, 81 on
// two; cases that did not change are called changed in 0.1 and 0.9 of 100.

/// Degrees of freedom of Student's t in which distances that a share `p` exceeds are `quotient` times those
/// that half of them exceed.
double degrees_of_tail(double p, double quotient) {
  double low = kFewestTails, high = kSingleRunDegrees;  // t's own quotient falls with its degrees
  for (int i = 0; i < 30; ++i) {
    const double degrees = 0.5 * (low + high);
    const bool lighter = student_quantile(p, degrees) > quotient * student_quantile(0.5, degrees);
    (lighter ? low : high) = degrees;
  }
  return high;
}

}  // namespace

Prior estimated_prior(const std::vector<Pair>& pairs, const Spread& spread) {
  constexpr double kSmallest = 1e-10;  // runs of a fake machine do not differ at all
  std::vector<double> logs;
  double by_chance = 0;
  for (const Pair& pair : pairs) {
    const double half = pair.degrees() / 2;
    if (half <= 0) continue;
    logs.push_back(std::log(std::max(pair.squares() / (2 * half), kSmallest)) - digamma(half) +
                   std::log(half));
    by_chance += trigamma(half);
  }
  if (logs.size() < kFewestCases) return {std::sqrt(spread.variance), kPriorDegrees};
  const double count = static_cast<double>(logs.size());
  double sum = 0, squares = 0;
  for (const double value : logs) sum += value;
  for (const double value : logs) squares += (value - sum / count) * (value - sum / count);
  const double beyond = squares / (count - 1) - by_chance / count;
  const double degrees =
      beyond <= 0 ? kMostPriorDegrees : std::min(kMostPriorDegrees, 2 * inverse_trigamma(beyond));
  const double log_variance = sum / count + digamma(degrees / 2) - std::log(degrees / 2);
  return {std::exp(0.5 * log_variance), degrees};
}

double tail_degrees(const std::vector<Pair>& pairs) {
  if (pairs.size() < kFewestCases) return kSingleRunDegrees;
  std::vector<double> changes, distances;
  for (const Pair& pair : pairs) changes.push_back(pair.change());
  const double middle = profiler::median(changes);
  for (const double change : changes) distances.push_back(std::abs(change - middle));
  std::sort(distances.begin(), distances.end());
  const double half = distances[distances.size() / 2];
  if (half <= 0) return kSingleRunDegrees;
  return std::max(degrees_of_tail(0.2, distances[distances.size() * 8 / 10] / half),
                  degrees_of_tail(0.1, distances[distances.size() * 9 / 10] / half));
}

Spread spread_of(const std::vector<Pair>& pairs, const CompareOptions& options) {
  Spread spread = estimated_spread(pairs, options);
  const double least = options.least_spread * options.least_spread;
  if (spread.variance < least) spread.variance = least;
  return spread;
}

}  // namespace wide::results
