#pragma once
// Traces with known times, for the tests of what is read out of them.

#include "profiler/trace/trace.h"

namespace wide::test {

/// Two members, two passes of 1000 ns on one thread: nodes 0 (linear, 400 ns) and 1 (relu, 300 ns), each with
/// a wrapper operator around a leaf; a change of layout of 100 ns before node 1; memory rising to 4096 bytes.
profiler::Trace wide_trace();

/// The same two nodes for one member after the other, 2000 ns a pass, four times the operator calls.
profiler::Trace eager_trace();

/// A device trace: five launches and kernels on two streams; see the source for the times.
profiler::Trace device_trace();

/// `count` operators in nodes in passes, with many names.
profiler::Trace large_trace(std::size_t count);

}  // namespace wide::test
