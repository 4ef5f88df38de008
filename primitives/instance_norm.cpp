// Wide instance_norm: every channel of every sample on its own, so N·C channels are exact.
//   x [B, N·C, …]; weight, bias, running statistics [N·C]
// Arguments: x, weight, bias, running mean, running variance, use_input_stats, momentum, eps, cudnn; then the
// name of an activation, or none
#include "primitives/activated.h"
#include "primitives/kernels/rows.h"
#include "primitives/support.h"

namespace wide::instance_norm_primitive {
namespace {

enum { kX, kWeight, kBias, kMean, kVariance, kFromInput, kMomentum, kEps };

Answer ask(const Call& call) {
  if (!call.operand_of(kX)) return refuse("the input is a constant");
  Offer one = uniform_offer(call, Layout::kPacked);
  for (std::size_t i = 0; i < call.operands.size(); ++i) {
    one.operands[i] = i == *call.operand_of(kX) ? Layout::kPacked : Layout::kFolded;
  }
  one.cost = kernel_cost(1.5 * total_bytes(call)) + activation_cost(call);
  return offer(std::move(one));
}

Kernel prepare(const Call& call, const Offer&) {
  return boxed(call, call.node);
}

// Moments and normalisation in one kernel of our own. x [N, B, C, …]
Answer ask_one_pass(const Call& call) {
  if (!call.flag(kFromInput) || call.operand_of(kMean) || call.operand_of(kVariance))
    return refuse("running statistics are left to ATen");
  if (call.results[0].bytes() < 4 * call.results[0].elements())
    return refuse("ATen rounds the mean to 16 bits, which shows where numbers differ by no more");
  return ask_one_pass_norm(call);
}

Kernel prepare_one_pass(const Call& call, kernels::RowFunction after) {
  return [call, eps = call.real(kEps), after](std::span<const at::Tensor> in, std::span<at::Tensor> out) {
    const auto x = front_or_none(call, kX, in);
    out[0] = kernels::normalize_groups(x, x.size(2), front_or_none(call, kWeight, in),
                                       front_or_none(call, kBias, in), eps, kernels::Norm::kInstance, after);
  };
}

std::vector<Sample> samples(std::int64_t members) {
  const std::string op = "aten.instance_norm.default", activated = "wide.instance_norm_activation.default";
  const std::vector<Argument> plain{{ValueRef{0}}, {}, {}, {}, {}, {true}, {0.1}, {1e-5}, {false}};
  const std::vector<Argument> affine{{ValueRef{0}}, {ValueRef{1}}, {ValueRef{2}}, {},     {},
                                     {true},        {0.1},         {1e-5},        {false}};
  const std::vector<Argument> running{{ValueRef{0}}, {},    {},     {ValueRef{1}}, {ValueRef{2}},
                                      {false},       {0.1}, {1e-5}, {false}};
  const auto then = [&](const char* activation) {
    auto all = affine;
    all.push_back({std::string(activation)});
    return all;
  };
  return {
      {"2d", op, plain, {{{5, 6, 4, 3}}}},
      {"1d, affine", op, affine, {{{5, 6, 7}}, {{6}}, {{6}}}},
      {"3d, affine", op, affine, {{{2, 6, 4, 3, 2}}, {{6}}, {{6}}}},
      {"running statistics", op, running, {{{5, 6, 4}}, {{6}}, {{6}, true, at::kFloat, 10, true}}},
      {"shared weights", op, affine, {{{5, 6, 7}}, {{6}, false}, {{6}, false}}},
      {"shared input", op, affine, {{{5, 6, 7}, false}, {{6}}, {{6}}}},
      {"B equals N", op, affine, {{{members, 6, 7}}, {{6}}, {{6}}}},
      {"then relu", activated, then("relu"), {{{5, 6, 4, 3}}, {{6}}, {{6}}}},
      {"then silu, shared input", activated, then("silu"), {{{5, 6, 7}, false}, {{6}}, {{6}}}},
  };
}

}  // namespace

Primitive instance_norm() {
  return {"instance_norm",
          {"aten.instance_norm.default", "wide.instance_norm_activation.default"},
          nullptr,
          {{"fused", ask, prepare_activated<prepare>},
           own_kernel("one_pass", ask_one_pass, prepare_ending_in_activation<prepare_one_pass>)},
          nullptr,
          samples};
}

}  // namespace wide::instance_norm_primitive
