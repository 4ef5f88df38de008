#pragma once
// canonicalize: many spellings of one operation become one, so that primitives see few operators.

#include "core/ir/graph.h"

namespace wide {

/// Wants a specialized, functional graph. Afterwards:
/// - checks (but those of data), no-op casts, copies and dropout in evaluation mode are gone, and so is what
/// nobody uses;
/// - view, flatten, unsqueeze, squeeze, … are `aten.reshape.default` with the concrete shape;
/// - transpose, t, movedim, … are `aten.permute.default`; expand_as, broadcast_to are `aten.expand.default`;
/// - split, chunk, unbind are `aten.slice.Tensor` and `aten.select.int`;
/// - nodes whose operands or results depend on data stay as they are;
/// - arguments named `dim`, `dims`, `dim0`, … are not negative.
Graph canonicalize(const Graph& graph);

/// Drops nodes whose results nobody uses, and marks the results that nobody uses of the others.
void drop_unused(Graph& graph);

}  // namespace wide
