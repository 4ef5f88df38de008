#include "core/tape.h"

#include <ATen/ATen.h>
#include <ATen/core/dispatch/Dispatcher.h>
#include <c10/core/impl/LocalDispatchKeySet.h>
#include <torch/library.h>

#include <algorithm>
#include <memory>
#include <unordered_map>
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

// A recording of a GPU has memory, not tensors: whoever asks how many share a tensor's storage does not count
// it. So the tape keeps the memory of each storage that it saw, and twins of the tensors on storages of its
// own.
class Twins {
 public:
  void replace(c10::IValue& value) {
    if (value.isTensor()) {
      value = twin(value.toTensor());
    } else if (value.isTensorList()) {
      auto list = value.toTensorList();
      for (std::size_t i = 0; i < list.size(); ++i) list.set(i, twin(list.get(i)));
    } else if (value.isList()) {
      auto list = value.toList();
      for (std::size_t i = 0; i < list.size(); ++i) {
        c10::IValue item = list.get(i);
        replace(item);
        list.set(i, item);
      }
    }
  }

 private:
  at::Tensor twin(const at::Tensor& tensor) {
    if (!tensor.defined() || !tensor.has_storage()) return tensor;
    auto twin = at::detail::make_tensor<c10::TensorImpl>(c10::Storage(storage(tensor.storage())),
                                                         tensor.key_set(), tensor.dtype());
    twin.unsafeGetTensorImpl()->set_storage_offset(tensor.storage_offset());
    twin.unsafeGetTensorImpl()->set_sizes_and_strides(tensor.sizes(), tensor.strides());
    twin._set_conj(tensor.is_conj());
    twin._set_neg(tensor.is_neg());
    return twin;
  }

  c10::Storage storage(const c10::Storage& of) {
    auto* const impl = of.unsafeGetStorageImpl();
    if (const auto known = twins_.find(impl); known != twins_.end()) return known->second;
    void* const data = impl->mutable_data();
    const auto device = impl->device();
    auto memory = std::make_shared<c10::DataPtr>(impl->set_data_ptr({data, device}));
    memory_.push_back(memory);
    impl->set_data_ptr_noswap({data, new std::shared_ptr(memory),
                               [](void* kept) { delete static_cast<std::shared_ptr<c10::DataPtr>*>(kept); },
                               device});
    const auto bytes = impl->nbytes();
    c10::Storage made(c10::Storage::use_byte_size_t(), bytes, c10::DataPtr(data, device));
    return twins_.emplace(impl, made).first->second;
  }

  std::unordered_map<c10::StorageImpl*, c10::Storage> twins_;
  std::vector<std::shared_ptr<c10::DataPtr>> memory_;
};

class Tape final : public Recording {
 public:
  explicit Tape(std::vector<Step> steps) : steps_(std::move(steps)) {
    for (auto& step : steps_) {
      for (auto* values : {&step.arguments, &step.results})
        for (auto& value : *values) twins_.replace(value);
    }
  }

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
  Twins twins_;
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
