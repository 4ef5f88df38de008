#pragma once
// The few calls of the CUDA driver that are needed to launch a test kernel, found at run time.

#include <cuda.h>

#include <optional>
#include <string>
#include <vector>

#include "cuda/refusal.h"

namespace wide::cuda {

/// The name of the kernel that launch_sentinel() launches.
inline constexpr const char* kSentinelKernel = "widebench_sentinel";
/// It, in PTX, so that the driver compiles it for whatever GPU there is.
inline constexpr const char* kSentinelCode =
    ".version 7.0\n.target sm_75\n.address_size 64\n.visible .entry widebench_sentinel() { ret; }\n";

/// libcuda.so.1, opened for the life of the process.
class Driver {
 public:
  /// Opens and initialises it, or says why it cannot be used.
  std::optional<Refusal> open();

  const std::string& path() const { return path_; }
  std::string version() const;
  std::vector<std::string> devices() const;
  /// Launches an empty kernel on the first device and waits for it.
  std::optional<Refusal> launch_sentinel() const;

 private:
  template <typename Function>
  bool find(Function& function, const char* name);
  std::optional<Refusal> failed(CUresult code, const char* call) const;

  void* library_ = nullptr;
  std::string path_;
  decltype(&cuInit) init_ = nullptr;
  decltype(&cuDriverGetVersion) get_version_ = nullptr;
  decltype(&cuDeviceGetCount) count_ = nullptr;
  decltype(&cuDeviceGet) device_ = nullptr;
  decltype(&cuDeviceGetName) name_ = nullptr;
  decltype(&cuDevicePrimaryCtxRetain) retain_ = nullptr;
  decltype(&cuCtxSetCurrent) set_current_ = nullptr;
  decltype(&cuModuleLoadData) load_ = nullptr;
  decltype(&cuModuleGetFunction) function_ = nullptr;
  decltype(&cuLaunchKernel) launch_ = nullptr;
  decltype(&cuCtxSynchronize) synchronize_ = nullptr;
  decltype(&cuGetErrorString) error_text_ = nullptr;
};

}  // namespace wide::cuda
