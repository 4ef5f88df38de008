#include "core/strategy/activation.h"

#include <ATen/ATen.h>
#include <torch/library.h>

#include <algorithm>
#include <array>
#include <stdexcept>

namespace wide {
namespace {

constexpr std::array kActivations = {
    Activation{"relu", "aten.relu.default", "", [](const at::Tensor& x) { return at::relu(x); },
               [](at::Tensor& x) { at::relu_(x); }},
    Activation{"gelu", "aten.gelu.default", "none", [](const at::Tensor& x) { return at::gelu(x); },
               [](at::Tensor& x) { at::gelu_(x); }},
    Activation{"gelu_tanh", "aten.gelu.default", "tanh",
               [](const at::Tensor& x) { return at::gelu(x, "tanh"); },
               [](at::Tensor& x) { at::gelu_(x, "tanh"); }},
    Activation{"silu", "aten.silu.default", "", [](const at::Tensor& x) { return at::silu(x); },
               [](at::Tensor& x) { at::silu_(x); }},
    Activation{"sigmoid", "aten.sigmoid.default", "", [](const at::Tensor& x) { return at::sigmoid(x); },
               [](at::Tensor& x) { at::sigmoid_(x); }},
    Activation{"tanh", "aten.tanh.default", "", [](const at::Tensor& x) { return at::tanh(x); },
               [](at::Tensor& x) { at::tanh_(x); }},
    Activation{"sin", "aten.sin.default", "", [](const at::Tensor& x) { return at::sin(x); },
               [](at::Tensor& x) { at::sin_(x); }},
    Activation{"cos", "aten.cos.default", "", [](const at::Tensor& x) { return at::cos(x); },
               [](at::Tensor& x) { at::cos_(x); }},
};

at::Tensor linear_activation(const at::Tensor& x, const at::Tensor& weight,
                             const std::optional<at::Tensor>& bias, c10::string_view name) {
  const auto& chosen = activation(name);
  auto y = at::linear(x, weight, bias);
  if (y.requires_grad()) return chosen.apply(y);
  chosen.apply_in_place(y);
  return y;
}

at::Tensor add_matmul(const at::Tensor& c, const at::Tensor& a, const at::Tensor& b, double alpha) {
  return at::add(c, at::matmul(a, b), alpha);
}

TORCH_LIBRARY(wide, library) {
  library.def("add_matmul(Tensor c, Tensor a, Tensor b, float alpha) -> Tensor", add_matmul);
  library.def("linear_activation(Tensor x, Tensor weight, Tensor? bias, str activation) -> Tensor",
              linear_activation);
}

}  // namespace

const Activation& activation(std::string_view name) {
  const auto found = std::find_if(kActivations.begin(), kActivations.end(),
                                  [&](const Activation& one) { return one.name == name; });
  if (found == kActivations.end()) throw std::logic_error("no activation " + std::string(name));
  return *found;
}

const Activation* activation_of(const Node& node) {
  const auto found = std::find_if(kActivations.begin(), kActivations.end(), [&](const Activation& one) {
    return one.op == node.op &&
           (one.approximate.empty() || node.arguments.at(1) == Argument{std::string(one.approximate)});
  });
  return found == kActivations.end() ? nullptr : &*found;
}

}  // namespace wide
