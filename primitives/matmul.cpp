// Wide matrix products: matmul, mm, bmm, addmm, baddbmm, mv, dot with the model axis as one more batch axis.
#include <ATen/ATen.h>

#include <algorithm>

#include "primitives/support.h"

namespace wide {
namespace {

double flops(const Call& call, std::size_t left) {
  return 2.0 * static_cast<double>(call.results[0].elements() * call.operand_at(left)->type.shape.back() *
                                   call.members);
}

Offer front(const Call& call, std::size_t left) {
  auto one = uniform_offer(call, Layout::kFront);
  one.cost = kernel_cost(total_bytes(call), flops(call, left));
  return one;
}

// [N, …] or shared […] as [N, 1…, rows, columns] with `rank` logical axes; a vector becomes a row or a
// column.
at::Tensor as_matrices(const Operand& operand, at::Tensor tensor, std::int64_t rank, bool left) {
  auto type = operand.type;
  if (type.rank() == 1) {
    tensor = left ? tensor.unsqueeze(-2) : tensor.unsqueeze(-1);
    type.shape.insert(left ? type.shape.begin() : type.shape.end(), 1);
  }
  return operand.mapped ? align_front(tensor, type, rank) : tensor;
}

Answer ask_matmul(const Call& call) {
  if (call.operands.size() != 2) return refuse("an operand is a constant");
  return offer(front(call, 0));
}

Kernel prepare_matmul(const Call& call, const Offer&) {
  const auto shape = physical_shape(call.results[0], Layout::kFront, call.members);
  const auto rank = std::max({call.operands[0].type.rank(), call.operands[1].type.rank(), std::int64_t{2}});
  return [call, shape, rank](std::span<const at::Tensor> in, std::span<at::Tensor> out) {
    const auto y = at::matmul(as_matrices(call.operands[0], in[0], rank, true),
                              as_matrices(call.operands[1], in[1], rank, false));
    out[0] = y.sizes() == at::IntArrayRef(shape) ? y : y.reshape(shape);
  };
}

// addmm(c, a, b), baddbmm(c, a, b): beta·c + alpha·a·b.
enum { kC, kA, kB, kBeta, kAlpha };

Answer ask_add(const Call& call) {
  for (const auto index : {kC, kA, kB}) {
    if (!call.operand_of(index)) return refuse("an operand is a constant");
  }
  return offer(front(call, kA));
}

Kernel prepare_add(const Call& call, const Offer&) {
  const auto rank = call.results[0].rank();
  const auto shape = physical_shape(call.results[0], Layout::kFront, call.members);
  const auto beta = call.real(kBeta), alpha = call.real(kAlpha);
  return [call, rank, shape, beta, alpha](std::span<const at::Tensor> in, std::span<at::Tensor> out) {
    auto c = in[*call.operand_of(kC)];
    if (is_mapped(call, kC)) c = align_front(c, call.operand_at(kC)->type, rank);
    if (rank == 2) {
      out[0] = at::baddbmm(c, front_or_none(call, kA, in), front_or_none(call, kB, in), beta, alpha);
      return;
    }
    const auto fold = [&](std::size_t index) { return front_or_none(call, index, in).flatten(0, 1); };
    out[0] = at::baddbmm(c.expand(shape).flatten(0, 1), fold(kA), fold(kB), beta, alpha).reshape(shape);
  };
}

std::vector<Sample> samples(std::int64_t members) {
  const std::vector<Argument> two{{ValueRef{0}}, {ValueRef{1}}};
  const std::vector<Argument> three{{ValueRef{0}}, {ValueRef{1}}, {ValueRef{2}}, {2.0}, {0.5}};
  return {
      {"matrices", "aten.matmul.default", two, {{{5, 7}}, {{7, 4}}}},
      {"shared right", "aten.matmul.default", two, {{{5, 7}}, {{7, 4}, false}}},
      {"shared left", "aten.matmul.default", two, {{{5, 7}, false}, {{7, 4}}}},
      {"batched", "aten.matmul.default", two, {{{2, 5, 7}}, {{2, 7, 4}}}},
      {"broadcast batch", "aten.matmul.default", two, {{{2, 3, 5, 7}}, {{7, 4}}}},
      {"shared batched right", "aten.matmul.default", two, {{{5, 7}}, {{2, 7, 4}, false}}},
      {"vector right", "aten.matmul.default", two, {{{2, 5, 7}}, {{7}}}},
      {"vector left", "aten.matmul.default", two, {{{7}}, {{7, 4}}}},
      {"two vectors", "aten.matmul.default", two, {{{7}}, {{7}}}},
      {"shared vector", "aten.matmul.default", two, {{{7}, false}, {{2, 7, 4}}}},
      {"B equals N", "aten.matmul.default", two, {{{members, members}}, {{members, members}}}},
      {"bmm", "aten.bmm.default", two, {{{2, 5, 7}}, {{2, 7, 4}}}},
      {"mm", "aten.mm.default", two, {{{5, 7}}, {{7, 4}}}},
      {"mv", "aten.mv.default", two, {{{5, 7}}, {{7}}}},
      {"addmm", "aten.addmm.default", three, {{{4}}, {{5, 7}}, {{7, 4}}}},
      {"addmm, shared x", "aten.addmm.default", three, {{{4}}, {{5, 7}, false}, {{7, 4}}}},
      {"addmm, shared bias", "aten.addmm.default", three, {{{5, 4}, false}, {{5, 7}}, {{7, 4}}}},
      {"baddbmm", "aten.baddbmm.default", three, {{{2, 1, 4}}, {{2, 5, 7}}, {{2, 7, 4}}}},
  };
}

bool is_addition(const Call& call) {
  return call.node.arguments.size() > 2;
}

Answer ask(const Call& call) {
  return is_addition(call) ? ask_add(call) : ask_matmul(call);
}
Kernel prepare(const Call& call, const Offer& offer) {
  return is_addition(call) ? prepare_add(call, offer) : prepare_matmul(call, offer);
}

}  // namespace

Primitive matmul() {
  return {"matmul",
          {"aten.matmul.default", "aten.mm.default", "aten.bmm.default", "aten.mv.default",
           "aten.dot.default", "aten.addmm.default", "aten.baddbmm.default"},
          nullptr,
          {{"batched", ask, prepare}},
          nullptr,
          samples};
}

}  // namespace wide
