#pragma once
// What this machine's CPU reaches at most, measured once and kept.

#include "profiler/trace/roofline.h"

namespace wide::app {

/// Copies and matrix products with the threads that libtorch has now. Takes about two seconds.
profiler::Peaks measure_peaks();

/// The peaks of this machine and number of threads in peaks_folder(); measured and stored where there are
/// none, or where `again` asks for it. A folder that cannot be written costs the storing only.
profiler::Peaks stored_peaks(bool again);

}  // namespace wide::app
