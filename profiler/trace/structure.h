#pragma once
// What the columns of a trace do not say: which slice runs inside which, and which are work.

#include <cstdint>
#include <string_view>
#include <vector>

#include "profiler/trace/trace.h"

namespace wide::profiler {

/// Computed once for a trace and shared by every analysis; all vectors by slice index.
struct Structure {
  bool device = false;               ///< the trace has work on a device
  bool has_passes = false;           ///< some slice stands for a pass
  std::vector<std::int32_t> parent;  ///< the slice around it on its track, -1 outermost
  std::vector<std::int64_t> self;    ///< nanoseconds not spent in slices within it
  /// Work: kernels, copies and fills of a device; on a CPU see Note [Work of a CPU].
  std::vector<bool> work;
  std::vector<std::int64_t> own;  ///< nanoseconds of work, less other work within it; 0 where it is none
  std::vector<bool> conversion;   ///< work within a change of layout; a device's: launched or recorded in one
  std::vector<bool> copy;         ///< work that only moves data, or any work within a change of layout
  std::vector<std::uint32_t> order;  ///< slices by track, then start, outer ones first

  /// True when slice `i` belongs to a forward pass (to anything, in a trace that marks none).
  bool counts(const Trace& trace, std::size_t i) const { return !has_passes || trace.slices.pass(i) >= 0; }
};

Structure structure(const Trace& trace);

/// True for the name of an operator or kernel that only moves data.
bool moves_data(Kind kind, std::string_view name);

/// True for an operator that touches no element itself: allocation, views, and wrappers of copies and fills.
bool only_arranges(std::string_view name);

}  // namespace wide::profiler
