#include "results/compare.h"

#include <algorithm>
#include <cmath>
#include <optional>

#include "formats/error.h"
#include "results/compare_facts.h"
#include "results/escape.h"
#include "results/holm.h"
#include "results/observed.h"
#include "results/pairs.h"
#include "results/reliability.h"
#include "results/table.h"

// Note [Comparing runs]
// Two runs were measured at different times, by different processes. What may have changed between them apart
// from the code is (a) the machine: clocks, neighbours; (b) the luck of a process: where its memory and its
// threads lie. Intervals from the rounds of one process see neither.
//
// Against (a) the cost of a case is the median over rounds of wide / rival within the round, the rival being
// one that both sides have (eager first): what slows both is not a change. Without a common rival it is the
// time alone, and a remark says so.
//
// Against (b) the unit of the test is the run, not the round. How much runs of one case differ (in log cost)
// is estimated from repeated runs where a side has them: robustly over all cases, and per case drawn towards
// that (Smyth 2004, moderated t), the more so the more alike the cases are. On two
// threads 11 of 1560 processes were more than a fifth off the others, one of them a hundredfold: runs far
// from the middle of their side are drawn in (Huber's estimate), and the error is that of the rest. With one
// run on each side it is estimated from the spread of the changes over cases, most of which are taken to be
// unchanged; a shift common to all cases does not enter it, so a general slow-down stays visible. With few
// cases it is assumed. Never smaller than what the rounds themselves show.
//
// A change that is the rival's own is none of wide's: then wide's time, corrected for the drift that the
// rivals of all cases show, did not change as the cost did.
//
// Faster or slower needs both: significance after Holm's correction over all cases, and an effect above the
// smallest one of interest and above what the A/A twins showed. Several threads on an overloaded machine get
// no verdict.

namespace wide::results {
namespace {

constexpr double kClip = 1.5;             // spreads from its side's median, beyond which a run is drawn in
const double kOddRival = std::log(1.25);  // a rival that changed by more did not change with the machine

/// One run that went astray (a neighbour woke up) moves the mean, and hides a change, no more than any
/// other. Returns how many runs were not drawn in.
std::ptrdiff_t clip(Sample& sample, double reach) {
  const double middle = profiler::median(sample.log_cost);
  std::ptrdiff_t inner = 0;
  for (double& value : sample.log_cost) {
    inner += std::abs(value - middle) <= reach;
    value = std::clamp(value, middle - reach, middle + reach);
  }
  return inner;
}

/// How far one run of the case is from the middle of its side, unless it went astray: by the median.
double own_spread(const Pair& pair) {
  std::vector<double> distances;
  for (const Sample* side : {&pair.first, &pair.second}) {
    if (side->log_cost.size() < 2) continue;
    const double middle = profiler::median(side->log_cost);
    for (const double value : side->log_cost) distances.push_back(std::abs(value - middle));
  }
  return distances.empty() ? 0 : 1.4826 * profiler::median(distances);
}

/// Distance that chance exceeds in 5 %, in standard errors. Many cases have the same degrees of freedom.
class Reach {
 public:
  double of(double degrees) {
    const auto [known, is_new] = known_.try_emplace(degrees);
    if (is_new) known->second = student_quantile(0.05, degrees);
    return known->second;
  }

 private:
  std::map<double, double> known_;
};

/// Numbers of one case, the verdict still open.
void estimate(const Pair& pair, const Spread& spread, const std::optional<Prior>& prior, double tail,
              Reach& reaches, CaseChange& result) {
  double variance = spread.variance;
  double degrees = tail;
  if (pair.degrees() > 0 && prior) {
    degrees = prior->degrees + pair.degrees();
    variance = (prior->degrees * prior->spread * prior->spread + pair.squares()) / degrees;
  }
  variance = std::max(variance, pair.within());
  const double change = pair.change();
  result.standard_error = std::sqrt(variance * pair.scale());
  const double reach = reaches.of(degrees) * result.standard_error;
  result.ratio = {std::exp(change), std::exp(change - reach), std::exp(change + reach)};
  result.p = result.standard_error > 0 ? student_p(change / result.standard_error, degrees)
                                       : (change == 0 ? 1.0 : 0.0);
}

/// How much slower the machine was on the second side (log), as the rivals of all cases say; nothing for few.
std::optional<double> drift_of(const std::vector<CaseChange*>& changes) {
  std::vector<double> logs;
  for (const CaseChange* change : changes) {
    if (change->reference_ratio > 0) logs.push_back(std::log(change->reference_ratio));
  }
  if (logs.size() < kFewestCases) return std::nullopt;
  return profiler::median(logs);
}

/// Whether it was the rival that changed: wide's own time went less than a quarter of the way, or the other
/// one.
bool is_the_rivals(const CaseChange& change, std::optional<double> drift) {
  if (!(change.reference_ratio > 0) || !(change.first_us > 0) || !(change.second_us > 0)) return false;
  if (!drift && std::abs(std::log(change.reference_ratio)) < kOddRival) return false;
  const double cost = std::log(change.ratio.value);
  const double own = std::log(change.second_us / change.first_us) - drift.value_or(0);
  return cost > 0 ? own < 0.25 * cost : own > 0.25 * cost;
}

void judge(const Pair& pair, const CompareOptions& options, std::optional<double> drift, CaseChange& result) {
  if (!pair.overload.empty()) {
    result.reasons.push_back(pair.overload);
    return;
  }
  if (std::isnan(pair.noise)) {
    result.reasons.emplace_back("no A/A twin was measured on one side, so the noise is not known");
    return;
  }
  if (pair.noise > profiler::kMostNoiseOfVerdict) {
    result.reasons.push_back("the same work measured twice differs by " + fixed(100 * pair.noise, 0) + " %");
    return;
  }
  if (profiler::holds_both(result.ratio)) {
    result.reasons.emplace_back("the interval holds both much faster and much slower");
    return;
  }
  const double band = std::max(options.minimum_effect, pair.noise);
  const double ratio = result.ratio.value;
  const bool significant = result.adjusted_p <= options.alpha;
  const bool changed = significant && (ratio > 1 + band || ratio < 1 / (1 + band));
  if (changed && std::abs(result.second_us - result.first_us) < options.minimum_us) {
    result.change = Change::kSame;
    result.reasons.push_back("the change is less than " + fixed(options.minimum_us, 3) + " us");
  } else if (changed && is_the_rivals(result, drift)) {
    result.reasons.push_back("the time of the rival " + printable(result.reference) +
                             " changed, that of wide did not");
  } else if (significant && ratio > 1 + band) {
    result.change = Change::kSlower;
  } else if (significant && ratio < 1 / (1 + band)) {
    result.change = Change::kFaster;
  } else if (result.ratio.low >= 1 / (1 + band) && result.ratio.high <= 1 + band) {
    result.change = Change::kSame;
  } else if (!significant) {
    result.reasons.emplace_back("the change is within what repeated runs may show");
  } else {
    result.reasons.emplace_back("the change is too small to matter, or below the A/A noise");
  }
}

void name_case(const CaseRecord& record, CaseChange& result) {
  result.key = record.key;
  result.subject = record.subject;
  result.device = record.device;
  result.dtype = record.dtype;
  result.mode = record.mode;
  result.strategy = record.strategy;
  result.n = record.n;
}

/// What forbids a number for this case, or the numbers to come.
std::optional<Pair> pair_up(const Observed& first, const Observed& second, CaseChange& result) {
  result.change = Change::kNotComparable;
  for (const auto& [side, which] : {std::pair{&first, "first"}, std::pair{&second, "second"}}) {
    if (!side->trouble.empty()) result.reasons.push_back(std::string(which) + ": " + side->trouble);
  }
  if (!result.reasons.empty()) return std::nullopt;
  if (is_another_model(first, second)) result.reasons.emplace_back("the files of the model are others");
  for (const auto& [side, which] : {std::pair{&first, "first"}, std::pair{&second, "second"}}) {
    if (!side->passed.empty()) continue;
    result.change = Change::kInconclusive;
    result.reasons.push_back(std::string(which) + ": " + side->disturbed);
    return std::nullopt;
  }
  result.reference = common_rival(first, second);
  auto a = sample_of(first, result.reference), b = sample_of(second, result.reference);
  if (!a || !b) {
    result.reasons.emplace_back("a run has no interval of its time");
    return std::nullopt;
  }
  if (result.reference.empty())
    result.reasons.emplace_back("no rival in common: drift of the machine is not cancelled");
  result.change = Change::kInconclusive;
  result.first_us = a->wide_us;
  result.second_us = b->wide_us;
  result.reference_ratio = b->rival_us / a->rival_us;
  for (const auto& [side, which] : {std::pair{&*a, "first"}, std::pair{&*b, "second"}}) {
    if (result.reference.empty()) break;
    if (!contradicts(std::exp(-profiler::median(side->log_cost)), side->rival_us, side->wide_us)) continue;
    result.reasons.push_back(std::string(which) + ": the times of wide and " + printable(result.reference) +
                             " contradict the speed-up");
    return std::nullopt;
  }
  return Pair{std::move(*a), std::move(*b), first.overload.empty() ? second.overload : first.overload,
              noise_of(first, second)};
}

Interval geometric_mean(const std::vector<Pair>& pairs, const std::vector<CaseChange*>& changes) {
  if (pairs.empty()) return {};
  double sum = 0, variance = 0;
  for (std::size_t i = 0; i < pairs.size(); ++i) {
    sum += pairs[i].change();
    variance += changes[i]->standard_error * changes[i]->standard_error;
  }
  const double count = static_cast<double>(pairs.size());
  const double middle = sum / count, reach = profiler::kNormal95 * std::sqrt(variance) / count;
  return {std::exp(middle), std::exp(middle - reach), std::exp(middle + reach)};
}

void list_missing(const Cases& from, const Cases& in, std::vector<Missing>& missing) {
  for (const Observed& seen : from.all) {
    if (in.find(seen.any->key) == nullptr) missing.push_back({seen.any->key, seen.any->subject, seen.any->n});
  }
}

}  // namespace

std::string_view name(Change change) {
  switch (change) {
    case Change::kFaster:
      return "faster";
    case Change::kSlower:
      return "slower";
    case Change::kSame:
      return "same";
    case Change::kInconclusive:
      return "inconclusive";
    case Change::kNotComparable:
      return "not comparable";
  }
  return "";
}

Comparison compare(const Side& first, const Side& second, const CompareOptions& options) {
  for (const Side* side : {&first, &second}) {
    if (side->runs.empty()) throw Error("compare", "'" + printable(side->name) + "' holds no run");
  }
  Comparison result;
  result.first = first.name;
  result.second = second.name;
  add_differences(first, second, result);
  const Cases left(first), right(second);
  list_missing(left, right, result.only_in_first);
  list_missing(right, left, result.only_in_second);
  result.cases.reserve(left.all.size());  // pointers into it below
  std::vector<Pair> pairs;
  std::vector<CaseChange*> paired;
  pairs.reserve(left.all.size());
  paired.reserve(left.all.size());
  for (const Observed& seen : left.all) {
    const Observed* other = right.find(seen.any->key);
    if (other == nullptr) continue;
    CaseChange& change = result.cases.emplace_back();
    name_case(*seen.any, change);
    if (auto pair = pair_up(seen, *other, change)) {
      pairs.push_back(std::move(*pair));
      paired.push_back(&change);
    }
  }
  const Spread spread = spread_of(pairs, options);
  if (spread.from == "repeated runs") {
    for (Pair& pair : pairs) {
      const double reach = kClip * std::max(std::sqrt(spread.variance), own_spread(pair));
      const auto inner = clip(pair.first, reach) + clip(pair.second, reach);
      pair.inner = static_cast<double>(inner) / (pair.first.count() + pair.second.count());
    }
    result.prior = options.prior ? *options.prior : estimated_prior(pairs, spread);
  }
  const double tail = spread.from == "the spread over cases" ? tail_degrees(pairs) : kSingleRunDegrees;
  result.spread = std::sqrt(spread.variance);
  result.spread_from = spread.from;
  std::vector<double> p;
  Reach reaches;
  for (std::size_t i = 0; i < pairs.size(); ++i) {
    estimate(pairs[i], spread, result.prior, tail, reaches, *paired[i]);
    p.push_back(paired[i]->p);
  }
  const auto adjusted = holm(p, options.family);
  const auto drift = drift_of(paired);
  const bool forbidden = !result.barriers.empty() && !options.across_machines;
  for (std::size_t i = 0; i < pairs.size(); ++i) {
    paired[i]->adjusted_p = adjusted[i];
    if (forbidden) {
      paired[i]->change = Change::kNotComparable;
      paired[i]->reasons.insert(paired[i]->reasons.begin(), result.barriers.front());
    } else {
      judge(pairs[i], options, drift, *paired[i]);
    }
  }
  if (!forbidden) result.geometric_mean = geometric_mean(pairs, paired);
  for (const CaseChange& change : result.cases) ++result.counts[change.change];
  return result;
}

}  // namespace wide::results
