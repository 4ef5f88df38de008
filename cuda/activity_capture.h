#pragma once
// One capture of what a GPU does, through CUPTI's activity interface.

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "cuda/activity_reader.h"
#include "cuda/cupti_api.h"
#include "cuda/refusal.h"
#include "profiler/trace/trace.h"

namespace wide::cuda {

/// CUPTI's callbacks carry no context, so there is one capture at a time in a process, and the callbacks are
/// registered once per process and table.
class ActivityCapture {
 public:
  struct Settings {
    std::size_t buffers = 16;  ///< made before the capture, so that it makes none while kernels run
    std::size_t buffer_bytes = 8 << 20;
    std::function<void()> sentinel;  ///< launches a kernel named `sentinel_name`; empty: none
    std::string sentinel_name;
  };

  ActivityCapture(const CuptiApi& api, Settings settings);
  ~ActivityCapture();
  ActivityCapture(const ActivityCapture&) = delete;
  ActivityCapture& operator=(const ActivityCapture&) = delete;

  /// Begins; a refusal says why it could not, and nothing is left switched on then.
  std::optional<Refusal> start();

  /// What is launched between these is `place`'s. They nest.
  void enter(const Place& place);
  void leave();

  /// Ends the capture and adds what was recorded to `trace`. The badge says whether all is there.
  void finish(profiler::Trace& trace);

 private:
  struct State;
  std::unique_ptr<State> state_;
};

/// Whether another tool is attached to this process: CUPTI lets one subscribe.
std::optional<Refusal> other_subscriber(const CuptiApi& api);

}  // namespace wide::cuda
