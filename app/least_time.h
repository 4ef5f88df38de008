#pragma once
// A time that no pass can take on this machine is a finding, not a win.

#include <cstdint>
#include <string>

#include "core/model/wide_model.h"
#include "profiler/trace/roofline.h"
#include "results/record.h"

namespace wide::app {

/// Operations of one pass over all members, and bytes that it must write: what a time is held against.
struct Work {
  double flops = 0;
  double bytes = 0;  ///< of outputs that a pass computes
};
Work work_of(const Build& built, std::int64_t members);

/// Microseconds that the work takes at the machine's peaks, divided by a margin of 4: algorithms that need
/// fewer operations (Winograd's convolution), and peaks measured beside some other work, stay above it. 0
/// where no peak is known for `dtype`.
double least_microseconds(const Work& work, const std::string& dtype, const profiler::Peaks& peaks);

/// Holds the median time of a pass on the CPU against the least. Peaks are measured, some seconds, only where
/// the time asks for more than any usual core gives; and once more before anything is called impossible.
results::Check check_least_time(const Build& built, std::int64_t members, const std::string& dtype,
                                double median_us);

}  // namespace wide::app
