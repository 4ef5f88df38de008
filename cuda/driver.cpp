#include "cuda/driver.h"

#include <dlfcn.h>

#include <array>

namespace wide::cuda {

// The names in cuda.h are macros for the newest variants ("cuCtxSetCurrent_v2"): NAME spells what is looked
// up.
#define WIDE_NAME(name) WIDE_TEXT(name)
#define WIDE_TEXT(name) #name

template <typename Function>
bool Driver::find(Function& function, const char* name) {
  function = reinterpret_cast<Function>(::dlsym(library_, name));
  return function != nullptr;
}

std::optional<Refusal> Driver::failed(CUresult code, const char* call) const {
  if (code == CUDA_SUCCESS) return std::nullopt;
  const char* text = nullptr;
  if (error_text_ && error_text_(code, &text) != CUDA_SUCCESS) text = nullptr;
  const auto reason = std::string(call).append(": ").append(text ? text : "unknown error");
  if (code == CUDA_ERROR_NO_DEVICE)
    return Refusal{"the driver sees no GPU (" + reason + ")", "see nvidia-smi, and CUDA_VISIBLE_DEVICES"};
  return Refusal{"the CUDA driver failed (" + reason + ")", "see that nvidia-smi works, then run again"};
}

std::optional<Refusal> Driver::open() {
  library_ = ::dlopen("libcuda.so.1", RTLD_NOW | RTLD_LOCAL);
  if (!library_) {
    return Refusal{"there is no NVIDIA driver: libcuda.so.1 is not found",
                   "install the NVIDIA driver, in a container run it with --gpus all; the CPU works without"};
  }
  const bool all =
      find(init_, WIDE_NAME(cuInit)) && find(get_version_, WIDE_NAME(cuDriverGetVersion)) &&
      find(count_, WIDE_NAME(cuDeviceGetCount)) && find(device_, WIDE_NAME(cuDeviceGet)) &&
      find(name_, WIDE_NAME(cuDeviceGetName)) && find(retain_, WIDE_NAME(cuDevicePrimaryCtxRetain)) &&
      find(set_current_, WIDE_NAME(cuCtxSetCurrent)) && find(load_, WIDE_NAME(cuModuleLoadData)) &&
      find(function_, WIDE_NAME(cuModuleGetFunction)) && find(launch_, WIDE_NAME(cuLaunchKernel)) &&
      find(synchronize_, WIDE_NAME(cuCtxSynchronize)) && find(error_text_, WIDE_NAME(cuGetErrorString));
  Dl_info info{};
  if (all && ::dladdr(reinterpret_cast<void*>(init_), &info) != 0 && info.dli_fname) path_ = info.dli_fname;
  if (!all) return Refusal{"the NVIDIA driver is too old", "install one that supports CUDA 13"};
  return failed(init_(0), "cuInit");
}

std::string Driver::version() const {
  int version = 0;
  if (!get_version_ || get_version_(&version) != CUDA_SUCCESS) return "";
  return std::to_string(version / 1000).append(".").append(std::to_string(version % 1000 / 10));
}

std::vector<std::string> Driver::devices() const {
  int count = 0;
  std::vector<std::string> names;
  if (count_(&count) != CUDA_SUCCESS) return names;
  for (int i = 0; i < count; ++i) {
    CUdevice device = 0;
    std::array<char, 256> name{};
    if (device_(&device, i) == CUDA_SUCCESS && name_(name.data(), name.size() - 1, device) == CUDA_SUCCESS)
      names.emplace_back(name.data());
  }
  return names;
}

std::optional<Refusal> Driver::launch_sentinel() const {
  CUdevice device = 0;
  CUcontext context = nullptr;
  CUmodule module = nullptr;
  CUfunction function = nullptr;
  if (auto no = failed(device_(&device, 0), "cuDeviceGet")) return no;
  if (auto no = failed(retain_(&context, device), "cuDevicePrimaryCtxRetain")) return no;
  if (auto no = failed(set_current_(context), "cuCtxSetCurrent")) return no;
  if (auto no = failed(load_(&module, kSentinelCode), "cuModuleLoadData")) return no;
  if (auto no = failed(function_(&function, module, kSentinelKernel), "cuModuleGetFunction")) return no;
  if (auto no = failed(launch_(function, 1, 1, 1, 1, 1, 1, 0, nullptr, nullptr, nullptr), "cuLaunchKernel"))
    return no;
  return failed(synchronize_(), "cuCtxSynchronize");
}

#undef WIDE_NAME
#undef WIDE_TEXT

}  // namespace wide::cuda
