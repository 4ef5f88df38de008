#include "profiler/watched.h"

#include <cmath>

#include "profiler/statistics.h"

namespace wide::profiler {

Watched measure_watched(const std::function<Measurement()>& measure, processes::LoadSource& load, int threads,
                        bool alone, double most_seconds) {
  Watched result;
  for (bool again = true; again;) {
    const auto before = load.read();
    result.measurement = measure();
    result.disturbance = between(before, load.read());
    if (!alone) result.disturbance.others = kUnknown;
    result.objection = objection(result.disturbance, threads);
    if (result.objection.empty()) result.objection = objection(result.measurement);
    again = ++result.attempts < 2 && !result.objection.empty() && result.measurement.seconds <= most_seconds;
  }
  return result;
}

std::string objection(const Measurement& measurement) {
  const double noise = indifference(noise_floor(measurement), 0);
  if (!(noise > kMostNoise)) return "";
  return "the same work measured twice differs by up to " + std::to_string(std::lround(100 * noise)) + " %";
}

}  // namespace wide::profiler
