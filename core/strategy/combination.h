#pragma once
// What a linear layer's result is combined with before it leaves the cache, a residual's addition or a gate's
// product, and the operators of both together: wide::linear_add(x, weight, bias, other) and
// wide::linear_mul(x, weight, bias, other), with gradients and for every device, since they are made of
// ATen's own.

#include <ATen/core/Tensor.h>

#include <string_view>

#include "core/ir/graph.h"

namespace wide {

struct Combination {
  std::string_view joined;  ///< the operator of both together: "wide.linear_add.default"
  std::string_view op;      ///< alone, as it stands in graphs: "aten.add.Tensor"
  at::Tensor (*apply)(const at::Tensor& y, const at::Tensor& other);  ///< a new tensor
  void (*apply_in_place)(at::Tensor& y, const at::Tensor& other);     ///< not where autograd watches
};

inline constexpr std::string_view kLinearAdd = "wide.linear_add.default";
inline constexpr std::string_view kLinearMul = "wide.linear_mul.default";

/// By the operator of both together, or nullptr.
const Combination* combination(std::string_view joined);
/// The combination that `node` is alone, of two tensors as they are, or nullptr.
const Combination* combination_of(const Node& node);

}  // namespace wide
