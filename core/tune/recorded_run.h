#pragma once
// Calls as one recording: where a pass is launched as a whole, an operator costs what the device takes for
// it, not what the host takes to launch it.

#include <functional>

#include "core/aten/device.h"

namespace wide {

inline constexpr int kRecordedCalls = 8;

/// Launches kRecordedCalls calls of `call`, which its first run records after one that sets libraries up.
/// That run throws where `call` does, or cannot be recorded.
std::function<void()> recorded_run(const ComputeDevice& device, std::function<void()> call);

}  // namespace wide
