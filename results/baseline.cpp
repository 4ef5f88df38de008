#include "results/baseline.h"

#include <cmath>

#include "results/observed.h"

// Note [Baselines]
// What a gate can find is bounded by how well the baseline knows a case: its own runs are not measured again
// later. Most cases differ by 1 to 3 % between processes, a few by 10 %, and which ones shows only when they
// are measured. So every case gets a few runs, and those that differ get more until the error of their middle
// is small, or they had their share. How much a case differs is drawn towards what the cases do in the
// middle, since a few runs of one say little.

namespace wide::results {
namespace {

constexpr double kPriorOfSpread = 4;  // weight of the other cases' spread

struct CaseSpread {
  const std::string* key;
  double squares, runs;
  int measured;  ///< with those that were disturbed
};

}  // namespace

std::set<std::string> unsteady_cases(const Side& baseline, const BaselineOptions& options) {
  const Cases cases(baseline);
  std::set<std::string> keys;
  std::vector<CaseSpread> spreads;
  std::vector<double> variances;
  for (const Observed& seen : cases.all) {
    if (!seen.trouble.empty()) continue;
    if (seen.passed.size() < 2) {
      if (!seen.disturbed.empty() && seen.runs > 1 && seen.runs < options.most) keys.insert(seen.any->key);
      continue;
    }
    const auto sample = sample_of(seen, common_rival(seen, seen));
    if (!sample) continue;
    const double degrees = sample->count() - 1;
    spreads.push_back({&seen.any->key, sample->squares(), sample->count(), seen.runs});
    variances.push_back(sample->squares() / degrees / median_of_chi_square(degrees));
  }
  if (spreads.empty()) return keys;
  const double common = profiler::median(variances);
  for (const CaseSpread& spread : spreads) {
    const double variance = (kPriorOfSpread * common + spread.squares) / (kPriorOfSpread + spread.runs - 1);
    if (spread.measured < options.most && std::sqrt(variance / spread.runs) > options.target_error)
      keys.insert(*spread.key);
  }
  return keys;
}

}  // namespace wide::results
