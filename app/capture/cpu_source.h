#pragma once
// What runs on the CPU, through libtorch's record functions: operators with their node and member, threads,
// allocations.

#include <c10/core/Device.h>

#include <cstddef>
#include <memory>

#include "profiler/trace/source.h"

namespace wide::app {

/// One is under way at a time in a process. At most `most_slices` are kept on all threads together; what is
/// beyond is counted as dropped. Allocations are those of `device`.
std::unique_ptr<profiler::Source> cpu_source(std::size_t most_slices, c10::Device device);

}  // namespace wide::app
