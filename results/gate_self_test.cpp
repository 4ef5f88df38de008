#include "results/gate_self_test.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <map>
#include <numbers>
#include <numeric>
#include <span>

#include "formats/error.h"
#include "profiler/clock.h"
#include "profiler/random.h"
#include "results/escape.h"
#include "results/holm.h"

namespace wide::results {
namespace {

using profiler::Random;

constexpr std::array<double, 4> kPlanted = {0.02, 0.05, 0.10, 0.20};
constexpr int kOneIn = 3;  // cases that are slowed down

double uniform(Random& random) {
  return (static_cast<double>(random.next() >> 11) + 0.5) * 0x1p-53;
}

double normal(Random& random) {
  return std::sqrt(-2 * std::log(uniform(random))) * std::cos(2 * std::numbers::pi * uniform(random));
}

/// Slow-down of case `index` in a trial; 0: none. Every case gets every slow-down in turn.
double planted(int index, int trial) {
  if ((index + trial) % kOneIn != 0) return 0;
  return kPlanted[static_cast<std::size_t>((index + trial) / kOneIn) % kPlanted.size()];
}

/// Time that passes only when work is said to have been done.
class SimulatedClock final : public profiler::Clock {
 public:
  explicit SimulatedClock(Random& random) : random_(random) {}
  /// Drift is a slow random walk, pulled back to where it began; one sample in a hundred meets a spike.
  void work(double microseconds, double spread) {
    drift_ = 0.98 * drift_ + 0.01 * normal(random_);
    const double spike = uniform(random_) < 0.01 ? 1 + 2 * uniform(random_) : 1;
    now_ += std::llround(1e3 * microseconds * spike * std::exp(drift_ + spread * normal(random_)));
  }

 private:
  std::int64_t do_nanoseconds() override { return now_; }
  void do_pause(double microseconds) override { now_ += std::llround(1e3 * microseconds); }
  Random& random_;
  std::int64_t now_ = 0;
  double drift_ = 0;
};

CaseRecord simulated_case(int index, double slow_down, const SelfTestOptions& options, Random& random) {
  const double share = options.process_spread / std::numbers::sqrt2;  // of the ratio's spread, per contender
  const double wide_us = (100 + index) * (1 + slow_down) * std::exp(share * normal(random));
  const double eager_us = 300 * std::exp(share * normal(random));
  SimulatedClock clock(random);
  const std::vector<profiler::Contender> contenders = {
      {"wide", [&] { clock.work(wide_us, options.round_spread); }},
      {"eager", [&] { clock.work(eager_us, options.round_spread); }}};
  const profiler::StoppingRule rule{.min_rounds = 24,
                                    .max_rounds = 24,
                                    .max_seconds = 1e9,
                                    .relative_width = 0,
                                    .min_sample_us = 1,
                                    .warmup_seconds = 1e-3};
  CaseRecord record;
  record.subject = "case" + std::to_string(index);
  record.key = record.subject;
  record.verdict = Verdict::kPass;
  record.checks = {{.what = "simulated", .member = "", .max_abs_err = 0, .passed = true, .text = ""}};
  add_measurement(record, profiler::measure(contenders, rule, random.next(), clock, {}));
  record.samples.clear();
  return record;
}

void count(const GateOutcome& outcome, const std::map<std::string, double>& truth,
           std::map<double, Detection>& counts) {
  const std::set<std::string> slower(outcome.slower.begin(), outcome.slower.end());
  for (const auto& [key, slow_down] : truth) {
    Detection& row = counts[slow_down];
    row.slow_down = slow_down;
    ++row.cases;
    row.found += slower.contains(key);
  }
}

SelfTestResult rates(const std::map<double, Detection>& counts) {
  SelfTestResult result;
  for (const auto& [slow_down, row] : counts) {
    result.push_back(row);
    result.back().rate = wilson(row.found, row.cases);
  }
  return result;
}

Imported keep(const Imported& run, const std::set<std::string>& keys) {
  Imported result{run.run, {}};
  for (const CaseRecord& record : run.cases) {
    if (keys.contains(record.key)) result.cases.push_back(record);
  }
  return result;
}

/// The run with what this trial slows down.
Imported slowed_run(const Imported& run, const std::map<std::string, double>& truth) {
  Imported result{run.run, {}};
  for (const CaseRecord& record : run.cases) {
    const auto slow_down = truth.find(record.key);
    result.cases.push_back(slow_down == truth.end() ? record : slowed(record, 1 + slow_down->second));
  }
  return result;
}

/// As `--save-baseline` makes it: some runs, then the unsteady cases again. `measure` measures the cases with
/// these keys, all when there are none.
template <typename Measure>
Side make_baseline(const SelfTestOptions& options, Measure&& measure) {
  Side baseline{"baseline", {}};
  for (int i = 0; i < options.baseline_runs; ++i) baseline.runs.push_back(measure(nullptr));
  for (int i = options.baseline_runs; i < options.baseline.most; ++i) {
    const auto keys = unsteady_cases(baseline, options.baseline);
    if (keys.empty()) break;
    baseline.runs.push_back(measure(&keys));
  }
  return baseline;
}

/// Draws runs: without replacement while a trial needs no more than there are.
class Hat {
 public:
  Hat(std::size_t runs, std::size_t needed, Random& random)
      : order_(runs), replaces_(runs < needed), random_(random) {
    std::iota(order_.begin(), order_.end(), std::size_t{0});
  }
  void shuffle() {
    random_.shuffle(std::span(order_));
    next_ = 0;
  }
  std::size_t draw() {
    return replaces_ ? random_.below(static_cast<std::uint32_t>(order_.size())) : order_[next_++];
  }

 private:
  std::vector<std::size_t> order_;
  std::size_t next_ = 0;
  bool replaces_;
  Random& random_;
};

}  // namespace

CaseRecord slowed(CaseRecord record, double factor) {
  const auto scale = [](Interval& interval, double by) {
    interval.value *= by;
    interval.low *= by;
    interval.high *= by;
  };
  for (double* time : {&record.wide.median_us, &record.wide.min_us, &record.wide.iqr_us, &record.wide.mad_us})
    *time *= factor;
  scale(record.wide.ci95, factor);
  for (Rival& rival : record.rivals) scale(rival.speedup, 1 / factor);
  scale(record.speedup, 1 / factor);
  scale(record.speedup_best_rival, 1 / factor);
  return record;
}

SelfTestResult simulated_self_test(const SelfTestOptions& options) {
  Random random(options.seed);
  std::map<double, Detection> counts;
  for (int trial = 0; trial < options.trials && !(options.stopped && options.stopped()); ++trial) {
    std::map<std::string, double> truth;
    const auto run = [&](bool is_slow, const std::set<std::string>* keys) {
      Imported result;
      for (int index = 0; index < options.cases; ++index) {
        const std::string key = "case" + std::to_string(index);
        if (keys != nullptr && !keys->contains(key)) continue;
        truth[key] = planted(index, trial);
        result.cases.push_back(simulated_case(index, is_slow ? truth[key] : 0, options, random));
      }
      return result;
    };
    const auto baseline =
        make_baseline(options, [&](const std::set<std::string>* keys) { return run(false, keys); });
    const Side measured{"run", {run(true, nullptr)}};
    const auto again = [&](const std::set<std::string>& keys, int) {
      return std::optional<Fresh>(Fresh{run(true, &keys), std::nullopt});
    };
    count(gate(baseline, measured, options.gate, again), truth, counts);
  }
  return rates(counts);
}

int runs_of_a_trial(const SelfTestOptions& options) {
  return std::max(options.baseline_runs, options.baseline.most) + 1 + options.gate.repeats;
}

SelfTestResult replayed_self_test(const std::vector<Imported>& runs, const SelfTestOptions& options) {
  const int needed = std::min(runs_of_a_trial(options), kRunsToDrawFrom);
  if (std::ssize(runs) < needed) {
    throw Error("gate", "the self-test on real runs needs " + std::to_string(needed) +
                            " of them, there are " + std::to_string(runs.size()) +
                            "; measure more, or ask for fewer with --baseline-runs, --baseline-repeats "
                            "and --gate-repeats");
  }
  Random random(options.seed);
  std::map<double, Detection> counts;
  Hat hat(runs.size(), static_cast<std::size_t>(runs_of_a_trial(options)), random);
  for (int trial = 0; trial < options.trials && !(options.stopped && options.stopped()); ++trial) {
    hat.shuffle();
    const auto baseline = make_baseline(options, [&](const std::set<std::string>* keys) {
      const Imported& run = runs[hat.draw()];
      return keys == nullptr ? run : keep(run, *keys);
    });
    std::map<std::string, double> truth;
    int index = 0;
    for (const CaseRecord& record : runs.front().cases) {
      if (record.verdict == Verdict::kPass) truth[record.key] = planted(index++, trial);
    }
    const Side measured{"run", {slowed_run(runs[hat.draw()], truth)}};
    const auto again = [&](const std::set<std::string>& keys, int) {
      return std::optional<Fresh>(Fresh{keep(slowed_run(runs[hat.draw()], truth), keys), std::nullopt});
    };
    count(gate(baseline, measured, options.gate, again), truth, counts);
  }
  return rates(counts);
}

bool false_alarms_are_rare(const SelfTestResult& result) {
  return std::none_of(result.begin(), result.end(),
                      [](const Detection& row) { return row.slow_down == 0 && row.rate.value > 0.01; });
}

bool trustworthy(const SelfTestResult& result) {
  if (!false_alarms_are_rare(result)) return false;
  for (const Detection& row : result) {
    if (row.slow_down == 0.10 && !(row.rate.value >= 0.95)) return false;
  }
  return !result.empty();
}

nlohmann::json to_json(const SelfTestResult& result) {
  auto rows = nlohmann::json::array();
  for (const Detection& row : result) {
    rows.push_back({{"slow_down", row.slow_down},
                    {"cases", row.cases},
                    {"found", row.found},
                    {"rate", row.rate.value},
                    {"rate_ci95", {row.rate.low, row.rate.high}}});
  }
  return {{"trustworthy", trustworthy(result)}, {"rows", rows}};
}

std::string text(const SelfTestResult& result) {
  std::string out;
  for (const Detection& row : result) {
    std::string what = row.slow_down == 0 ? "nothing changed: false alarms"
                                          : fixed(row.slow_down * 100, 0) + " % slower: found";
    what.resize(30, ' ');
    out.append(what).append(std::to_string(row.found)).append(" of ").append(std::to_string(row.cases));
    out.append(" = ")
        .append(fixed(row.rate.value * 100, 1))
        .append(" % [")
        .append(fixed(row.rate.low * 100, 1));
    out.append(", ").append(fixed(row.rate.high * 100, 1)).append("]\n");
  }
  return out;
}

}  // namespace wide::results
