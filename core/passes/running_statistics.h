#pragma once

#include "core/ir/graph.h"

namespace wide {

class Rewriter;

struct RunningStatistics {
  ValueId mean, variance;
};

/// Emits a batch or instance norm in training that writes nothing: its result is bound, and what its running
/// statistics become, [C] each, is returned for them to be written.
RunningStatistics move_running_statistics(Rewriter& rewriter, const Node& norm, ValueId mean,
                                          ValueId variance);

}  // namespace wide
