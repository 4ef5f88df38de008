#pragma once
// functionalize: in-place operators become pure ones; writes into buffers become outputs of the graph.

#include <vector>

#include "core/graph.h"
#include "core/specialize.h"

namespace wide {

/// Follows aliases (views of views, results that share memory) as seen when the graph was specialized, so
/// that a write through one name is read through every other. Adds an OutputKind::kBufferMutation output for
/// each buffer that is written, also by batch_norm in training mode. Throws wide::Error ("functionalize")
/// naming an in-place operator without a pure twin, or a write through a view that cannot be inverted.
Graph functionalize(const Specialized& specialized);

/// User, parameter or buffer inputs that a run of `graph` writes into, by index into Graph::inputs.
std::vector<bool> written_inputs(const Specialized& specialized);

}  // namespace wide
