#pragma once
// How much slower AUTO's plan is than the best of all plans.

#include <cstdint>
#include <string>

#include "core/model/wide_model.h"

namespace wide::app {

struct Regret {
  std::size_t plans = 0;     ///< tried
  bool complete = true;      ///< all there are
  double auto_us = 0;        ///< median of a pass
  double best_us = 0;        ///< of the best of all plans, AUTO's among them
  double ratio = 1;          ///< median over rounds of AUTO's time by the best's; 1 where AUTO's is the best
  double low = 1, high = 1;  ///< its 95 % interval
  std::string auto_plan;     ///< schedule and strategies, one line
  std::string best_plan;
};

/// Builds and times every plan of the model's graph, at most `most`. The few fastest, and the fastest of each
/// schedule, are measured again beside AUTO's, in interleaved rounds; each is the same model with the same
/// weights. A plan equal to AUTO's is not measured beside it: it would only show how times differ from one
/// copy of the weights to the next. If one is faster than AUTO's, the two are measured once more, and these
/// times count. Throws wide::Error.
Regret regret_of(WideModel& model, std::span<const ModelInput> inputs, std::size_t most, std::uint64_t seed);

}  // namespace wide::app
