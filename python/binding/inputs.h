#pragma once
// What operators take from Python: tensors in order, and which of them are mapped.

#include <ATen/ATen.h>
#include <wide/model.h>

#include <cstddef>
#include <cstdint>
#include <vector>

#include "python/binding/models.h"

namespace wide::python {

using Tensors = std::vector<at::Tensor>;
using Mapped = c10::List<bool>;
using Inputs = std::vector<widebench::Input>;

inline Inputs inputs_of(const Tensors& tensors, const Mapped& mapped) {
  if (tensors.size() != mapped.size()) raise("run", "each input is said to be mapped or not");
  Inputs inputs;
  inputs.reserve(tensors.size());
  for (std::size_t i = 0; i < tensors.size(); ++i) inputs.push_back({tensors[i], mapped[i]});
  return inputs;
}

/// `body` with the model and inputs for it.
template <typename Body>
auto on_model(std::int64_t handle, const Tensors& tensors, const Mapped& mapped, Body body) {
  return with_errors([&] {
    const auto model = find(handle);
    return body(*model, inputs_of(tensors, mapped));
  });
}

}  // namespace wide::python
