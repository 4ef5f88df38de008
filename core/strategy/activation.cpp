#include "core/strategy/activation.h"

#include <ATen/ATen.h>
#include <torch/library.h>

#include <algorithm>
#include <array>
#include <stdexcept>

namespace wide {
namespace {

// Of a slope in hundredths: a kernel is a plain function, so that there is one for each slope that is common.
template <int kHundredths>
constexpr Activation leaky_relu(std::string_view name) {
  constexpr double kSlope = kHundredths / 100.0;
  return {name,
          "aten.leaky_relu.default",
          "",
          [](const at::Tensor& x) { return at::leaky_relu(x, kSlope); },
          [](at::Tensor& x) { at::leaky_relu_(x, kSlope); },
          {kSlope}};
}

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
    Activation{"relu6",
               "aten.hardtanh.default",
               "",
               [](const at::Tensor& x) { return at::hardtanh(x, 0, 6); },
               [](at::Tensor& x) { at::hardtanh_(x, 0, 6); },
               {0.0, 6.0}},
    Activation{"relu6", "aten.relu6.default", "", [](const at::Tensor& x) { return at::hardtanh(x, 0, 6); },
               [](at::Tensor& x) { at::hardtanh_(x, 0, 6); }},
    Activation{"hardswish", "aten.hardswish.default", "",
               [](const at::Tensor& x) { return at::hardswish(x); },
               [](at::Tensor& x) { at::hardswish_(x); }},
    Activation{"hardsigmoid", "aten.hardsigmoid.default", "",
               [](const at::Tensor& x) { return at::hardsigmoid(x); },
               [](at::Tensor& x) { at::hardsigmoid_(x); }},
    leaky_relu<1>("leaky_relu 0.01"),
    leaky_relu<10>("leaky_relu 0.1"),
    leaky_relu<20>("leaky_relu 0.2"),
};

bool has_arguments(const Node& node, const Activation& one) {
  if (!one.approximate.empty() && node.arguments.at(1) != Argument{std::string(one.approximate)})
    return false;
  for (std::size_t i = 0; i < one.numbers.size(); ++i) {
    if (one.numbers[i] && node.arguments.at(i + 1).number() != one.numbers[i]) return false;
  }
  return true;
}

struct Joined {
  std::string_view layer, both;
};
constexpr std::array kJoined = {
    Joined{"aten.linear.default", kLinearActivation},
    Joined{"aten.conv1d.default", "wide.conv1d_activation.default"},
    Joined{"aten.conv2d.default", "wide.conv2d_activation.default"},
    Joined{"aten.conv3d.default", "wide.conv3d_activation.default"},
    Joined{"aten.conv_transpose1d.default", "wide.conv_transpose1d_activation.default"},
    Joined{"aten.conv_transpose2d.input", "wide.conv_transpose2d_activation.default"},
    Joined{"aten.conv_transpose3d.input", "wide.conv_transpose3d_activation.default"},
    Joined{"aten.group_norm.default", "wide.group_norm_activation.default"},
    Joined{"aten.instance_norm.default", "wide.instance_norm_activation.default"},
};

// f of `y`, which nobody else holds.
at::Tensor activated(at::Tensor y, c10::string_view name) {
  const auto& chosen = activation(name);
  if (y.requires_grad()) return chosen.apply(y);
  chosen.apply_in_place(y);
  return y;
}

using Maybe = std::optional<at::Tensor>;

at::Tensor linear_activation(const at::Tensor& x, const at::Tensor& weight, const Maybe& bias,
                             c10::string_view name) {
  return activated(at::linear(x, weight, bias), name);
}

template <auto convolution>
at::Tensor conv_activation(const at::Tensor& x, const at::Tensor& weight, const Maybe& bias,
                           at::IntArrayRef stride, at::IntArrayRef padding, at::IntArrayRef dilation,
                           std::int64_t groups, c10::string_view name) {
  return activated(convolution(x, weight, bias, stride, padding, dilation, groups), name);
}

template <auto convolution>
at::Tensor conv_transpose_activation(const at::Tensor& x, const at::Tensor& weight, const Maybe& bias,
                                     at::IntArrayRef stride, at::IntArrayRef padding,
                                     at::IntArrayRef output_padding, std::int64_t groups,
                                     at::IntArrayRef dilation, c10::string_view name) {
  return activated(convolution(x, weight, bias, stride, padding, output_padding, groups, dilation), name);
}

using Conv = at::Tensor (*)(const at::Tensor&, const at::Tensor&, const Maybe&, at::IntArrayRef,
                            at::IntArrayRef, at::IntArrayRef, std::int64_t);
using ConvTranspose = at::Tensor (*)(const at::Tensor&, const at::Tensor&, const Maybe&, at::IntArrayRef,
                                     at::IntArrayRef, at::IntArrayRef, std::int64_t, at::IntArrayRef);

at::Tensor group_norm_activation(const at::Tensor& x, std::int64_t groups, const Maybe& weight,
                                 const Maybe& bias, double eps, bool cudnn, c10::string_view name) {
  return activated(at::group_norm(x, groups, weight, bias, eps, cudnn), name);
}

at::Tensor instance_norm_activation(const at::Tensor& x, const Maybe& weight, const Maybe& bias,
                                    const Maybe& mean, const Maybe& variance, bool from_input,
                                    double momentum, double eps, bool cudnn, c10::string_view name) {
  return activated(at::instance_norm(x, weight, bias, mean, variance, from_input, momentum, eps, cudnn),
                   name);
}

at::Tensor add_matmul(const at::Tensor& c, const at::Tensor& a, const at::Tensor& b, double alpha) {
  return at::add(c, at::matmul(a, b), alpha);
}

TORCH_LIBRARY(wide, library) {
  library.def("add_matmul(Tensor c, Tensor a, Tensor b, float alpha) -> Tensor", add_matmul);
  library.def("linear_activation(Tensor x, Tensor weight, Tensor? bias, str activation) -> Tensor",
              linear_activation);
  library.def(
      "group_norm_activation(Tensor x, int groups, Tensor? weight, Tensor? bias, float eps, bool cudnn, str "
      "activation) -> Tensor",
      group_norm_activation);
  library.def(
      "instance_norm_activation(Tensor x, Tensor? weight, Tensor? bias, Tensor? mean, Tensor? variance, bool "
      "from_input, float momentum, float eps, bool cudnn, str activation) -> Tensor",
      instance_norm_activation);
  const auto convolution = [&](const std::string& name, const std::string& sizes, auto* function) {
    const auto schema = name +
                        "_activation(Tensor x, Tensor weight, Tensor? bias, int[] stride, int[] padding, " +
                        sizes + ", str activation) -> Tensor";
    library.def(schema.c_str(), function);
  };
  const std::string sizes = "int[] dilation, int groups",
                    transposed = "int[] output_padding, int groups, int[] dilation";
  convolution("conv1d", sizes, conv_activation<Conv(at::conv1d)>);
  convolution("conv2d", sizes, conv_activation<Conv(at::conv2d)>);
  convolution("conv3d", sizes, conv_activation<Conv(at::conv3d)>);
  convolution("conv_transpose1d", transposed, conv_transpose_activation<ConvTranspose(at::conv_transpose1d)>);
  convolution("conv_transpose2d", transposed, conv_transpose_activation<ConvTranspose(at::conv_transpose2d)>);
  convolution("conv_transpose3d", transposed, conv_transpose_activation<ConvTranspose(at::conv_transpose3d)>);
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
    return one.op == node.op && has_arguments(node, one);
  });
  return found == kActivations.end() ? nullptr : &*found;
}

std::string_view with_activation(std::string_view layer) {
  const auto found = std::ranges::find(kJoined, layer, &Joined::layer);
  return found == kJoined.end() ? std::string_view() : found->both;
}

const Activation* activation_in(const Node& node) {
  if (std::ranges::find(kJoined, node.op, &Joined::both) == kJoined.end()) return nullptr;
  return &activation(std::get<std::string>(node.arguments.back().value));
}

Node without_activation(Node node) {
  const auto found = std::ranges::find(kJoined, node.op, &Joined::both);
  if (found == kJoined.end()) return node;
  node.op = found->layer;
  node.arguments.pop_back();
  return node;
}

}  // namespace wide
