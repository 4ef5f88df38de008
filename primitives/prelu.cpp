// Wide prelu: y[n] = x[n] where positive, slope[n] · x[n] elsewhere; one slope, or one per channel.
//   x [N, B, C, …] or [B, N·C, …];  slope [N, C], [C], [N, 1] or [1];  y as x
#include <ATen/ATen.h>

#include "primitives/support.h"

namespace wide::prelu_primitive {
namespace {

enum { kX, kSlope };

Answer ask(const Call& call) {
  if (!call.operand_of(kX) || !call.operand_of(kSlope)) return refuse("an operand is a constant");
  Answer answer = offer(uniform_offer(call, Layout::kFront));
  answer.offers[0].operands[*call.operand_of(kX)] = Layout::kFront;
  if (call.operand_at(kX)->type.rank() >= 2) {
    auto one = uniform_offer(call, Layout::kPacked);
    one.operands[*call.operand_of(kX)] = Layout::kPacked;
    one.operands[*call.operand_of(kSlope)] = is_mapped(call, kSlope) ? Layout::kFront : Layout::kShared;
    answer.offers.push_back(std::move(one));
  }
  return answer;
}

Kernel prepare(const Call& call, const Offer& offer) {
  const bool packed = offer.results[0] == Layout::kPacked, mapped = is_mapped(call, kSlope);
  const auto& x = call.operand_at(kX)->type;
  const auto slopes = call.operand_at(kSlope)->type.elements();
  // What the slope looks like beside x: [N, 1, C, 1…] in front, [1, N·C, 1…] packed.
  std::vector<std::int64_t> shape(static_cast<std::size_t>(x.rank()) + (packed ? 0 : 1), 1);
  const auto channels = x.rank() >= 2 ? x.shape[1] : 1;
  if (packed) {
    shape[1] = call.members * channels;
  } else {
    shape[0] = mapped ? call.members : 1;
    if (x.rank() >= 2) shape[2] = slopes;
  }
  const auto input = *call.operand_of(kX), slope = *call.operand_of(kSlope);
  const auto members = call.members;
  return [=](std::span<const at::Tensor> in, std::span<at::Tensor> out) {
    auto one = in[slope];
    if (packed) one = one.reshape({mapped ? members : 1, slopes}).expand({members, channels});
    out[0] = at::_prelu_kernel(in[input], one.reshape(shape).expand(in[input].sizes()));
  };
}

std::vector<Sample> samples(std::int64_t members) {
  const std::vector<Argument> two{{ValueRef{0}}, {ValueRef{1}}};
  const std::string op = "aten.prelu.default";
  return {
      {"slope per channel", op, two, {{{5, 7, 4, 3}}, {{7}}}},
      {"one slope", op, two, {{{5, 7, 4, 3}}, {{1}}}},
      {"features", op, two, {{{5, 7}}, {{7}}}},
      {"shared slope", op, two, {{{5, 7, 4}}, {{7}, false}}},
      {"one shared slope", op, two, {{{5, 7, 4}}, {{1}, false}}},
      {"shared input", op, two, {{{5, 7, 4}, false}, {{7}}}},
      {"vector", op, two, {{{7}}, {{1}}}},
      {"number", op, two, {{{}}, {{1}}}},
      {"B equals N", op, two, {{{members, members, 4}}, {{members}}}},
  };
}

}  // namespace

Primitive prelu() {
  return {"prelu", {"aten.prelu.default"}, nullptr, {{"wide", ask, prepare}}, nullptr, samples};
}

}  // namespace wide::prelu_primitive
