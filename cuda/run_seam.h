#pragma once
// What the program asks of libwide_cuda_run.so, which it opens to run a model on a GPU. To open it is to load
// libtorch's CUDA library, whose operators, generators and streams the program then reaches through libtorch
// itself; what is left to ask is what libtorch has no device-independent name for.

#include "core/aten/device.h"

namespace wide::cuda {

inline constexpr int kRunSeamVersion = 2;

}  // namespace wide::cuda

extern "C" {
/// kRunSeamVersion of the library: another one is not used.
int wide_cuda_run_version();
/// How many GPUs libtorch sees; 0 where it can use none.
int wide_cuda_run_devices();
/// Makes `device` the first GPU, ready to run models on, whose passes are recorded into CUDA Graphs; its name
/// stays. Must come before anything else is asked of libtorch about GPUs, which it answers once for all.
void wide_cuda_run_open(wide::ComputeDevice* device);
}
