#pragma once
// What this machine's CPU, or its GPU, reaches at most, measured once and kept.

#include <cstdint>
#include <functional>

#include "core/aten/device.h"
#include "processes/load.h"
#include "profiler/trace/roofline.h"

namespace wide::app {

/// Copies and matrix products: on the CPU with the threads that libtorch has now, on a device also the time
/// from one kernel to the next, launched and in a recording. Takes about two seconds.
profiler::Peaks measure_peaks(const ComputeDevice& device);

/// Measures, and once more where the peaks make no sense or the machine had other work; what is doubtful of
/// the last try is in its `doubts`.
profiler::Peaks peaks_in_peace(const std::function<profiler::Peaks()>& measure, processes::LoadSource& load,
                               int threads);

/// Which of the peaks that are stored will do.
enum class KeptPeaks : std::uint8_t {
  kBelieved,  ///< those in which nothing is doubtful
  kAny,       ///< doubtful ones too: where a wide margin is left, as for the least time of a pass
  kNone,      ///< measure again
};

/// The peaks of this machine and number of threads, or of the device, in peaks_folder(); measured and stored
/// where there are none that will do. A folder that cannot be written costs the storing only.
profiler::Peaks stored_peaks(const ComputeDevice& device, KeptPeaks kept);

}  // namespace wide::app
