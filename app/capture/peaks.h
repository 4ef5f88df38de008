#pragma once
// What this machine's CPU, or its GPU, reaches at most, measured once and kept.

#include "core/aten/device.h"
#include "profiler/trace/roofline.h"

namespace wide::app {

/// Copies and matrix products: on the CPU with the threads that libtorch has now, on a device also the time
/// from one kernel to the next, launched and in a recording. Takes about two seconds.
profiler::Peaks measure_peaks(const ComputeDevice& device);

/// The peaks of this machine and number of threads, or of the device, in peaks_folder(); measured and stored
/// where there are none, or where `again` asks for it. A folder that cannot be written costs the storing
/// only.
profiler::Peaks stored_peaks(const ComputeDevice& device, bool again);

}  // namespace wide::app
