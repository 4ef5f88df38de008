#pragma once
// Runs of a made-up machine: every case has a true cost, every process its luck, every round its noise.

#include <algorithm>
#include <cmath>
#include <numbers>
#include <string>
#include <vector>

#include "profiler/random.h"
#include "results/compare.h"

namespace wide::results::test {

struct SimulatedMachine {
  double process = 0.02;   ///< standard deviation of log cost between processes
  double round = 0.03;     ///< and between rounds
  double drift = 0;        ///< log of how much slower everything is in a run, at most
  double outliers = 0.02;  ///< share of processes whose luck is three times as large
  int rounds = 24;
};

inline double uniform(profiler::Random& random) {
  return (static_cast<double>(random.next() >> 11) + 0.5) * 0x1p-53;
}

inline double normal(profiler::Random& random) {
  return std::sqrt(-2 * std::log(uniform(random))) * std::cos(2 * std::numbers::pi * uniform(random));
}

/// The median of log ratios with the interval that normal noise gives it: what a bootstrap would, in a
/// hundredth of its time.
inline Interval ratio(const SimulatedMachine& machine, const std::vector<double>& log_ratios) {
  const double middle = profiler::median(log_ratios);
  const double error = std::sqrt(std::numbers::pi / 2) * machine.round * std::numbers::sqrt2 /
                       std::sqrt(static_cast<double>(log_ratios.size()));
  return {std::exp(middle), std::exp(middle - 1.96 * error), std::exp(middle + 1.96 * error)};
}

/// A case measured once; wide takes `slow` times as long as it should.
inline CaseRecord simulated_case(const SimulatedMachine& machine, int number, double slow, double drift,
                                 profiler::Random& random) {
  const double luck =
      machine.process * normal(random) * (uniform(random) < machine.outliers ? 3 : 1) / std::numbers::sqrt2;
  const double rival_luck = machine.process * normal(random) / std::numbers::sqrt2;
  const double wide = (100 + number) * slow * std::exp(luck + drift),
               eager = 400 * std::exp(rival_luck + drift);
  std::vector<double> wide_us, eager_us, speedups, twins;
  CaseRecord record;
  for (int round = 0; round < machine.rounds; ++round) {
    wide_us.push_back(wide * std::exp(machine.round * normal(random)));
    eager_us.push_back(eager * std::exp(machine.round * normal(random)));
    const double twin_us = wide * std::exp(machine.round * normal(random));
    speedups.push_back(std::log(eager_us.back() / wide_us.back()));
    twins.push_back(std::log(twin_us / wide_us.back()));
    int place = 0;
    for (const double us : {wide_us.back(), eager_us.back(), twin_us}) {
      record.samples.push_back({.contender = place, .round = round, .position = place, .microseconds = us});
      ++place;
    }
  }
  record.subject = "case" + std::to_string(number);
  record.key = record.subject + "/n=4";
  record.kind = "zoo";
  record.n = 4;
  record.device = "cpu";
  record.verdict = Verdict::kPass;
  record.checks = {{.what = "member against its own run", .max_abs_err = 0, .passed = true}};
  record.rounds = machine.rounds;
  record.wide.median_us = profiler::median(wide_us);
  record.wide.ci95 = {record.wide.median_us, record.wide.median_us * 0.98, record.wide.median_us * 1.02};
  record.speedup = record.speedup_best_rival = ratio(machine, speedups);
  record.best_rival = "eager";
  record.rivals = {{.name = "eager", .time = {}, .speedup = record.speedup}};
  record.rivals[0].time.median_us = profiler::median(eager_us);
  record.noise_floor = ratio(machine, twins);
  return record;
}

/// A run of `count` cases, the first `slowed` of which are `slow` times slower.
inline Imported simulated_run(const SimulatedMachine& machine, int count, int slowed, double slow,
                              profiler::Random& random) {
  Imported result;
  const double drift = machine.drift * (2 * uniform(random) - 1);
  for (int i = 0; i < count; ++i)
    result.cases.push_back(simulated_case(machine, i, i < slowed ? slow : 1, drift, random));
  return result;
}

}  // namespace wide::results::test
