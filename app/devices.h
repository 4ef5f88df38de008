#pragma once
// The devices that models can run on here.

#include <string>
#include <vector>

#include "app/engine.h"
#include "core/aten/device.h"

namespace wide::app {

/// "cpu", and "cuda" with the reason where it cannot be used. Looks once in the life of the process; where
/// there is a GPU this opens libtorch's CUDA library, half a gigabyte.
const std::vector<DeviceInfo>& known_devices();

/// As settled_device() of sweep_job.h, which looks for devices only where the name is "auto".
std::string settled_device(const std::string& name);

/// The device ready to run models on; of several GPUs the first. Must come before anything else is asked of
/// libtorch about GPUs, which it answers once for all. Throws CannotMeasure with reason and remedy.
ComputeDevice open_device(const std::string& name);

}  // namespace wide::app
