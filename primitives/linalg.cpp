// Wide distances and matrix algebra: they work on the trailing axes and broadcast or batch over the leading
// ones.
#include <algorithm>
#include <array>

#include "primitives/support.h"

namespace wide::linalg_primitive {
namespace {

struct Rule {
  std::string_view op;
  std::int64_t trailing;   ///< axes that the operator itself works on
  bool same_rank = false;  ///< an operand of one axis less means something else: vectors, not matrices
};

constexpr std::array kRules = {
    Rule{"aten.cdist.default", 2},
    Rule{"aten._cdist_forward.default", 2},
    Rule{"aten.pairwise_distance.default", 1},
    Rule{"aten.linalg_inv.default", 2},
    Rule{"aten.inverse.default", 2},
    Rule{"aten.linalg_det.default", 2},
    Rule{"aten.linalg_cholesky.default", 2},
    Rule{"aten.cholesky.default", 2},
    Rule{"aten.linalg_qr.default", 2},
    Rule{"aten.linalg_matrix_exp.default", 2},
    Rule{"aten.linalg_slogdet.default", 2},
    Rule{"aten.linalg_matrix_power.default", 2},
    Rule{"aten.linalg_pinv.default", 2},
    Rule{"aten.linalg_inv_ex.default", 2},
    Rule{"aten._linalg_det.default", 2},
    Rule{"aten._linalg_slogdet.default", 2},
    Rule{"aten.linalg_cholesky_ex.default", 2},
    Rule{"aten.linalg_eigh.default", 2},
    Rule{"aten.linalg_eigvalsh.default", 2},
    Rule{"aten._linalg_eigh.default", 2},
    Rule{"aten.linalg_eig.default", 2},
    Rule{"aten.linalg_eigvals.default", 2},
    Rule{"aten.linalg_svd.default", 2},
    Rule{"aten.linalg_svdvals.default", 2},
    Rule{"aten._linalg_svd.default", 2},
    Rule{"aten.svd.default", 2},
    Rule{"aten.qr.default", 2},
    Rule{"aten.det.default", 2},
    Rule{"aten.logdet.default", 2},
    Rule{"aten.slogdet.default", 2},
    Rule{"aten.pinverse.default", 2},
    Rule{"aten.matrix_exp.default", 2},
    Rule{"aten.matrix_power.default", 2},
    Rule{"aten.linalg_solve.default", 2, true},
    Rule{"aten.linalg_solve_ex.default", 2, true},
    Rule{"aten._linalg_solve_ex.default", 2, true},
    Rule{"aten.linalg_solve_triangular.default", 2},
    Rule{"aten.triangular_solve.default", 2},
    Rule{"aten.cholesky_solve.default", 2},
    Rule{"aten.cholesky_inverse.default", 2},
    Rule{"aten.linalg_lu_factor.default", 2},
    Rule{"aten.linalg_lu.default", 2},
};

Answer ask(const Call& call) {
  const auto& rule =
      *std::find_if(kRules.begin(), kRules.end(), [&](const Rule& one) { return one.op == call.node.op; });
  for (const auto& operand : call.operands) {
    if (operand.type.rank() < rule.trailing)
      return refuse("an operand has fewer axes than the operator works on");
    if (rule.same_rank && operand.type.rank() != call.operands[0].type.rank())
      return refuse("the operands' ranks differ: vectors are meant");
  }
  auto one = uniform_offer(call, Layout::kFront);
  // Some of these do not broadcast; a zero stride serves both kinds.
  std::fill(one.operands.begin(), one.operands.end(), Layout::kFront);
  return offer(std::move(one));
}

Kernel prepare(const Call& call, const Offer&) {
  std::int64_t rank = 0;
  for (const auto& operand : call.operands) rank = std::max(rank, operand.type.rank());
  return boxed(call, call.node, [rank, operands = call.operands](std::size_t i, const at::Tensor& tensor) {
    return align_front(tensor, operands[i].type, rank);
  });
}

std::vector<Sample> samples(std::int64_t members) {
  const Argument x{ValueRef{0}}, y{ValueRef{1}};
  const std::vector<Argument> distance{x, y, {2.0}, {}}, pairs{x, y, {2.0}, {1e-6}, {false}};
  return {
      {"cdist", "aten.cdist.default", distance, {{{5, 7}}, {{4, 7}}}},
      {"cdist, batch broadcasts", "aten.cdist.default", distance, {{{2, 5, 7}}, {{4, 7}}}},
      {"cdist, shared", "aten.cdist.default", distance, {{{5, 7}}, {{4, 7}, false}}},
      {"pairwise", "aten.pairwise_distance.default", pairs, {{{5, 7}}, {{5, 7}}}},
      {"pairwise, one vector", "aten.pairwise_distance.default", pairs, {{{5, 7}}, {{7}}}},
      {"solve", "aten.linalg_solve.default", {x, y, {true}}, {{{5, 5}}, {{5, 4}}}},
      {"solve, shared matrix", "aten.linalg_solve.default", {x, y, {true}}, {{{5, 5}, false}, {{5, 4}}}},
      {"determinant", "aten.linalg_det.default", {x}, {{{2, 5, 5}}}},
      {"inverse", "aten.linalg_inv.default", {x}, {{{2, 5, 5}}}},
      {"B equals N", "aten.cdist.default", distance, {{{members, 7}}, {{members, 7}}}},
  };
}

std::vector<std::string_view> ops() {
  std::vector<std::string_view> names;
  for (const auto& rule : kRules) names.push_back(rule.op);
  return names;
}

}  // namespace

Primitive linalg() {
  return {"linalg", ops(), nullptr, {{"batched", ask, prepare}}, nullptr, samples};
}

}  // namespace wide::linalg_primitive
