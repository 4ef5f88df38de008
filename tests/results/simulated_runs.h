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

/// A case measured once; wide takes `slow` times as long as it should.
inline CaseRecord simulated_case(const SimulatedMachine& machine, int number, double slow, double drift,
                                 profiler::Random& random) {
  profiler::Measurement seen;
  seen.contenders = {"wide", "eager", "wide'"};
  seen.warmup.resize(3);
  seen.rounds = machine.rounds;
  seen.seed = random.next();
  const double luck =
      machine.process * normal(random) * (uniform(random) < machine.outliers ? 3 : 1) / std::numbers::sqrt2;
  const double rival_luck = machine.process * normal(random) / std::numbers::sqrt2;
  const double wide = (100 + number) * slow * std::exp(luck + drift),
               eager = 400 * std::exp(rival_luck + drift);
  for (int round = 0; round < seen.rounds; ++round) {
    for (int i = 0; i < 3; ++i) {
      const double us = (i == 1 ? eager : wide) * std::exp(machine.round * normal(random));
      seen.samples.push_back({.contender = i, .round = round, .position = i, .microseconds = us});
    }
  }
  CaseRecord record;
  record.subject = "case" + std::to_string(number);
  record.key = record.subject + "/n=4";
  record.kind = "zoo";
  record.n = 4;
  record.device = "cpu";
  record.verdict = Verdict::kPass;
  record.checks = {{.what = "member against its own run", .max_abs_err = 0, .passed = true}};
  add_measurement(record, seen);
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
