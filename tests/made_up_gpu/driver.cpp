// libcuda.so.1 of the made-up GPU: the driver's calls that the program makes, and a CUPTI that is told what
// the made-up device does.
#include <cuda.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <cstring>
#include <mutex>
#include <set>
#include <string>
#include <string_view>

#include "cuda/fake_cupti.h"
#include "made_up_gpu/gpu.h"

namespace wide::test {
namespace {

constexpr std::uint64_t kLaunch = 20;  // nanoseconds that a launch takes the host
constexpr std::uint32_t kFirstStream = 7;

bool is_set(const char* fault) {
  const char* given = std::getenv("MADE_UP_GPU");
  return given != nullptr && std::strcmp(given, fault) == 0;
}

class Gpu {
 public:
  Gpu() {
    cupti_.takes_clock = true;
    if (is_set("denied")) {
      cupti_.enable_fails[CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL] = CUPTI_ERROR_INSUFFICIENT_PRIVILEGES;
    }
  }

  void did(const std::string& what, std::int64_t from, std::int64_t to, std::int64_t on) {
    const std::lock_guard lock(mutex_);
    if (cupti_.enabled.empty()) return;
    const auto start = static_cast<std::uint64_t>(from), end = static_cast<std::uint64_t>(to);
    const auto stream = kFirstStream + static_cast<std::uint32_t>(on);
    const bool copy = what == "copy", replay = in_graph_ != 0;
    const auto correlation = replay ? in_graph_ : ++correlation_;
    if (!replay) launch(correlation, start, copy ? "cudaMemcpyAsync_v3020" : "cudaLaunchKernel_v7000");
    if (is_set("silent") && what != "widebench_sentinel") return;
    if (is_set("drops")) cupti_.dropped = 3;
    const auto begun = start + kLaunch, ended = std::max(end, begun + 1);
    if (copy) {
      cupti_.copy(correlation, begun, ended);
    } else if (replay) {
      cupti_.graph_kernel(correlation, begun, ++node_, ended, name(what));
    } else {
      cupti_.kernel(correlation, begun, ended, name(what), stream);
    }
  }

  void begin_graph() {
    const std::lock_guard lock(mutex_);
    in_graph_ = ++correlation_, node_ = 0;
    if (cupti_.enabled.empty()) return;
    const auto time = std::chrono::steady_clock::now().time_since_epoch();
    launch(in_graph_, static_cast<std::uint64_t>(std::chrono::nanoseconds(time).count()),
           "cudaGraphLaunch_v10000");
  }
  void end_graph() {
    const std::lock_guard lock(mutex_);
    in_graph_ = 0;
  }

 private:
  void launch(std::uint32_t correlation, std::uint64_t start, const char* call) {
    if (!cupti_.externals.empty()) cupti_.external(correlation, cupti_.externals.back());
    cupti_.launch(correlation, start, static_cast<std::uint32_t>(::syscall(SYS_gettid)), false, call);
  }
  // Records hold the address.
  const char* name(const std::string& what) { return names_.insert(what).first->c_str(); }

  FakeCupti cupti_;
  std::mutex mutex_;
  std::set<std::string> names_;
  std::uint32_t correlation_ = 0, in_graph_ = 0;
  std::uint64_t node_ = 0;
};

Gpu& gpu() {
  static Gpu gpu;
  return gpu;
}

}  // namespace

void device_did(const char* what, std::int64_t start, std::int64_t end, std::int64_t stream) {
  gpu().did(what, start, end, stream);
}

void begin_graph_launch() {
  gpu().begin_graph();
}

void end_graph_launch() {
  gpu().end_graph();
}

const cuda::CuptiApi& made_up_cupti() {
  (void)gpu();
  return FakeCupti::api();
}

}  // namespace wide::test

CUresult cuInit(unsigned int) {
  return CUDA_SUCCESS;
}
CUresult cuDriverGetVersion(int* version) {
  *version = 13000;
  return CUDA_SUCCESS;
}
CUresult cuDeviceGetCount(int* count) {
  *count = 1;
  return CUDA_SUCCESS;
}
CUresult cuDeviceGet(CUdevice* device, int) {
  *device = 0;
  return CUDA_SUCCESS;
}
CUresult cuDeviceGetName(char* name, int room, CUdevice) {
  std::strncpy(name, "Made-up GPU", static_cast<std::size_t>(room));
  return CUDA_SUCCESS;
}
CUresult cuDevicePrimaryCtxRetain(CUcontext* context, CUdevice) {
  *context = nullptr;
  return CUDA_SUCCESS;
}
CUresult cuCtxSetCurrent(CUcontext) {
  return CUDA_SUCCESS;
}
CUresult cuModuleLoadData(CUmodule* module, const void*) {
  *module = nullptr;
  return CUDA_SUCCESS;
}
CUresult cuModuleGetFunction(CUfunction* function, CUmodule, const char* name) {
  static std::string known;
  known = name;
  *function = reinterpret_cast<CUfunction>(&known);
  return CUDA_SUCCESS;
}
CUresult cuLaunchKernel(CUfunction function, unsigned int, unsigned int, unsigned int, unsigned int,
                        unsigned int, unsigned int, unsigned int, CUstream, void**, void**) {
  const auto time = std::chrono::nanoseconds(std::chrono::steady_clock::now().time_since_epoch()).count();
  wide::test::device_did(reinterpret_cast<const std::string*>(function)->c_str(), time, time + 1000, 0);
  return CUDA_SUCCESS;
}
CUresult cuCtxSynchronize() {
  return CUDA_SUCCESS;
}
CUresult cuGetErrorString(CUresult, const char** text) {
  *text = "made up";
  return CUDA_SUCCESS;
}
