#pragma once
// Activations that a layer can apply to its result before that leaves the cache, and the operators of both
// together: the layer's arguments and the activation's name, wide::linear_activation(x, weight, bias,
// "relu"), with gradients and for every device, since they are made of ATen's own.

#include <ATen/core/Tensor.h>

#include <array>
#include <optional>
#include <string>
#include <string_view>

#include "core/ir/graph.h"

namespace wide {

inline constexpr std::string_view kLinearActivation = "wide.linear_activation.default";

struct Activation {
  std::string_view name;                              ///< the operator's argument: "gelu_tanh"
  std::string_view op;                                ///< as it stands in graphs: "aten.gelu.default"
  std::string_view approximate;                       ///< of gelu: its argument; else empty
  at::Tensor (*apply)(const at::Tensor& x);           ///< a new tensor
  void (*apply_in_place)(at::Tensor& x);              ///< not where autograd watches
  std::array<std::optional<double>, 2> numbers = {};  ///< what its arguments must be
};

/// By name; asserts that there is one.
const Activation& activation(std::string_view name);
/// The activation that `node` is, or nullptr.
const Activation* activation_of(const Node& node);

/// The operator of a layer with an activation, "aten.conv2d.default" -> "wide.conv2d_activation.default"; ""
/// where there is none.
std::string_view with_activation(std::string_view layer);
/// The activation that `node`, such an operator, applies; nullptr of any other.
const Activation* activation_in(const Node& node);
/// `node` as the layer alone, where it is such an operator.
Node without_activation(Node node);

}  // namespace wide
