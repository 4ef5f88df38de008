// A GPU to run models on, and a pass as a CUDA Graph.
#include <ATen/ATen.h>
#include <ATen/Context.h>
#include <ATen/core/CachingHostAllocator.h>
#include <ATen/cuda/CUDAGraph.h>
#include <c10/cuda/CUDACachingAllocator.h>
#include <c10/cuda/CUDAFunctions.h>
#include <c10/cuda/CUDAGuard.h>
#include <c10/util/Exception.h>

#include "cuda/run_seam.h"

namespace {

// What is recorded may be nothing, a view say, of which libtorch warns.
class Quiet final : public c10::WarningHandler {
 public:
  void process(const c10::Warning& /*warning*/) override {}
};

class GraphRecording final : public wide::Recording {
 public:
  explicit GraphRecording(c10::function_ref<void()> work) {
    // Capturing needs a stream of its own, on which nothing is under way.
    const auto stream = c10::cuda::getStreamFromPool();
    c10::cuda::device_synchronize();
    const c10::cuda::CUDAStreamGuard on(stream);
    try {
      graph_.capture_begin(pool_, cudaStreamCaptureModeThreadLocal);
      work();
      Quiet quiet;
      const c10::WarningUtils::WarningHandlerGuard on_end(&quiet);
      graph_.capture_end();
    } catch (...) {
      end_failed(stream);
      throw;
    }
  }

  void replay() override { graph_.replay(); }

 private:
  // Note [A capture that fails]
  // After a call that cannot be captured, a wait for the GPU say, the stream is in a capture that nothing can
  // be made of. capture_end() leaves it, but throws before it tells libtorch's allocators and generator,
  // which then take all later work for work of the capture: memory would go to its pool, and nothing could be
  // drawn any more. So the allocators are told here; and what can be captured is, to whose end the generator
  // is told.
  void end_failed(c10::cuda::CUDAStream stream) noexcept {
    if (is_done([&] { graph_.capture_end(); })) return;  // it failed for another reason than the capture
    if (is_done([&] { (void)graph_.pool(); })) return;   // what was captured could not be instantiated
    (void)is_done([&] {
      c10::cuda::CUDACachingAllocator::endAllocateToPool(stream.device_index(), pool_);
      c10::cuda::CUDACachingAllocator::releasePool(stream.device_index(), pool_);
    });
    (void)is_done([&] {
      at::getHostAllocator(at::kCUDA)->end_allocate_to_pool(pool_);
      at::getHostAllocator(at::kCUDA)->release_pool(pool_);
    });
    (void)is_done([&] {
      const auto some = at::empty({1}, at::TensorOptions(stream.device()).dtype(at::kFloat));
      at::cuda::CUDAGraph empty;
      empty.capture_begin({0, 0}, cudaStreamCaptureModeThreadLocal);
      some.zero_();
      empty.capture_end();
    });
  }

  template <typename Work>
  static bool is_done(const Work& work) noexcept {
    try {
      work();
      return true;
    } catch (const std::exception&) {
      return false;
    }
  }

  c10::MempoolId_t pool_ = at::cuda::graph_pool_handle();
  at::cuda::CUDAGraph graph_;
};

}  // namespace

int wide_cuda_run_version() {
  return wide::cuda::kRunSeamVersion;
}

int wide_cuda_run_devices() {
  return at::hasCUDA() ? c10::cuda::device_count() : 0;
}

void wide_cuda_run_open(wide::ComputeDevice* device) {
  // Members alone and wide shall round alike; PyTorch's default rounds convolutions to 10 bits.
  at::globalContext().setAllowTF32CuDNN(false);
  device->device = at::Device(at::kCUDA, 0);
  device->record = [index = device->device.index()](c10::function_ref<void()> work) {
    const c10::cuda::CUDAGuard here(index);
    return std::make_unique<GraphRecording>(work);
  };
}
