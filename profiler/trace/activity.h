#pragma once
// How the time of a trace was spent: busy as a union, idle split by what was waited for, launches, memory.

#include <cstdint>
#include <vector>

#include "profiler/trace/structure.h"
#include "profiler/trace/trace.h"

namespace wide::profiler {

/// See Note [Idle]. All times in nanoseconds over all passes.
struct Activity {
  std::int64_t passes = 1;       ///< as marked in the trace; 1 where none is
  std::int64_t wall = 0;         ///< of all passes; without marks from the first slice to the last
  std::int64_t busy = 0;         ///< union of work within the passes
  std::int64_t host_wait = 0;    ///< nothing runs: the host had not asked for more
  std::int64_t kernel_wait = 0;  ///< nothing runs though more was asked for: the gap between kernels
  std::int64_t other = 0;        ///< nothing runs for another reason; wall = busy + these three
  std::int64_t launches = 0;     ///< pieces of work; those of a CUDA Graph are one
  std::int64_t copies = 0;       ///< time of work that only moves data, summed
  std::int64_t in_nodes = 0;     ///< time in which some node or change of layout ran, on any track
  /// The rest of the passes by where it lies; wall = in_nodes + these three. A pass without nodes is all
  /// before.
  std::int64_t before_nodes = 0, between_nodes = 0, after_nodes = 0;
  std::int64_t work = 0;  ///< time of all work, summed over tracks: above busy where tracks overlap

  double per_pass(std::int64_t value) const {
    return static_cast<double>(value) / static_cast<double>(passes > 0 ? passes : 1);
  }
  double busy_share() const { return wall > 0 ? static_cast<double>(busy) / static_cast<double>(wall) : 0; }
};

/// A gap on a device up to this long, with the next kernel launched in time, is the device's own.
inline constexpr std::int64_t kKernelWait = 2'000;  // nanoseconds: a graph's gap is 1.3 us, a stream's 1 to 2

Activity activity(const Trace& trace, const Structure& structure, std::int64_t kernel_wait = kKernelWait);

/// Memory in use over time, as the capture saw it. Bytes.
struct MemoryUse {
  double at_start = 0, peak = 0, at_end = 0;
  std::int64_t peak_time = 0;          ///< nanoseconds since Trace::base_ns
  std::vector<CounterPoint> timeline;  ///< at most `points`, each the largest of its stretch, in order
};

/// Empty timeline when the trace has no memory counter.
MemoryUse memory_use(const Trace& trace, std::size_t points = 512);

}  // namespace wide::profiler
