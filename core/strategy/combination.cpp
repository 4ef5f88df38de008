#include "core/strategy/combination.h"

#include <ATen/ATen.h>
#include <torch/library.h>

#include <algorithm>
#include <array>
#include <optional>

namespace wide {
namespace {

constexpr std::array kCombinations = {
    Combination{kLinearAdd, "aten.add.Tensor",
                [](const at::Tensor& y, const at::Tensor& other) { return y + other; },
                [](at::Tensor& y, const at::Tensor& other) { y.add_(other); }},
    Combination{kLinearMul, "aten.mul.Tensor",
                [](const at::Tensor& y, const at::Tensor& other) { return y * other; },
                [](at::Tensor& y, const at::Tensor& other) { y.mul_(other); }},
};

at::Tensor linear_add(const at::Tensor& x, const at::Tensor& weight, const std::optional<at::Tensor>& bias,
                      const at::Tensor& other) {
  return at::linear(x, weight, bias) + other;
}

at::Tensor linear_mul(const at::Tensor& x, const at::Tensor& weight, const std::optional<at::Tensor>& bias,
                      const at::Tensor& other) {
  return at::linear(x, weight, bias) * other;
}

TORCH_LIBRARY_FRAGMENT(wide, library) {
  library.def("linear_add(Tensor x, Tensor weight, Tensor? bias, Tensor other) -> Tensor", linear_add);
  library.def("linear_mul(Tensor x, Tensor weight, Tensor? bias, Tensor other) -> Tensor", linear_mul);
}

}  // namespace

const Combination* combination(std::string_view joined) {
  const auto found = std::find_if(kCombinations.begin(), kCombinations.end(),
                                  [&](const Combination& one) { return one.joined == joined; });
  return found == kCombinations.end() ? nullptr : &*found;
}

const Combination* combination_of(const Node& node) {
  const auto found = std::find_if(kCombinations.begin(), kCombinations.end(),
                                  [&](const Combination& one) { return one.op == node.op; });
  if (found == kCombinations.end() || !node.arguments[0].ref() || !node.arguments[1].ref()) return nullptr;
  const bool scaled = node.arguments.size() > 2 && node.arguments[2].number() != 1.0;
  return scaled ? nullptr : &*found;
}

}  // namespace wide
