#pragma once
// Gives a name to what a pass spends outside of its nodes.

#include "profiler/trace/trace.h"

namespace wide::profiler {

/// The fact of a trace that says what noting one step took the capture between two nodes, nanoseconds.
inline constexpr const char* kStepCost = "step_cost_ns";

/// Adds slices (kAnnotation, "executor: …") for all that a thread spends in a pass or in a member's turn but
/// in no node: taking the inputs, going from one node to the next, giving the outputs, waiting for other
/// threads. Their times are those of what lies around them. Afterwards every moment of every pass is in a
/// slice with a name of its own. A trace that marks no passes stays as it is.
void name_gaps(Trace& trace);

}  // namespace wide::profiler
