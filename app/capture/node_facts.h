#pragma once
// What a trace says of the nodes of a build: names, strategies, operations and bytes.

#include <cstdint>
#include <vector>

#include "core/model/wide_model.h"
#include "profiler/trace/limits.h"
#include "profiler/trace/trace.h"

namespace wide::app {

/// By index into the nodes of the graph that is planned. Operations and bytes are those of one pass over all
/// members; where a primitive does not count operations, one per element of the results.
std::vector<profiler::TraceNode> wide_nodes(const Build& build, std::int64_t members);

/// What the plan knew of each node that takes time in a pass: its module, its time and those of the others
/// that could run it.
std::vector<profiler::NodeOffer> node_offers(const Build& build);

/// By index into the nodes of the graph that separate runs take: names, and in which node of wide each went.
/// A node whose results wide does not have was folded into whichever reads them first.
std::vector<profiler::TraceNode> separate_nodes(const Build& build);

}  // namespace wide::app
