#pragma once
// A measurement that the machine disturbed is made once more, and then has no verdict.

#include <functional>
#include <string>

#include "processes/load.h"
#include "profiler/measure.h"

namespace wide::profiler {

/// A measurement, and what the machine did meanwhile.
struct Watched {
  Measurement measurement;
  processes::Disturbance disturbance;
  int attempts = 0;
  std::string objection;  ///< why its times say nothing; empty: they do
};

/// Measures, and once more where the first time was disturbed and took at most `most_seconds`. `alone` false:
/// some of the work is done by other processes, which are then not held against it.
Watched measure_watched(const std::function<Measurement()>& measure, processes::LoadSource& load, int threads,
                        bool alone, double most_seconds);

/// The same of what the A/A twin shows: its interval reaches further from 1 than kMostNoise.
std::string objection(const Measurement& measurement);

}  // namespace wide::profiler
