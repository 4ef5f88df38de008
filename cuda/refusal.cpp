#include "cuda/refusal.h"

namespace wide::cuda {
namespace {

struct Row {
  CUptiResult code;
  const char *reason, *remedy;
};

constexpr Row kRows[] = {
    {CUPTI_ERROR_NOT_INITIALIZED, "CUPTI could not be initialised: no usable NVIDIA driver",
     "install a driver that supports CUDA 13 and see that nvidia-smi works"},
    {CUPTI_ERROR_INSUFFICIENT_PRIVILEGES, "this user may not profile the GPU",
     "tracing needs no rights on a desktop driver; else load the nvidia module with "
     "NVreg_RestrictProfilingToAdminUsers=0"},
    {CUPTI_ERROR_MULTIPLE_SUBSCRIBERS_NOT_SUPPORTED, "another profiler is attached to this process",
     "run without nsys, ncu or torch.profiler around it"},
    {CUPTI_ERROR_MAX_LIMIT_REACHED, "another profiler is attached to this process",
     "run without nsys, ncu or torch.profiler around it"},
    {CUPTI_ERROR_NOT_COMPATIBLE, "another profiling interface of CUPTI is in use in this process",
     "run without nsys, ncu or torch.profiler around it"},
    {CUPTI_ERROR_OLD_PROFILER_API_INITIALIZED, "an old profiling interface of CUDA is in use in this process",
     "unset COMPUTE_PROFILE and the like, and run again"},
    {CUPTI_ERROR_NOT_SUPPORTED, "the GPU or its driver does not support tracing",
     "use a newer driver, or profile on the CPU"},
    {CUPTI_ERROR_LEGACY_PROFILER_NOT_SUPPORTED, "the GPU does not support this way of tracing",
     "use a newer driver, or profile on the CPU"},
    {CUPTI_ERROR_VIRTUALIZED_DEVICE_NOT_SUPPORTED, "this virtual GPU cannot be traced",
     "ask for a passed-through GPU, or for a vGPU profile that allows profiling"},
    {CUPTI_ERROR_VIRTUALIZED_DEVICE_INSUFFICIENT_PRIVILEGES, "this virtual GPU may not be traced",
     "the host's administrator must enable profiling of the vGPU"},
    {CUPTI_ERROR_CONFIDENTIAL_COMPUTING_NOT_SUPPORTED, "the GPU runs in confidential computing mode",
     "profile on a GPU in ordinary mode"},
    {CUPTI_ERROR_CMP_DEVICE_NOT_SUPPORTED, "mining processors cannot be traced", "use another GPU"},
    {CUPTI_ERROR_MIG_DEVICE_NOT_SUPPORTED, "this part of a divided GPU (MIG) cannot be traced",
     "use a whole GPU"},
    {CUPTI_ERROR_SLI_DEVICE_NOT_SUPPORTED, "GPUs joined by SLI cannot be traced", "switch SLI off"},
    {CUPTI_ERROR_WSL_DEVICE_NOT_SUPPORTED, "the GPU cannot be traced under WSL", "profile on Linux itself"},
    {CUPTI_ERROR_OUT_OF_MEMORY, "CUPTI had no memory for its buffers", "free memory and run again"},
    {CUPTI_ERROR_HARDWARE_BUSY, "the GPU's profiling hardware is in use by another program",
     "wait until it has ended"},
};

}  // namespace

Refusal explain(const CuptiApi& api, CUptiResult code, const std::string& call) {
  const char* name = nullptr;
  if (api.result_string(code, &name) != CUPTI_SUCCESS || name == nullptr) name = "unknown error";
  const auto source = " (" + call + ": " + name + ", " + std::to_string(static_cast<int>(code)) + ")";
  for (const auto& row : kRows) {
    if (row.code == code) return {std::string(row.reason).append(source), row.remedy};
  }
  return {std::string("CUPTI failed").append(source), "see that nvidia-smi works, then run again"};
}

}  // namespace wide::cuda
