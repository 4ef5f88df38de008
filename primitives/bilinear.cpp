// Wide bilinear: y[n, b, o] = Σ_ij x1[n, b, i] W[n, o, i, j] x2[n, b, j] + bias[n, o].
//   x1 [N, …, I]; x2 [N, …, J]; W [N, O, I, J]; bias [N, O] or none; y [N, …, O]
// One batched product over j, then a weighted sum over i.
#include <ATen/ATen.h>

#include "primitives/support.h"

namespace wide::bilinear_primitive {
namespace {

enum { kX1, kX2, kW, kBias };

double flops(const Call& call) {
  const auto& weight = call.operand_at(kW)->type;
  const auto rows = call.results[0].elements() / std::max<std::int64_t>(weight.shape[0], 1);
  return 2.0 * static_cast<double>(rows * weight.elements() * call.members);
}

Answer ask(const Call& call) {
  for (const auto index : {kX1, kX2, kW}) {
    if (!call.operand_of(index)) return refuse("an operand is a constant");
  }
  auto one = uniform_offer(call, Layout::kFront);
  const auto& weight = call.operand_at(kW)->type;
  const auto between =
      call.results[0].bytes() * weight.shape[1] * call.members;  // [N, B, O, I], written and read
  one.cost = kernel_cost(total_bytes(call), flops(call)) + 2 * kernel_cost(static_cast<double>(between));
  return offer(std::move(one));
}

void one_by_one(const Call& call, std::span<const at::Tensor> in, const at::Tensor& y) {
  const auto of = [&](std::size_t index, std::int64_t member) {
    return front_or_none(call, index, in).select(0, member);
  };
  for (std::int64_t i = 0; i < call.members; ++i) {
    if (all_finite(y.select(0, i))) continue;
    const auto bias = call.operand_of(kBias) ? std::optional(of(kBias, i)) : std::nullopt;
    y.select(0, i).copy_(at::bilinear(of(kX1, i), of(kX2, i), of(kW, i), bias));
  }
}

Kernel prepare(const Call& call, const Offer&) {
  const auto shape = physical_shape(call.results[0], Layout::kFront, call.members);
  return [call, shape](std::span<const at::Tensor> in, std::span<at::Tensor> out) {
    const auto rows = [&](std::size_t index) { return with_rows(front_or_none(call, index, in)); };
    const auto weight = front_or_none(call, kW, in);
    const auto product = at::bmm(rows(kX2), weight.flatten(1, 2).transpose(1, 2));  // [N, B, O·I]
    auto y = (product.unflatten(2, {weight.size(1), weight.size(2)}) * rows(kX1).unsqueeze(2)).sum(-1);
    const auto bias = front_or_none(call, kBias, in);
    if (bias.defined()) y = y + bias.unsqueeze(1);
    out[0] = y.reshape(shape);
    // Where a product leaves the range of its type, whether Inf or NaN comes of it goes by the order of
    // ATen's.
    if (!all_finite(y)) one_by_one(call, in, out[0]);
  };
}

std::vector<Sample> samples(std::int64_t members) {
  const std::vector<Argument> with{{ValueRef{0}}, {ValueRef{1}}, {ValueRef{2}}, {ValueRef{3}}},
      without{{ValueRef{0}}, {ValueRef{1}}, {ValueRef{2}}, {}};
  const std::string op = "aten.bilinear.default";
  return {
      {"all mapped", op, with, {{{5, 7}}, {{5, 3}}, {{4, 7, 3}}, {{4}}}},
      {"no bias", op, without, {{{5, 7}}, {{5, 3}}, {{4, 7, 3}}}},
      {"shared inputs", op, with, {{{5, 7}, false}, {{5, 3}, false}, {{4, 7, 3}}, {{4}}}},
      {"shared weight", op, with, {{{5, 7}}, {{5, 3}}, {{4, 7, 3}, false}, {{4}, false}}},
      {"three axes", op, with, {{{2, 5, 7}}, {{2, 5, 3}}, {{4, 7, 3}}, {{4}}}},
      {"vector", op, with, {{{7}}, {{3}}, {{4, 7, 3}}, {{4}}}},
      {"B equals N", op, with, {{{members, 7}}, {{members, 3}}, {{4, 7, 3}}, {{4}}}},
  };
}

}  // namespace

Primitive bilinear() {
  return {"bilinear", {"aten.bilinear.default"}, nullptr, {{"batched", ask, prepare}}, flops, samples};
}

}  // namespace wide::bilinear_primitive
