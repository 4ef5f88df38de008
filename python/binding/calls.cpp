// The operators torch.ops.widebench.forward_*, which run a model.
#include <ATen/ATen.h>
#include <torch/library.h>

#include <array>
#include <cstdint>
#include <optional>
#include <vector>

#include "python/binding/inputs.h"

namespace wide::python {
namespace {

using Results = c10::List<at::Tensor>;  // as torch's operators give them: nothing is copied

at::Tensor with_members(const widebench::Output& output, std::int64_t members) {
  // What a model hands through may require gradients.
  const at::Tensor& given = output.tensor;
  const at::Tensor tensor = given.requires_grad() ? given.detach() : given;
  if (output.mapped) return tensor;
  auto sizes = tensor.sizes().vec();
  sizes.insert(sizes.begin(), members);
  return tensor.expand(sizes);
}

// Numbers among the outputs are left out: Python knows them. Where data give members different numbers of
// axes, no tensor stands in the output's place, and the members' follow behind all others.
Results results_of(const std::optional<std::vector<widebench::Output>>& outputs, std::int64_t members) {
  if (!outputs) raise("unbuilt", "there is no build for these inputs");
  Results results;
  results.reserve(outputs->size());
  for (const auto& output : *outputs) {
    if (!output.each.empty()) {
      results.push_back({});
    } else if (output.tensor.defined()) {
      results.push_back(with_members(output, members));
    }
  }
  for (const auto& output : *outputs) {
    for (const auto& one : output.each) results.push_back(one);
  }
  return results;
}

// What is not built yet is Python's to build, where it can be interrupted. Inputs may require gradients;
// outputs never do.
Results forward_many(std::int64_t handle, const Tensors& tensors, const Mapped& mapped) {
  const at::AutoDispatchBelowAutograd guard;
  return on_model(handle, tensors, mapped, [](widebench::WideModel& model, const Inputs& inputs) {
    return results_of(model.forward_if_prepared(inputs), model.size());
  });
}

// forward_many() for most calls, those of few tensors: to take a number, or lists of tensors and of flags,
// from Python takes longer than some kernels. `call` is an empty tensor [0, model's number times 16 + bit i
// where input i is mapped]; a tensor without memory of its own says that to tracers, too.
template <typename... Given>
Results forward_few(const at::Tensor& call, const Given&... tensors) {
  const at::AutoDispatchBelowAutograd guard;
  return with_errors([&] {
    const std::int64_t said = call.size(1);
    std::int64_t flags = said << 1;
    const std::array inputs = {widebench::Input{tensors, ((flags >>= 1) & 1) != 0}...};
    const auto model = find(said >> 4);
    return results_of(model->forward_if_prepared(inputs), model->size());
  });
}

void refuse_wrapped(const at::Tensor& tensor) {
  const c10::DispatchKeySet wrapped({c10::DispatchKey::FuncTorchBatched,
                                     c10::DispatchKey::FuncTorchGradWrapper,
                                     c10::DispatchKey::Functionalize});
  if (tensor.key_set().has_any(wrapped))
    raise(
        "run",
        "inputs: torch.func.grad, vmap and the like do not pass through a wide model, whose answers carry no "
        "gradients; call it outside of them");
}
void refuse_wrapped(const Tensors& tensors) {
  for (const auto& tensor : tensors) refuse_wrapped(tensor);
}
void refuse_wrapped(const Mapped&) {}
void refuse_wrapped(std::int64_t) {}

// An operator that runs a model, and the same where torch.func.grad, vmap and the like go on: these wrap the
// inputs that they are about, and leave others as they are.
template <auto run>
struct Forward;
template <typename... Arguments, Results (*run)(Arguments...)>
struct Forward<run> {
  static Results plain(Arguments... arguments) { return run(arguments...); }
  static Results transformed(Arguments... arguments) {
    (refuse_wrapped(arguments), ...);
    const c10::impl::ExcludeDispatchKeyGuard outside(c10::DispatchKeySet(
        {c10::DispatchKey::FuncTorchDynamicLayerFrontMode, c10::DispatchKey::FuncTorchDynamicLayerBackMode}));
    return run(arguments...);
  }
};

template <typename Add>
void for_each_forward(Add add) {
  add("forward_many", Forward<&forward_many>());
  add("forward_1", Forward<&forward_few<at::Tensor>>());
  add("forward_2", Forward<&forward_few<at::Tensor, at::Tensor>>());
  add("forward_3", Forward<&forward_few<at::Tensor, at::Tensor, at::Tensor>>());
  add("forward_4", Forward<&forward_few<at::Tensor, at::Tensor, at::Tensor, at::Tensor>>());
}

}  // namespace

TORCH_LIBRARY_FRAGMENT(widebench, m) {
  // Random models draw anew in every call: two equal calls are not one.
  m.def("forward_many(int model, Tensor[] inputs, bool[] mapped) -> Tensor[]",
        {at::Tag::nondeterministic_seeded});
  for (const char* schema : {"forward_1(Tensor call, Tensor a) -> Tensor[]",
                             "forward_2(Tensor call, Tensor a, Tensor b) -> Tensor[]",
                             "forward_3(Tensor call, Tensor a, Tensor b, Tensor c) -> Tensor[]",
                             "forward_4(Tensor call, Tensor a, Tensor b, Tensor c, Tensor d) -> Tensor[]"}) {
    m.def(schema, {at::Tag::nondeterministic_seeded});
  }
}

TORCH_LIBRARY_IMPL(widebench, CompositeExplicitAutograd, m) {
  for_each_forward([&](const char* name, auto forward) { m.impl(name, &decltype(forward)::plain); });
}

TORCH_LIBRARY_IMPL(widebench, FuncTorchDynamicLayerFrontMode, m) {
  for_each_forward([&](const char* name, auto forward) { m.impl(name, &decltype(forward)::transformed); });
}

TORCH_LIBRARY_IMPL(widebench, Autograd, m) {  // they go below autograd themselves
  for_each_forward([&](const char* name, auto) { m.impl(name, torch::CppFunction::makeFallthrough()); });
}

}  // namespace wide::python
