#pragma once
// A device's recording, played by the CPU: operators are written down with the memory they read and write,
// and are run again on the same memory.

#include "core/aten/device.h"

namespace wide::test {

/// The CPU as a device that can record. What kernels of libwide's own write is not recorded.
ComputeDevice recording_cpu();

}  // namespace wide::test
