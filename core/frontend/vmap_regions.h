#pragma once
// torch.vmap as torch.export of 2.15 leaves it in a file: not as operators, but as Python's calls around
// them.

#include "formats/exported_program.h"

namespace wide {

/// Whether the graph has regions of vmap; those of nested graphs do not count.
bool has_vmap_regions(const formats::Subgraph& graph);

/// The graph with each region of vmap, from _vmap_increment_nesting to the _vmap_decrement_nesting of the
/// same level, as one node `map` over the rows of what _add_batch_dim took; regions inside it are in its
/// graph. Throws wide::Error ("capture") naming the node where a region has no end, gives or takes no rows,
/// or draws random numbers, which vmap draws for all rows at once.
formats::Subgraph with_maps(formats::Subgraph graph);

}  // namespace wide
