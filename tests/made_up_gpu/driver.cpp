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
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

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
    if (is_set("denied"))
      cupti_.enable_fails[CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL] = CUPTI_ERROR_INSUFFICIENT_PRIVILEGES;
    if (is_set("taken")) cupti_.subscribe_fails = CUPTI_ERROR_MULTIPLE_SUBSCRIBERS_NOT_SUPPORTED;
  }

  void did(const std::string& what, std::int64_t from, std::int64_t to, std::int64_t on) {
    const std::lock_guard lock(mutex_);
    if (playing_) return;
    if (recording_) {
      cupti_.node_made(++graph_node_);
      return recording_->push_back({what, graph_node_, to - from});
    }
    if (cupti_.enabled.empty()) return;
    const auto start = static_cast<std::uint64_t>(from), end = static_cast<std::uint64_t>(to);
    const auto stream = kFirstStream + static_cast<std::uint32_t>(on);
    const bool copy = what == "copy";
    const auto correlation = ++correlation_;
    launch(correlation, start, copy ? "cudaMemcpyAsync_v3020" : "cudaLaunchKernel_v7000");
    if (loses(what)) return;
    const auto begun = start + kLaunch, ended = std::max(end, begun + 1);
    if (copy) {
      cupti_.copy(correlation, begun, ended);
    } else {
      cupti_.kernel(correlation, begun, ended, name(what), stream);
    }
  }

  void begin_graph() {
    const std::lock_guard lock(mutex_);
    recording_.emplace();
  }
  // As CUDA does: what is launched later are copies of what was recorded.
  int end_graph() {
    const std::lock_guard lock(mutex_);
    for (auto& piece : *recording_) {
      const auto original = std::exchange(piece.node, ++graph_node_);
      cupti_.node_made(piece.node);
      cupti_.node_copied(piece.node, original);
    }
    graphs_.push_back(std::move(*recording_));
    recording_.reset();
    return static_cast<int>(graphs_.size()) - 1;
  }

  void begin_graph_launch() {
    const std::lock_guard lock(mutex_);
    playing_ = now();
  }
  // The pieces share the time that it took to play them, each as much as when it was recorded.
  void end_graph_launch(int graph) {
    const std::lock_guard lock(mutex_);
    const auto start = *std::exchange(playing_, std::nullopt);
    if (cupti_.enabled.empty()) return;
    const auto correlation = ++correlation_;
    launch(correlation, start, "cudaGraphLaunch_v10000");
    const auto& pieces = graphs_[static_cast<std::size_t>(graph)];
    double all = 0, before = 0;
    for (const auto& piece : pieces) all += static_cast<double>(piece.took);
    const auto begun = start + kLaunch;
    const auto room = static_cast<double>(std::max(now(), begun + pieces.size() + 1) - begun);
    const auto time = [&](double at) {
      return begun + static_cast<std::uint64_t>(room * at / std::max(all, 1.0));
    };
    for (const auto& piece : pieces) {
      const auto from = time(before),
                 to = std::max(time(before += static_cast<double>(piece.took)), from + 1);
      if (loses(piece.what)) continue;
      const auto node = is_set("old") ? 0 : piece.node;
      if (piece.what == "copy") {
        cupti_.copy(correlation, from, to, node);
      } else {
        cupti_.graph_kernel(correlation, from, node, to, name(piece.what));
      }
    }
  }

 private:
  struct Piece {
    std::string what;
    std::uint64_t node;  // of the graph
    std::int64_t took;
  };
  using Graph = std::vector<Piece>;

  void launch(std::uint32_t correlation, std::uint64_t start, const char* call) {
    if (!cupti_.externals.empty()) cupti_.external(correlation, cupti_.externals.back());
    cupti_.launch(correlation, start, static_cast<std::uint32_t>(::syscall(SYS_gettid)), false, call);
  }
  // What is launched now leaves no record.
  bool loses(const std::string& what) {
    if (is_set("drops")) cupti_.dropped = 3;
    return is_set("silent") && what != "widebench_sentinel";
  }
  static std::uint64_t now() {
    const auto time = std::chrono::steady_clock::now().time_since_epoch();
    return static_cast<std::uint64_t>(std::chrono::nanoseconds(time).count());
  }
  // Records hold the address.
  const char* name(const std::string& what) { return names_.insert(what).first->c_str(); }

  FakeCupti cupti_;
  std::mutex mutex_;
  std::set<std::string> names_;
  std::uint32_t correlation_ = 0;
  std::uint64_t graph_node_ = 0;
  std::optional<Graph> recording_;
  std::vector<Graph> graphs_;
  std::optional<std::uint64_t> playing_;  // since when
};

Gpu& gpu() {
  static Gpu gpu;
  return gpu;
}

}  // namespace

void device_did(const char* what, std::int64_t start, std::int64_t end, std::int64_t stream) {
  gpu().did(what, start, end, stream);
}

void begin_graph() {
  gpu().begin_graph();
}

int end_graph() {
  return gpu().end_graph();
}

void begin_graph_launch() {
  gpu().begin_graph_launch();
}

void end_graph_launch(int graph) {
  gpu().end_graph_launch(graph);
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
