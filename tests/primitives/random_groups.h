#pragma once
// Groups of pointwise operators at random, and operands for them: NaN, infinities and denormal numbers among
// them, rows of any length.

#include <ATen/ATen.h>

#include <array>
#include <cstdint>
#include <limits>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "primitives/cases.h"

namespace wide::test {

class RandomGroups {
 public:
  explicit RandomGroups(std::uint32_t seed) : random_(seed) {}

  Graph body() {
    Graph made;
    body_ = &made;
    floats_.clear(), masks_.clear();
    shape_ = {below(4) + 1, below(3) == 0 ? 1 : below(3) + 1,
              below(8) == 0 ? 600 + below(900) : below(below(3) == 0 ? 7 : 33) + 1};
    for (auto left = below(3) + 1; left > 0; --left) floats_.push_back(input(at::kFloat));
    for (auto left = below(3); left > 0; --left) masks_.push_back(input(at::kBool));
    for (auto left = below(9) + 1; left > 0; --left) step();
    ValueId last = floats_.back();  // the last step gives numbers
    if (made.nodes.empty() || made.nodes.back().results[0] != last) last = node("aten.neg.default", {x()});
    made.outputs.push_back({{ValueRef{last}}});
    return made;
  }

  // In the shape of the group, or one that broadcasts with it; some with gaps between their numbers.
  Tensors operands() {
    Tensors all;
    for (const auto& one : body_->inputs) {
      const auto dtype = concrete(body_->values[static_cast<std::size_t>(one.value)]).dtype;
      auto shape = shape_;
      for (auto& size : shape) {
        if (!all.empty() && below(3) == 0) size = 1;
      }
      const bool gaps = below(6) == 0;
      if (gaps) shape.back() *= 2;
      auto tensor = numbers(shape);
      if (dtype == at::kBool) tensor = tensor > 0;
      all.push_back(gaps ? tensor.slice(-1, 0, shape.back(), 2) : tensor);
    }
    return all;
  }

 private:
  std::int64_t below(std::int64_t bound) {
    return static_cast<std::int64_t>(random_() % static_cast<std::uint32_t>(bound));
  }
  Argument pick(const std::vector<ValueId>& from) {
    return {ValueRef{from[static_cast<std::size_t>(below(std::ssize(from)))]}};
  }
  Argument x() { return pick(floats_); }
  Argument number() {
    constexpr double kInfinity = std::numeric_limits<double>::infinity();
    constexpr std::array kSpecial = {0.0, -0.0, 1.0, -1.0, 2.0, -2.0, 0x1p-140, kInfinity, -kInfinity};
    if (below(5) == 0) return {kSpecial[static_cast<std::size_t>(below(std::ssize(kSpecial)))]};
    return {static_cast<double>(static_cast<float>(below(2001) - 1000) / 256.0F)};
  }
  Argument x_or_number() { return below(3) == 0 ? number() : x(); }

  ValueId value(at::ScalarType dtype) {
    return body_->add_value("v" + std::to_string(body_->values.size()), true, as_type({dtype, shape_}));
  }
  ValueId input(at::ScalarType dtype) {
    const auto id = value(dtype);
    body_->inputs.push_back({id, InputKind::kUser, body_->values.back().name});
    return id;
  }
  ValueId node(const std::string& op, std::vector<Argument> arguments) {
    const bool mask =
        op.starts_with("aten.g") || op.starts_with("aten.l")
            ? !op.starts_with("aten.gelu") && !op.starts_with("aten.leaky") && !op.starts_with("aten.log.")
            : false;
    const auto id = value(mask ? at::kBool : at::kFloat);
    body_->nodes.push_back({op, std::move(arguments), {id}, ""});
    (mask ? masks_ : floats_).push_back(id);
    return id;
  }

  void step() {
    static const std::vector<std::string> kOfOne = {
        "neg", "abs", "square", "sqrt",    "rsqrt", "reciprocal", "exp",       "log",
        "sin", "cos", "relu",   "sigmoid", "silu",  "tanh",       "hardswish", "hardsigmoid"};
    static const std::vector<std::string> kOfTwo = {"maximum.default", "minimum.default", "mul.Tensor",
                                                    "div.Tensor",      "gt.Tensor",       "ge.Tensor",
                                                    "lt.Tensor",       "le.Tensor"};
    const Argument one{std::int64_t{1}}, none{};
    switch (below(12)) {
      case 0:
        node("aten.add.Tensor", {x(), x_or_number(), below(2) == 0 ? one : number()});
        break;
      case 1:
        node("aten.sub.Tensor", {x(), x_or_number(), below(2) == 0 ? one : number()});
        break;
      case 2:
        node("aten.rsub.Scalar", {x(), number(), one});
        break;
      case 3:
        node("aten.gelu.default", {x(), {std::string(below(2) == 0 ? "none" : "tanh")}});
        break;
      case 4:
        node("aten.pow.Tensor_Scalar", {x(), {std::int64_t{below(2) + 2}}});
        break;
      case 5:
        node("aten.clamp.default", {x(), number(), below(2) == 0 ? none : number()});
        break;
      case 6:
        node("aten.leaky_relu.default", {x(), number()});
        break;
      case 7:
        if (!masks_.empty()) node("aten.where.self", {pick(masks_), x(), x()});
        break;
      case 8:
        if (!masks_.empty()) node("aten.logical_not.default", {pick(masks_)});
        break;
      case 9:
      case 10: {
        const auto op = kOfTwo[static_cast<std::size_t>(below(std::ssize(kOfTwo)))];
        const bool takes_number = op.starts_with("mul") || op.starts_with("div");
        node("aten." + op, {x(), takes_number ? x_or_number() : x()});
        break;
      }
      default:
        node("aten." + kOfOne[static_cast<std::size_t>(below(std::ssize(kOfOne)))] + ".default", {x()});
    }
  }

  at::Tensor numbers(const std::vector<std::int64_t>& shape) {
    using Limits = std::numeric_limits<float>;
    static const std::vector<float> kSpecial = {0.0F,
                                                -0.0F,
                                                1.0F,
                                                -1.0F,
                                                Limits::quiet_NaN(),
                                                Limits::infinity(),
                                                -Limits::infinity(),
                                                Limits::denorm_min(),
                                                -1e-40F,
                                                Limits::min(),
                                                Limits::max(),
                                                -Limits::max(),
                                                88.8F,
                                                -87.5F,
                                                -104.0F,
                                                9000.0F,
                                                -1e6F,
                                                8192.0F,
                                                1e20F,
                                                -1e20F};
    auto tensor = at::empty(shape, at::kFloat);
    std::normal_distribution<float> usual(0.0F, 2.0F);
    const auto specials = below(3);  // in a third of all tensors none, in a third few
    for (std::int64_t i = 0; i < tensor.numel(); ++i) {
      const bool special = specials == 2 ? below(3) == 0 : specials == 1 && below(40) == 0;
      tensor.mutable_data_ptr<float>()[i] =
          special ? kSpecial[static_cast<std::size_t>(below(std::ssize(kSpecial)))] : usual(random_);
    }
    return tensor;
  }

  std::mt19937 random_;
  Graph* body_ = nullptr;
  std::vector<ValueId> floats_, masks_;
  std::vector<std::int64_t> shape_;
};

}  // namespace wide::test
