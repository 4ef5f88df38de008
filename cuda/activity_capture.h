#pragma once
// One capture of what a GPU does, through CUPTI's activity interface.

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "cuda/activity_reader.h"
#include "cuda/cupti_api.h"
#include "cuda/refusal.h"
#include "profiler/trace/source.h"

namespace wide::cuda {

/// CUPTI's callbacks carry no context, so there is one capture at a time in a process, and the callbacks are
/// registered once per process and table.
class ActivityCapture final : public profiler::Source {
 public:
  struct Settings {
    std::size_t buffers = 16;  ///< made before the capture, so that it makes none while kernels run
    std::size_t buffer_bytes = 8 << 20;
    std::function<void()> sentinel;  ///< launches a kernel named `sentinel_name`; empty: none
    std::string sentinel_name;
    std::shared_ptr<const GraphPlaces> graphs;  ///< of CUDA Graphs that were recorded before; null: of none
    std::vector<std::string> devices;           ///< names, by index
    std::function<std::int64_t()> now = profiler::now;  ///< the clock of the host's slices
  };

  ActivityCapture(const CuptiApi& api, Settings settings);
  ~ActivityCapture() override;

  std::string start(std::int64_t origin) override;
  /// What is launched between these is of that step.
  void begin(const profiler::Step& step) override;
  void end() override;
  void stop() override;
  void add_to(profiler::Trace& trace) override;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

/// Whether another tool is attached to this process: CUPTI lets one subscribe.
std::optional<Refusal> other_subscriber(const CuptiApi& api);

}  // namespace wide::cuda
