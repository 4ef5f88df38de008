// Wide attention that a model writes out (core/strategy/written_attention.h): the model axis is one more of
// the batch.
//   q [N, B…, L, E], keys [N, B…, E, S], v [N, B…, S, V]; added and masked none or broadcast to [N, B…, L, S]
// Arguments: q, keys, v, added, masked, value, scale.
#include "core/strategy/written_attention.h"

#include <ATen/ATen.h>

#include <optional>
#include <string>
#include <vector>

#include "primitives/heads.h"
#include "primitives/kernels/attention.h"
#include "primitives/support.h"

namespace wide::written_attention_primitive {
namespace {

enum { kQ, kKeys, kV, kAdded, kMasked, kValue, kScale };

double flops(const Call& call) {
  const auto& q = call.operand_at(kQ)->type;
  const auto& v = call.operand_at(kV)->type.shape;
  const auto rows = static_cast<double>(q.elements() / std::max<std::int64_t>(1, q.shape.back()));
  return 2 * rows * static_cast<double>(v.end()[-2] * (q.shape.back() + v.back()) * call.members);
}

double score_bytes(const Call& call) {
  const auto& q = call.operand_at(kQ)->type;
  return static_cast<double>(q.bytes() / std::max<std::int64_t>(1, q.shape.back()) *
                             call.operand_at(kV)->type.shape.end()[-2] * call.members);
}

Answer ask_any(const Call& call) {
  for (const auto index : {kQ, kKeys, kV}) {
    if (!call.operand_of(index)) return refuse("an operand is a constant");
  }
  auto one = uniform_offer(call, Layout::kFront);
  one.cost = kernel_cost(total_bytes(call), flops(call));
  return offer(std::move(one));
}

// The products and the softmax between them, each for all members.
Answer ask_products(const Call& call) {
  auto answer = ask_any(call);
  for (auto& one : answer.offers) one.cost += 4 * kernel_cost(2 * score_bytes(call));
  return answer;
}

Kernel prepare_products(const Call& call, const Offer&) {
  const auto shape = physical_shape(call.results[0], Layout::kFront, call.members);
  return [call, shape, value = call.real(kValue), scale = call.real(kScale)](std::span<const at::Tensor> in,
                                                                             std::span<at::Tensor> out) {
    const auto front = [&](std::size_t index) { return front_or_none(call, index, in); };
    const auto mask = [&](std::size_t index) {
      const auto operand = call.operand_of(index);
      if (!operand) return std::optional<at::Tensor>();
      const auto& one = call.operands[*operand];
      return std::optional(one.mapped ? align_front(in[*operand], one.type, call.results[0].rank())
                                      : in[*operand]);
    };
    out[0] = written_attention(front(kQ), front(kKeys), front(kV), mask(kAdded), mask(kMasked), value, scale)
                 .reshape(shape);
  };
}

kernels::Attention::Sizes sizes_of(const Call& call) {
  const auto &q = call.operand_at(kQ)->type.shape, &v = call.operand_at(kV)->type.shape;
  return {.queries = q.end()[-2],
          .keys = v.end()[-2],
          .width = q.back(),
          .value_width = v.back(),
          .unseen_is_nan = true};
}

// A head's scores stay in the cache between the two products.
Answer ask_by_head(const Call& call) {
  if (call.results[0].dtype != at::kFloat) return refuse("only float32 is computed so");
  auto answer = ask_any(call);
  if (answer.offers.empty()) return answer;
  if (auto reason = kernels::Attention::refusal(sizes_of(call)); !reason.empty())
    return refuse(std::move(reason));
  for (auto& one : answer.offers) one.cost *= 0.8;
  return answer;
}

Kernel prepare_by_head(const Call& call, const Offer& offered) {
  const auto shape = physical_shape(call.results[0], Layout::kFront, call.members);
  const kernels::Attention kernel(sizes_of(call), call.real(kScale));
  const auto value = static_cast<float>(call.real(kValue));
  return [call, shape, kernel, value, products = prepare_products(call, offered)](
             std::span<const at::Tensor> in, std::span<at::Tensor> out) {
    const auto [y, finite] =
        kernel.run(fold(call, kQ, in), fold(call, kKeys, in).transpose(-2, -1), fold(call, kV, in),
                   {.added = fold_mask(call, kAdded, in),
                    .kept = {},
                    .filled = fold_mask(call, kMasked, in),
                    .value = value});
    out[0] = y.reshape(shape);
    if (!finite) out[0] = finite_or(out[0], [&] { return only(products, in); });
  };
}

std::vector<Sample> samples(std::int64_t members) {
  const std::string op(kWrittenAttention);
  const auto arguments = [](bool added, bool masked, double value) {
    return std::vector<Argument>{{ValueRef{0}},
                                 {ValueRef{1}},
                                 {ValueRef{2}},
                                 added ? Argument{ValueRef{3}} : Argument{},
                                 masked ? Argument{ValueRef{added ? 4 : 3}} : Argument{},
                                 {value},
                                 {0.25}};
  };
  const SampleOperand q{{2, 3, 5, 8}}, keys{{2, 3, 8, 7}}, v{{2, 3, 7, 6}};
  const auto mask = [](std::vector<std::int64_t> shape, bool mapped) {
    return SampleOperand{std::move(shape), mapped, at::kBool, 2};
  };
  return {
      {"plain", op, arguments(false, false, 0), {q, keys, v}},
      {"shared addition", op, arguments(true, false, 0), {q, keys, v, {{5, 7}, false}}},
      {"an addition for each head", op, arguments(true, false, 0), {q, keys, v, {{3, 5, 7}}}},
      {"a shared addition for each head", op, arguments(true, false, 0), {q, keys, v, {{3, 5, 7}, false}}},
      {"shared mask", op, arguments(false, true, -1e9), {q, keys, v, mask({5, 7}, false)}},
      {"mask of keys", op, arguments(false, true, -1e9), {q, keys, v, mask({2, 1, 1, 7}, true)}},
      {"mask of queries", op, arguments(false, true, -1e9), {q, keys, v, mask({5, 1}, true)}},
      {"both", op, arguments(true, true, -3), {q, keys, v, {{1, 7}}, mask({2, 3, 5, 7}, true)}},
      {"shared keys", op, arguments(false, false, 0), {q, {{2, 3, 8, 7}, false}, {{2, 3, 7, 6}, false}}},
      {"three axes", op, arguments(false, false, 0), {{{2, 5, 8}}, {{2, 8, 7}}, {{2, 7, 6}}}},
      {"three axes, mask",
       op,
       arguments(false, true, -1e9),
       {{{2, 5, 8}}, {{2, 8, 7}}, {{2, 7, 6}}, mask({5, 7}, true)}},
      {"five axes, mask",
       op,
       arguments(false, true, -1e9),
       {{{2, 2, 3, 5, 8}}, {{2, 2, 3, 8, 7}}, {{2, 2, 3, 7, 6}}, mask({2, 1, 1, 5, 7}, true)}},
      {"more keys than a panel",
       op,
       arguments(true, false, 0),
       {{{1, 2, 70, 9}}, {{1, 2, 9, 81}}, {{1, 2, 81, 19}}, {{70, 81}}}},
      {"B equals N",
       op,
       arguments(false, false, 0),
       {{{members, 3, 5, 8}}, {{members, 3, 8, 7}}, {{members, 3, 7, 6}}}},
  };
}

}  // namespace

Primitive written_attention() {
  return {"written_attention",
          {kWrittenAttention},
          nullptr,
          {{"products", ask_products, prepare_products}, own_kernel("by_head", ask_by_head, prepare_by_head)},
          flops,
          samples};
}

}  // namespace wide::written_attention_primitive
