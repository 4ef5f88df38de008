#pragma once
// functionalize: in-place operators become pure ones; writes into buffers become outputs of the graph.

#include <vector>

#include "core/ir/graph.h"
#include "core/passes/specialize.h"

namespace wide {

/// Follows aliases (views of views, results that share memory) as seen when the graph was specialized, so
/// that a write through one name is read through every other. Adds an OutputKind::kBufferMutation output for
/// each buffer that is written, also by batch_norm in training mode. What ATen has no pure operator for
/// becomes a call of a small graph on copies (kCall). Throws wide::Error ("functionalize") where a tensor
/// gets another size in place.
Graph functionalize(const Specialized& specialized);

/// The same for every graph: one call of all of it, member by member.
Graph functionalize_whole(const Specialized& specialized);

/// User, parameter or buffer inputs that a run of `graph` writes into, by index into Graph::inputs.
std::vector<bool> written_inputs(const Specialized& specialized);

}  // namespace wide
