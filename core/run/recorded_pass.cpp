#include "core/run/recorded_pass.h"

#include <ATen/ATen.h>

#include <exception>

namespace wide {

void RecordedPass::try_to_record(std::span<const WideTensor> inputs, Pass pass) try {
  for (const auto& input : inputs)
    places_.push_back({input.tensor.defined() ? input.tensor.clone() : input.tensor, input.layout});
  recording_ = record_([&] { written_ = pass(places_); });
} catch (const std::exception& error) {
  refusal_ = error.what();
  places_.clear();
  written_.clear();
}

void RecordedPass::forget() {
  recording_.reset();
  refusal_.clear();
  places_.clear();
  written_.clear();
}

std::vector<ExecutionOutput> RecordedPass::run(std::span<const WideTensor> inputs, Pass pass) {
  if (!warm_ || !refusal_.empty()) {
    warm_ = true;
    return pass(inputs);
  }
  if (!recording_) {
    try_to_record(inputs, pass);
    if (!recording_) return pass(inputs);
  }
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    if (places_[i].tensor.defined()) places_[i].tensor.copy_(inputs[i].tensor, /*non_blocking=*/true);
  }
  recording_->replay();
  auto outputs = written_;
  for (auto& output : outputs) {
    for (auto& part : output.parts) {
      if (part.defined()) part = part.clone();
    }
  }
  return outputs;
}

}  // namespace wide
