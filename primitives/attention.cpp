// Wide scaled_dot_product_attention: the model axis folds into the batch, so that the fused 4-D kernel serves
// all.
//   q [N·B, H, L, E], k [N·B, G, S, E], v [N·B, G, S, V], mask broadcast to [N·B, H, L, S]
// Arguments: q, k, v, mask, dropout, causal, scale, grouped heads.
#include <ATen/ATen.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "primitives/heads.h"
#include "primitives/kernels/attention.h"
#include "primitives/support.h"

namespace wide::attention_primitive {
namespace {

enum { kQ, kK, kV, kMask, kDropout, kCausal, kScale, kGroupedHeads };

Answer ask_any(const Call& call) {
  if (call.real(kDropout) != 0.0) return refuse("dropout draws its own mask per member");
  for (const auto index : {kQ, kK, kV}) {
    if (!call.operand_of(index)) return refuse("an operand is a constant");
    if (call.operand_at(index)->type.rank() < 3) return refuse("q, k and v need a batch axis");
    if (call.operand_at(index)->type.rank() != call.operand_at(kQ)->type.rank())
      return refuse("ranks differ");
  }
  // Heads may be grouped, which the fused kernel knows.
  const auto batch = [&](std::size_t index) {
    const auto& shape = call.operand_at(index)->type.shape;
    return at::IntArrayRef(shape).slice(0, shape.size() - (call.flag(kGroupedHeads) ? 3 : 2));
  };
  if (batch(kK) != batch(kQ) || batch(kV) != batch(kQ)) return refuse("a batch axis broadcasts");
  auto one = uniform_offer(call, Layout::kFront);
  const auto& q = call.operand_at(kQ)->type;
  const auto keys = call.operand_at(kK)->type.shape.end()[-2];
  one.cost = kernel_cost(total_bytes(call), 4.0 * static_cast<double>(q.elements() * keys * call.members));
  return offer(std::move(one));
}

// ATen's kernel wants a head axis; without one a member alone is computed by products, which differ in NaN.
Answer ask_fused(const Call& call) {
  const auto* q = call.operand_at(kQ);
  if (q && q->type.rank() == 3) return refuse("there is no head axis");
  return ask_any(call);
}

Kernel prepare(const Call& call, const Offer&) {
  const auto shape = physical_shape(call.results[0], Layout::kFront, call.members);
  const auto scale = call.is_none(kScale) ? std::optional<double>() : call.real(kScale);
  return [call, shape, scale](std::span<const at::Tensor> in, std::span<at::Tensor> out) {
    const auto mask = fold_mask(call, kMask, in);
    const auto y =
        at::scaled_dot_product_attention(fold(call, kQ, in), fold(call, kK, in), fold(call, kV, in),
                                         mask.defined() ? std::optional(mask) : std::nullopt, 0.0,
                                         call.flag(kCausal), scale, call.flag(kGroupedHeads));
    out[0] = y.reshape(shape);
  };
}

double scale_of(const Call& call) {
  if (!call.is_none(kScale)) return call.real(kScale);
  return 1 / std::sqrt(static_cast<double>(call.operand_at(kQ)->type.shape.back()));
}

// The same as two batched products around a softmax: less overhead than the fused kernel on short sequences.
Answer ask_bmm(const Call& call) {
  if (call.flag(kGroupedHeads)) return refuse("heads are grouped: the fused kernel repeats them");
  auto answer = ask_any(call);
  for (auto& one : answer.offers) {
    const auto& q = call.operand_at(kQ)->type;
    const auto keys = call.operand_at(kK)->type.shape.end()[-2];
    const auto scores = static_cast<double>(q.bytes() / std::max<std::int64_t>(1, q.shape.back()) * keys);
    one.cost += 4 * kernel_cost(2 * scores * static_cast<double>(call.members));
  }
  return answer;
}

Kernel prepare_bmm(const Call& call, const Offer& offered) {
  const auto shape = physical_shape(call.results[0], Layout::kFront, call.members);
  const auto scale = scale_of(call);
  const bool heads = call.operand_at(kQ)->type.rank() >= 4;
  return [call, shape, scale, heads, fused = prepare(call, offered)](std::span<const at::Tensor> in,
                                                                     std::span<at::Tensor> out) {
    // As ATen does: scores of 16 bits would be off by hundredths.
    const auto precise = [](const at::Tensor& tensor) {
      return at::isReducedFloatingType(tensor.scalar_type()) ? tensor.to(at::kFloat) : tensor;
    };
    const auto q = precise(fold(call, kQ, in)), k = precise(fold(call, kK, in)),
               v = precise(fold(call, kV, in));
    auto scores = at::matmul(q * scale, k.transpose(-2, -1));
    if (call.flag(kCausal)) {
      const auto future = at::ones({q.size(-2), k.size(-2)}, q.options().dtype(at::kBool)).triu(1);
      scores = scores.masked_fill(future, -std::numeric_limits<double>::infinity());
    }
    if (auto mask = fold_mask(call, kMask, in); mask.defined()) {
      // Added, as ATen adds it: a score of infinity stays one that is not a number.
      constexpr double kNever = -std::numeric_limits<double>::infinity();
      scores =
          scores + (mask.scalar_type() == at::kBool
                        ? at::zeros(mask.sizes(), scores.options()).masked_fill_(mask.logical_not(), kNever)
                        : precise(mask));
    }
    out[0] = at::matmul(at::_safe_softmax(scores, -1), v).to(call.results[0].dtype).reshape(shape);
    // What comes of NaN and infinities goes by the order of the steps of ATen's kernel, which is for heads.
    if (heads) out[0] = finite_or(out[0], [&] { return only(fused, in); });
  };
}

kernels::Attention::Sizes sizes_of(const Call& call) {
  const auto &q = call.operand_at(kQ)->type.shape, &k = call.operand_at(kK)->type.shape,
             &v = call.operand_at(kV)->type.shape;
  return {q.end()[-2], k.end()[-2], q.back(), v.back(), call.flag(kCausal)};
}

// A head's scores stay in the cache between the two products.
Answer ask_by_head(const Call& call) {
  if (call.results[0].dtype != at::kFloat) return refuse("only float32 is computed so");
  auto answer = ask_fused(call);
  if (answer.offers.empty()) return answer;
  if (auto reason = kernels::Attention::refusal(sizes_of(call)); !reason.empty())
    return refuse(std::move(reason));
  const auto &q = call.operand_at(kQ)->type.shape, &k = call.operand_at(kK)->type.shape;
  if (q.end()[-3] % k.end()[-3] != 0 || k.end()[-3] != call.operand_at(kV)->type.shape.end()[-3])
    return refuse("the heads of q are not groups of those of k and v");
  for (auto& one : answer.offers) one.cost *= 0.8;
  return answer;
}

Kernel prepare_by_head(const Call& call, const Offer& offered) {
  const auto shape = physical_shape(call.results[0], Layout::kFront, call.members);
  const kernels::Attention kernel(sizes_of(call), scale_of(call));
  return [call, shape, kernel, fused = prepare(call, offered)](std::span<const at::Tensor> in,
                                                               std::span<at::Tensor> out) {
    const auto mask = fold_mask(call, kMask, in);
    const bool kept = mask.defined() && mask.scalar_type() == at::kBool;
    const auto [y, finite] =
        kernel.run(fold(call, kQ, in), fold(call, kK, in), fold(call, kV, in),
                   {.added = kept ? at::Tensor() : mask, .kept = kept ? mask : at::Tensor()});
    out[0] = y.reshape(shape);
    if (!finite) out[0] = finite_or(out[0], [&] { return only(fused, in); });
  };
}

std::vector<Sample> samples(std::int64_t members) {
  const auto arguments = [](bool mask, bool causal, Argument scale, bool grouped) {
    return std::vector<Argument>{
        {ValueRef{0}}, {ValueRef{1}}, {ValueRef{2}},    mask ? Argument{ValueRef{3}} : Argument{},
        {0.0},         {causal},      std::move(scale), {grouped}};
  };
  const std::string op = "aten.scaled_dot_product_attention.default";
  const SampleOperand q{{2, 3, 5, 8}}, k{{2, 3, 7, 8}}, v{{2, 3, 7, 8}};
  return {
      {"plain", op, arguments(false, false, {}, false), {q, k, v}},
      {"causal", op, arguments(false, true, {}, false), {{{2, 3, 5, 8}}, {{2, 3, 5, 8}}, {{2, 3, 5, 8}}}},
      {"scale", op, arguments(false, false, {0.25}, false), {q, k, v}},
      {"shared float mask", op, arguments(true, false, {}, false), {q, k, v, {{5, 7}, false}}},
      {"mapped float mask", op, arguments(true, false, {}, false), {q, k, v, {{5, 7}}}},
      {"mask per sample", op, arguments(true, false, {}, false), {q, k, v, {{2, 1, 5, 7}}}},
      {"shared mask per sample", op, arguments(true, false, {}, false), {q, k, v, {{2, 1, 5, 7}, false}}},
      {"bool mask", op, arguments(true, false, {}, false), {q, k, v, {{2, 1, 5, 7}, true, at::kBool, 2}}},
      {"shared bool mask", op, arguments(true, false, {}, false), {q, k, v, {{5, 7}, false, at::kBool, 2}}},
      {"grouped heads, causal", op, arguments(false, true, {}, true), {{{2, 6, 5, 8}}, k, v}},
      {"grouped heads", op, arguments(false, false, {}, true), {{{2, 6, 5, 8}}, k, v}},
      {"shared keys",
       op,
       arguments(false, false, {}, false),
       {q, {{2, 3, 7, 8}, false}, {{2, 3, 7, 8}, false}}},
      {"no head axis", op, arguments(false, false, {}, false), {{{2, 5, 8}}, {{2, 7, 8}}, {{2, 7, 8}}}},
      {"mask, no head axis",
       op,
       arguments(true, false, {}, false),
       {{{2, 5, 8}}, {{2, 7, 8}}, {{2, 7, 8}}, {{2, 5, 7}}}},
      {"more keys than a panel",
       op,
       arguments(false, false, {}, false),
       {{{1, 2, 70, 9}}, {{1, 2, 81, 9}}, {{1, 2, 81, 19}}}},
      {"causal over panels",
       op,
       arguments(false, true, {}, false),
       {{{1, 2, 150, 9}}, {{1, 2, 131, 9}}, {{1, 2, 131, 7}}}},
      {"a mask of whole rows",
       op,
       arguments(true, false, {}, false),
       {{{1, 2, 17, 8}}, {{1, 2, 70, 8}}, {{1, 2, 70, 8}}, {{17, 70}, true, at::kBool, 2}}},
      {"B equals N",
       op,
       arguments(false, false, {}, false),
       {{{members, 3, 5, 8}}, {{members, 3, 7, 8}}, {{members, 3, 7, 8}}}},
  };
}

}  // namespace

Primitive attention() {
  return {"attention",
          {"aten.scaled_dot_product_attention.default"},
          nullptr,
          {{"fused", ask_fused, prepare},
           {"bmm", ask_bmm, prepare_bmm},
           own_kernel("by_head", ask_by_head, prepare_by_head)},
          nullptr,
          samples};
}

}  // namespace wide::attention_primitive
