#pragma once
// What this machine's CPU reaches at most, measured once and kept.

#include <filesystem>

#include "profiler/trace/roofline.h"

namespace wide::app {

/// Copies and matrix products with the threads that libtorch has now. Takes about two seconds.
profiler::Peaks measure_peaks();

/// The stored peaks of this machine and number of threads; measured and stored where there are none, or where
/// `again` asks for it. A folder that cannot be written costs the storing only.
profiler::Peaks stored_peaks(bool again);

/// Where they are kept: $XDG_CACHE_HOME/widebench/peaks.
std::filesystem::path peaks_folder();

}  // namespace wide::app
