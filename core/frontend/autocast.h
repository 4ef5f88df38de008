#pragma once
// Regions of torch.autocast, which torch.export keeps as such.

#include <c10/core/ScalarType.h>

#include "core/ir/graph.h"

namespace wide {

/// `node` of `graph` as a call under an autocast to `dtype`; as it is where autocast cannot change it. See
/// Note [Autocast]
Node under_autocast(const Graph& graph, at::ScalarType dtype, Node node);

}  // namespace wide
