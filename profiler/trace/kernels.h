#pragma once
// The kernel table: what the work of a trace was, by name.

#include <cstdint>
#include <string>
#include <vector>

#include "profiler/trace/structure.h"
#include "profiler/trace/trace.h"

namespace wide::profiler {

/// All work of one kind and name. Times in nanoseconds over all passes.
struct KernelRow {
  std::string name;
  Kind kind = Kind::kOperator;
  std::int64_t count = 0;
  std::int64_t total = 0, min = 0, max = 0;
  double median = 0;
  double share = 0;  ///< of the total of all rows

  double mean() const { return count == 0 ? 0 : static_cast<double>(total) / static_cast<double>(count); }
};

/// Largest total first.
std::vector<KernelRow> kernels(const Trace& trace, const Structure& structure);

}  // namespace wide::profiler
