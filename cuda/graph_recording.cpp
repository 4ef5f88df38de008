// A GPU to run models on, and a pass as a CUDA Graph. Never run on a GPU: see docs/gpu.md.
#include <ATen/Context.h>
#include <ATen/cuda/CUDAGraph.h>
#include <c10/cuda/CUDAFunctions.h>
#include <c10/cuda/CUDAGuard.h>

#include "cuda/run_seam.h"

namespace {

class GraphRecording final : public wide::Recording {
 public:
  explicit GraphRecording(c10::function_ref<void()> work) {
    // Capturing needs a stream of its own, on which nothing is under way.
    const auto stream = c10::cuda::getStreamFromPool();
    c10::cuda::device_synchronize();
    const c10::cuda::CUDAStreamGuard on(stream);
    graph_.capture_begin({0, 0}, cudaStreamCaptureModeThreadLocal);
    try {
      work();
    } catch (...) {
      end_of_failed_capture();
      throw;
    }
    graph_.capture_end();
  }

  void replay() override { graph_.replay(); }

 private:
  // The stream must leave the capture; that it failed is known.
  void end_of_failed_capture() noexcept {
    try {
      graph_.capture_end();
    } catch (const std::exception&) {
    }
  }

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
