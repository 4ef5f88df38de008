// libwide_cuda_run.so of the made-up GPU: models run on the made-up device, and passes are recorded.
#include <c10/core/InferenceMode.h>

#include "core/fake_device.h"
#include "core/tape.h"
#include "cuda/run_seam.h"
#include "made_up_gpu/gpu.h"

namespace {

class GraphLaunch final : public wide::Recording {
 public:
  explicit GraphLaunch(c10::function_ref<void()> work) {
    wide::test::begin_graph();
    try {
      recording_ = wide::test::recording_cpu().record(work);
    } catch (...) {
      wide::test::end_graph();
      throw;
    }
    graph_ = wide::test::end_graph();
  }
  void replay() override {
    const c10::InferenceMode guard;  // what was recorded was
    wide::test::begin_graph_launch();
    recording_->replay();
    wide::test::end_graph_launch(graph_);
  }

 private:
  std::unique_ptr<wide::Recording> recording_;
  int graph_ = 0;
};

}  // namespace

int wide_cuda_run_version() {
  return wide::cuda::kRunSeamVersion;
}

int wide_cuda_run_devices() {
  return 1;
}

void wide_cuda_run_open(wide::ComputeDevice* device) {
  device->device = wide::test::fake_device().device;
  device->record = [](c10::function_ref<void()> work) { return std::make_unique<GraphLaunch>(work); };
  wide::test::watch_fake_device(wide::test::device_did);
}
