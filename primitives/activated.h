#pragma once
// An activation as the end of a layer's kernel.

#include <ATen/core/Tensor.h>

#include <utility>

#include "core/strategy/activation.h"
#include "primitives/kernels/activate.h"
#include "primitives/support.h"

namespace wide {

/// `after` of `y`, which nobody else holds and autograd does not watch.
inline void activate_in_place(const Activation& after, at::Tensor& y) {
  const auto own = kernels::row_function(after.name);
  if (own && y.is_cpu() && y.scalar_type() == at::kFloat && y.is_non_overlapping_and_dense()) {
    kernels::apply_in_place(own, y);
  } else {
    after.apply_in_place(y);
  }
}

/// `product`, and then `after` of its only result, in place; without an activation `product` itself.
inline Kernel activated(const Activation* after, Kernel product) {
  if (after == nullptr) return product;
  return [=](std::span<const at::Tensor> in, std::span<at::Tensor> out) {
    product(in, out);
    if (wants_gradients(in)) {
      out[0] = after->apply(out[0]);
    } else {
      activate_in_place(*after, out[0]);
    }
  };
}

/// `prepare` of the layer alone, and then its activation.
template <Kernel (*prepare)(const Call& call, const Offer& offer)>
Kernel prepare_activated(const Call& call, const Offer& offer) {
  auto layer = call;
  layer.node = without_activation(layer.node);
  return activated(activation_in(call.node), prepare(layer, offer));
}

/// `prepare` of the layer alone with the loop that its kernel ends with; null where `call` has no activation,
/// or none of our own, which then follows.
template <Kernel (*prepare)(const Call& call, kernels::RowFunction after)>
Kernel prepare_ending_in_activation(const Call& call, const Offer&) {
  const auto* after = activation_in(call.node);
  const auto own =
      after && call.results[0].dtype == at::kFloat ? kernels::row_function(after->name) : nullptr;
  auto layer = call;
  layer.node = without_activation(layer.node);
  return activated(own != nullptr ? nullptr : after, prepare(layer, own));
}

/// What that costs, in nanoseconds: a pass over the result. 0 where `call` has no activation.
inline double activation_cost(const Call& call) {
  if (!activation_in(call.node)) return 0;
  const auto& y = call.results[0];
  return kernel_cost(2.0 * static_cast<double>(y.elements() * call.members) *
                     static_cast<double>(c10::elementSize(y.dtype)));
}

}  // namespace wide
