#include "core/tape.h"

#include <ATen/ATen.h>
#include <ATen/core/dispatch/Dispatcher.h>
#include <c10/core/impl/LocalDispatchKeySet.h>
#include <torch/library.h>

#include <algorithm>
#include <memory>
#include <vector>

namespace wide::test {
namespace {

constexpr auto kKey = c10::DispatchKey::TESTING_ONLY_GenericMode;

struct Step {
  c10::OperatorHandle op;
  std::vector<c10::IValue> arguments, results;
};

thread_local std::vector<Step>* current_tape = nullptr;

void write_down(const c10::OperatorHandle& op, torch::jit::Stack* stack) {
  const c10::impl::ExcludeDispatchKeyGuard below(kKey);
  const auto count = op.schema().arguments().size();
  Step step{op, {stack->end() - static_cast<std::ptrdiff_t>(count), stack->end()}, {}};
  op.callBoxed(stack);
  step.results.assign(stack->end() - static_cast<std::ptrdiff_t>(op.schema().returns().size()), stack->end());
  if (current_tape) current_tape->push_back(std::move(step));
}

TORCH_LIBRARY_IMPL(_, TESTING_ONLY_GenericMode, library) {
  library.fallback(torch::CppFunction::makeFromBoxedFunction<&write_down>());
}

void append_tensors(const c10::IValue& value, std::vector<at::Tensor>& all) {
  if (value.isTensor() && value.toTensor().defined()) all.push_back(value.toTensor());
  if (value.isTensorList()) {
    for (const at::Tensor& tensor : value.toTensorList()) all.push_back(tensor);
  }
}

std::vector<at::Tensor> tensors_in(const std::vector<c10::IValue>& values) {
  std::vector<at::Tensor> all;
  for (const auto& value : values) append_tensors(value, all);
  return all;
}

class Tape final : public Recording {
 public:
  explicit Tape(std::vector<Step> steps) : steps_(std::move(steps)) {}

  void replay() override {
    for (const auto& step : steps_) {
      auto stack = step.arguments;
      step.op.callBoxed(&stack);
      const auto read = tensors_in(step.arguments), before = tensors_in(step.results),
                 now = tensors_in(stack);
      for (std::size_t i = 0; i < before.size(); ++i) {
        const bool view = std::any_of(read.begin(), read.end(),
                                      [&](const at::Tensor& one) { return one.is_alias_of(before[i]); });
        if (!view) before[i].copy_(now[i]);
      }
    }
  }

 private:
  std::vector<Step> steps_;
};

}  // namespace

ComputeDevice recording_cpu() {
  ComputeDevice device;
  device.name = "a CPU that records";
  device.record = [](c10::function_ref<void()> work) -> std::unique_ptr<Recording> {
    std::vector<Step> steps;
    current_tape = &steps;
    const c10::impl::IncludeDispatchKeyGuard on(kKey);
    try {
      work();
    } catch (...) {
      current_tape = nullptr;
      throw;
    }
    current_tape = nullptr;
    return std::make_unique<Tape>(std::move(steps));
  };
  return device;
}

}  // namespace wide::test
