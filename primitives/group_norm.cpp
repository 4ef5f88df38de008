// Wide group_norm: N members with G groups are N·G groups of one norm; the affine part is per channel.
//   x [B, N·C, …]; weight, bias [N·C]; arguments: x, groups, weight, bias, eps, cudnn; then the name of an
//   activation, or none
#include <ATen/ATen.h>

#include "core/aten/dense_copy.h"
#include "primitives/activated.h"
#include "primitives/kernels/rows.h"
#include "primitives/support.h"

namespace wide::group_norm_primitive {
namespace {

enum { kX, kGroups, kWeight, kBias, kEps };

Answer ask(const Call& call) {
  if (!call.operand_of(kX)) return refuse("the input is a constant");
  Offer one = uniform_offer(call, Layout::kPacked);
  for (std::size_t i = 0; i < call.operands.size(); ++i) {
    one.operands[i] = i == *call.operand_of(kX) ? Layout::kPacked : Layout::kFolded;
  }
  one.cost = kernel_cost(1.5 * total_bytes(call)) + activation_cost(call);
  return offer(std::move(one));
}

// in_order(): for channels that lie side by side ATen takes the mean of squares less the square of the mean,
// which is less exact.
Kernel prepare(const Call& call, const Offer&) {
  auto wide = call.node;
  wide.arguments[kGroups] = {call.integer(kGroups) * call.members};
  return [x = *call.operand_of(kX), norm = boxed(call, std::move(wide))](std::span<const at::Tensor> in,
                                                                         std::span<at::Tensor> out) {
    std::vector<at::Tensor> operands(in.begin(), in.end());
    operands[x] = in_order(in[x]);
    norm(operands, out);
  };
}

// Members as more batch are normalised without weights, then scaled by each member's own.
//   x [N, B, C, …]
Answer ask_front(const Call& call) {
  if (!call.operand_of(kX)) return refuse("the input is a constant");
  if (!kernels::can_run_rows(call.results[0].dtype)) return refuse("no kernel for this dtype");
  if (!has_one_dtype(call)) return refuse("the weights are of another dtype");
  auto one = uniform_offer(call, Layout::kFront);
  one.operands[*call.operand_of(kX)] = Layout::kFront;
  one.cost = kernel_cost(2.5 * total_bytes(call)) + kNanosecondsPerCall + activation_cost(call);
  return offer(std::move(one));
}

// `y` [N, B, C, …] · weight + bias, each [N, C] or undefined.
at::Tensor scaled(const at::Tensor& y, at::Tensor weight, at::Tensor bias, bool gradients) {
  if (!weight.defined() && !bias.defined()) return y;
  if (!weight.defined()) weight = at::ones_like(bias);
  if (!bias.defined()) bias = at::zeros_like(weight);
  if (y.is_cpu() && y.dim() > 3 && !gradients) return kernels::scale_shift(y, weight, bias);
  std::vector<std::int64_t> shape(static_cast<std::size_t>(y.dim()), 1);
  shape[0] = weight.size(0);
  shape[2] = weight.size(1);
  return at::addcmul(bias.reshape(shape), y, weight.reshape(shape));
}

// ATen multiplies the weight and the deviation first: with a weight that is NaN or Inf, other NaN come of it.
bool is_odd(const at::Tensor& weight) {
  return !weight.sum().isfinite().item<bool>();
}

Kernel prepare_front(const Call& call, const Offer&) {
  const auto* weight_operand = call.operand_at(kWeight);
  const bool is_plain =
      !weight_operand || (weight_operand->constant.defined() && !is_odd(weight_operand->constant.tensor()));
  return [groups = call.integer(kGroups), eps = call.real(kEps), is_plain, call](
             std::span<const at::Tensor> in, std::span<at::Tensor> out) {
    const auto& x = in[*call.operand_of(kX)];
    const auto weight = front_or_none(call, kWeight, in), bias = front_or_none(call, kBias, in);
    const auto y = at::group_norm(in_order(x.flatten(0, 1)), groups, {}, {}, eps).reshape(x.sizes());
    out[0] = scaled(y, weight, bias, wants_gradients(in));
    if (is_plain || !is_odd(weight)) return;
    for (std::int64_t i = 0; i < call.members; ++i) {
      if (!is_odd(weight[i])) continue;
      out[0][i].copy_(at::group_norm(in_order(x[i]), groups, weight[i],
                                     bias.defined() ? std::optional(bias[i]) : std::nullopt, eps));
    }
  };
}

// Moments, normalisation and each member's weights in one kernel of our own.
Kernel prepare_one_pass(const Call& call, kernels::RowFunction after) {
  return [groups = call.integer(kGroups), eps = call.real(kEps), call, after](std::span<const at::Tensor> in,
                                                                              std::span<at::Tensor> out) {
    out[0] = kernels::normalize_groups(front_or_none(call, kX, in), groups, front_or_none(call, kWeight, in),
                                       front_or_none(call, kBias, in), eps, kernels::Norm::kGroup, after);
  };
}

std::vector<Sample> samples(std::int64_t members) {
  const std::vector<Argument> affine{{ValueRef{0}}, {std::int64_t{2}}, {ValueRef{1}}, {ValueRef{2}}, {1e-5},
                                     {true}};
  const std::string op = "aten.group_norm.default", activated = "wide.group_norm_activation.default";
  const auto then = [&](const char* activation) {
    auto all = affine;
    all.push_back({std::string(activation)});
    return all;
  };
  return {
      {"2d", op, affine, {{{5, 6, 4, 3}}, {{6}}, {{6}}}},
      {"no affine", op, {{ValueRef{0}}, {std::int64_t{3}}, {}, {}, {1e-5}, {true}}, {{{5, 6, 4}}}},
      {"shared weights", op, affine, {{{5, 6, 4}}, {{6}, false}, {{6}, false}}},
      {"shared input", op, affine, {{{5, 6, 4}, false}, {{6}}, {{6}}}},
      {"B equals N", op, affine, {{{members, 6, 4}}, {{6}}, {{6}}}},
      {"then silu", activated, then("silu"), {{{5, 6, 4, 3}}, {{6}}, {{6}}}},
      {"then relu, shared input", activated, then("relu"), {{{5, 6, 4}, false}, {{6}}, {{6}}}},
      {"then leaky_relu", activated, then("leaky_relu 0.2"), {{{5, 6, 4}}, {{6}}, {{6}}}},
  };
}

}  // namespace

Primitive group_norm() {
  return {"group_norm",
          {"aten.group_norm.default", "wide.group_norm_activation.default"},
          nullptr,
          {{"fused", ask, prepare_activated<prepare>},
           {"front", ask_front, prepare_activated<prepare_front>},
           own_kernel("one_pass", ask_one_pass_norm, prepare_ending_in_activation<prepare_one_pass>)},
          nullptr,
          samples};
}

}  // namespace wide::group_norm_primitive
