#include "core/tune/recorded_run.h"

#include <memory>
#include <utility>

namespace wide {

std::function<void()> recorded_run(const ComputeDevice& device, std::function<void()> call) {
  struct State {
    std::function<void()> call;
    std::unique_ptr<Recording> recording;
  };
  const auto state = std::make_shared<State>(State{std::move(call), nullptr});
  return [state, record = device.record] {
    if (!state->recording) {
      state->call();
      state->recording = record([&] {
        for (int i = 0; i < kRecordedCalls; ++i) state->call();
      });
    }
    state->recording->replay();
  };
}

}  // namespace wide
