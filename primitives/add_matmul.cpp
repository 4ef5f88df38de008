// Wide add_matmul: y[n] = c[n] + alpha · a[n] · b[n], a layer's result and the change of low rank that an
// adapter makes to it.
//   c [N, …, R, O] or […, R, O];  a [N, …, R, K] or […, R, K];  b [N, K, O] or [K, O];  y [N, …, R, O]
#include "core/strategy/low_rank.h"

#include <ATen/ATen.h>

#include "primitives/kernels/small_gemm.h"
#include "primitives/support.h"

namespace wide::add_matmul_primitive {
namespace {

enum { kC, kA, kB, kAlpha };

std::int64_t rank_of(const Call& call) {
  return call.operand_at(kB)->type.shape[0];
}

std::int64_t rows_of(const Call& call) {
  const auto& y = call.results[0];
  return y.elements() / std::max<std::int64_t>(1, y.shape.back());
}

double flops(const Call& call) {
  return 2.0 * static_cast<double>(call.results[0].elements() * rank_of(call) * call.members);
}

std::string unfit(const Call& call) {
  for (const auto index : {kC, kA, kB}) {
    if (!call.operand_of(index)) return "an operand is a constant";
  }
  if (!call.is_real(kAlpha)) return "its factor is complex";
  if (call.operand_at(kB)->type.rank() != 2) return "the right operand has batch axes";
  if (call.operand_at(kC)->type.shape != call.results[0].shape) return "what is added to broadcasts";
  return call.results[0].rank() < 2 ? "the left operand is a vector" : "";
}

Offer front(const Call& call, double effort = 1) {
  auto one = uniform_offer(call, Layout::kFront);
  one.cost = kernel_cost(total_bytes(call), effort * flops(call));
  return one;
}

// [N, rows, columns] of argument `index`.
at::Tensor rows(const Call& call, std::size_t index, std::span<const at::Tensor> in) {
  return with_rows(front_or_none(call, index, in));
}

// c is copied into the result, and one strided-batched product is added to it.
Answer ask_baddbmm(const Call& call) {
  if (auto reason = unfit(call); !reason.empty()) return refuse(std::move(reason));
  if (!is_mapped(call, kB)) return refuse("the right operand is shared: folding is cheaper");
  return offer(front(call));
}

Kernel prepare_baddbmm(const Call& call, const Offer&) {
  const auto shape = physical_shape(call.results[0], Layout::kFront, call.members);
  return [call, shape, alpha = call.real(kAlpha)](std::span<const at::Tensor> in, std::span<at::Tensor> out) {
    out[0] = at::baddbmm(rows(call, kC, in), rows(call, kA, in), in[*call.operand_of(kB)], 1, alpha)
                 .reshape(shape);
  };
}

// b is shared: the members are more rows.
Answer ask_folded(const Call& call) {
  if (auto reason = unfit(call); !reason.empty()) return refuse(std::move(reason));
  if (is_mapped(call, kB)) return refuse("the right operand differs per member");
  return offer(front(call));
}

Kernel prepare_folded(const Call& call, const Offer&) {
  const auto shape = physical_shape(call.results[0], Layout::kFront, call.members);
  return [call, shape, alpha = call.real(kAlpha)](std::span<const at::Tensor> in, std::span<at::Tensor> out) {
    out[0] = at::addmm(rows(call, kC, in).flatten(0, 1), rows(call, kA, in).flatten(0, 1),
                       in[*call.operand_of(kB)], 1, alpha)
                 .reshape(shape);
  };
}

// Each member's copy of c, and the product while that is in the cache.
Answer ask_xsmm(const Call& call) {
  if (auto reason = unfit(call); !reason.empty()) return refuse(std::move(reason));
  if (!is_mapped(call, kB)) return refuse("the right operand is shared: folding is cheaper");
  if (call.results[0].dtype != at::kFloat) return refuse("only float32 is generated");
  auto reason = kernels::SmallGemm::refusal(rows_of(call), rank_of(call), call.results[0].shape.back());
  if (!reason.empty()) return refuse(std::move(reason));
  return offer(front(call, 0.9));
}

Kernel prepare_xsmm(const Call& call, const Offer&) {
  const auto shape = physical_shape(call.results[0], Layout::kFront, call.members);
  const kernels::SmallGemm product(rows_of(call), rank_of(call), call.results[0].shape.back(), true);
  const auto alpha = call.real(kAlpha);
  const auto scaled = [alpha](const at::Tensor& b) { return (alpha == 1 ? b : b * alpha).contiguous(); };
  at::Tensor packed;
  if (const auto& constant = call.operand_at(kB)->constant; constant.defined())
    packed = scaled(constant.tensor());
  return [=](std::span<const at::Tensor> in, std::span<at::Tensor> out) {
    out[0] = product
                 .run_onto(rows(call, kC, in).contiguous(), rows(call, kA, in).contiguous(),
                           packed.defined() ? packed : scaled(in[*call.operand_of(kB)]))
                 .reshape(shape);
  };
}

std::vector<Sample> samples(std::int64_t members) {
  const std::vector<Argument> arguments{{ValueRef{0}}, {ValueRef{1}}, {ValueRef{2}}, {0.5}};
  const std::string op(kAddMatmul);
  return {
      {"all mapped", op, arguments, {{{5, 4}}, {{5, 7}}, {{7, 4}}}},
      {"three axes", op, arguments, {{{2, 5, 4}}, {{2, 5, 7}}, {{7, 4}}}},
      {"shared c", op, arguments, {{{2, 5, 4}, false}, {{2, 5, 7}}, {{7, 4}}}},
      {"shared a", op, arguments, {{{5, 4}}, {{5, 7}, false}, {{7, 4}}}},
      {"shared b", op, arguments, {{{2, 5, 4}}, {{2, 5, 7}}, {{7, 4}, false}}},
      {"only b is mapped", op, arguments, {{{5, 4}, false}, {{5, 7}, false}, {{7, 4}}}},
      {"B equals N", op, arguments, {{{members, 4}}, {{members, 7}}, {{7, 4}}}},
  };
}

}  // namespace

Primitive add_matmul() {
  return {"add_matmul",
          {kAddMatmul},
          nullptr,
          {{"folded", ask_folded, prepare_folded},
           {"baddbmm", ask_baddbmm, prepare_baddbmm},
           own_kernel("xsmm", ask_xsmm, prepare_xsmm)},
          flops,
          samples};
}

}  // namespace wide::add_matmul_primitive
