// Wide pointwise operators: y[n] = f(a[n], b[n], …), with broadcasting.
//   front    [N, …]         mapped operands get ones after N so that their axes line up
//   packed   [B, N·C, …]    where every mapped operand has the result's channels
//   last     either of [N·B, C, …] and [B, N·C, …] with channels innermost; kernels keep the order in memory
#include <ATen/ATen.h>
#include <ATen/native/TypeProperties.h>

#include <algorithm>
#include <array>
#include <optional>
#include <vector>

#include "core/eager/operators.h"
#include "core/strategy/activation.h"
#include "primitives/kernels/activate.h"
#include "primitives/support.h"

namespace wide::pointwise_primitive {
namespace {

// Pointwise in meaning, but not tagged so by ATen.
constexpr std::array kUntagged = std::to_array<std::string_view>({"aten.to.dtype",
                                                                  "aten.where.ScalarOther",
                                                                  "aten.where.ScalarSelf",
                                                                  "aten.where.Scalar",
                                                                  "aten.masked_fill.Scalar",
                                                                  "aten.masked_fill.Tensor",
                                                                  "aten.bitwise_and.Tensor",
                                                                  "aten.bitwise_or.Tensor",
                                                                  "aten.bitwise_xor.Tensor",
                                                                  "aten.bitwise_and.Scalar",
                                                                  "aten.bitwise_or.Scalar",
                                                                  "aten.bitwise_xor.Scalar",
                                                                  "aten.selu.default",
                                                                  "aten.celu.default",
                                                                  "aten.relu6.default",
                                                                  "aten.softplus.default",
                                                                  "aten.log_sigmoid.default",
                                                                  "aten.square.default",
                                                                  "aten.clip.default",
                                                                  "aten.clip.Tensor",
                                                                  "aten.min.other",
                                                                  "aten.max.other",
                                                                  "aten.subtract.Tensor",
                                                                  "aten.multiply.Tensor",
                                                                  "aten.divide.Tensor",
                                                                  "aten.true_divide.Tensor",
                                                                  "aten.rsub.Scalar",
                                                                  "aten.rsub.Tensor",
                                                                  "aten.softshrink.default",
                                                                  "aten.hardshrink.default",
                                                                  "aten.conj.default",
                                                                  "aten.isfinite.default",
                                                                  "aten.isinf.default",
                                                                  "aten.leaky_relu.default",
                                                                  "aten.hardswish.default",
                                                                  "aten.floor_divide.default",
                                                                  "aten.floor_divide.Scalar",
                                                                  "aten.absolute.default",
                                                                  "aten.negative.default",
                                                                  "aten.fix.default",
                                                                  "aten.arctan.default",
                                                                  "aten.arctan2.default",
                                                                  "aten.greater.Tensor",
                                                                  "aten.greater.Scalar",
                                                                  "aten.less.Tensor",
                                                                  "aten.less.Scalar",
                                                                  "aten.greater_equal.Tensor",
                                                                  "aten.greater_equal.Scalar",
                                                                  "aten.less_equal.Tensor",
                                                                  "aten.less_equal.Scalar",
                                                                  "aten.not_equal.Tensor",
                                                                  "aten.not_equal.Scalar",
                                                                  "aten.special_erf.default",
                                                                  "aten.special_expit.default",
                                                                  "aten.special_exp2.default",
                                                                  "aten.special_logit.default",
                                                                  "aten.special_i0.default",
                                                                  "aten.special_ndtr.default",
                                                                  "aten.polar.default",
                                                                  "aten.complex.default",
                                                                  "aten.real.default",
                                                                  "aten.imag.default",
                                                                  "aten.resolve_conj.default",
                                                                  "aten.resolve_neg.default",
                                                                  "aten.true_divide.Scalar",
                                                                  "aten.divide.Scalar",
                                                                  "aten.divide.Tensor_mode",
                                                                  "aten.divide.Scalar_mode",
                                                                  "aten.multiply.Scalar",
                                                                  "aten.subtract.Scalar",
                                                                  "aten.isclose.default",
                                                                  "aten.fill.Scalar",
                                                                  "aten.special_digamma.default",
                                                                  "aten.special_erfc.default",
                                                                  "aten.special_erfinv.default",
                                                                  "aten.special_expm1.default",
                                                                  "aten.special_gammaln.default",
                                                                  "aten.special_log1p.default",
                                                                  "aten.special_psi.default",
                                                                  "aten.special_round.default",
                                                                  "aten.special_sinc.default",
                                                                  "aten.special_xlogy.default",
                                                                  "aten.special_xlogy.other_scalar",
                                                                  "aten.special_xlogy.self_scalar",
                                                                  "aten.arccos.default",
                                                                  "aten.arccosh.default",
                                                                  "aten.arcsin.default",
                                                                  "aten.arcsinh.default",
                                                                  "aten.arctanh.default",
                                                                  "aten.isreal.default",
                                                                  "aten._conj.default",
                                                                  "aten._conj_physical.default"});

bool matches(std::string_view op) {
  if (std::find(kUntagged.begin(), kUntagged.end(), op) != kUntagged.end()) return true;
  const auto handle = find_operator(op);
  return handle && is_pointwise(*handle) && !is_random(*handle) && !handle->schema().is_mutable();
}

Answer ask(const Call& call) {
  if (call.node.op == "aten.lerp.Tensor" && !has_one_dtype(call))
    return refuse("a weight of another dtype is a number to ATen, and none beside an axis of members");
  if (call.node.op == "aten.isclose.default" && !call.operands[0].mapped)
    return refuse("ATen writes into what has its first operand's shape, which has no axis of members here");
  Answer answer = offer(uniform_offer(call, Layout::kFront));
  for (const auto layout : {Layout::kPacked, Layout::kFoldedLast, Layout::kPackedLast}) {
    if (auto one = elementwise_offer(call, layout)) answer.offers.push_back(std::move(*one));
  }
  return answer;
}

bool is_whole_quotient(const Node& node) {
  if (node.op == "aten.floor_divide.default") return true;
  const bool with_mode = node.op == "aten.div.Tensor_mode" || node.op == "aten.divide.Tensor_mode";
  return with_mode && !node.arguments[2].is_none();
}

// PyTorch takes the type of the tensors where some operands are numbers (of rank 0). A number of each member
// is no number any more: what its type then changes is undone, by giving every operand the type that one
// member computes in. Nothing where it changes none, or where the operator has a type of its own.
std::optional<at::ScalarType> type_of_one_member(const Call& call) {
  const auto result_type = [&](bool wide) {
    at::native::ResultTypeState state;
    for (const auto& one : call.operands) {
      const bool number = one.type.rank() == 0 && !(wide && one.mapped);
      const auto like = at::empty(number ? at::IntArrayRef() : at::IntArrayRef({1}),
                                  at::TensorOptions(one.type.dtype).device(at::kMeta));
      state = at::native::update_result_type_state(like, state);
    }
    return at::native::result_type(state);
  };
  if (call.operands.size() < 2) return std::nullopt;
  const auto alone = result_type(false), computed = call.results[0].dtype;
  const bool own = computed != alone && computed != at::kBool;
  // On the CPU products by a number and quotients of 16 bits take it as it is and round once (ATen's
  // BinaryOpsKernel.cpp); a number that stands first is rounded like others.
  constexpr std::array<std::string_view, 8> kProducts = {
      "aten.mul.Tensor",         "aten.multiply.Tensor",     "aten.div.Tensor",
      "aten.divide.Tensor",      "aten.true_divide.Tensor",  "aten.div.Tensor_mode",
      "aten.divide.Tensor_mode", "aten.floor_divide.default"};
  const auto& by = call.operands[1];
  const bool rounds_once = by.type.rank() == 0 && by.type.dtype != alone &&
                           std::ranges::find(kProducts, call.node.op) != kProducts.end();
  // Whole quotients take several steps: all in float32 where one number divides, else each in 16 bits.
  const bool one_number = by.type.elements() == 1 && is_whole_quotient(call.node);
  if (call.device.is_cpu() && at::isReducedFloatingType(alone) && by.mapped && (rounds_once || one_number) &&
      !own)
    return at::kFloat;
  return own || alone == result_type(true) ? std::nullopt : std::optional(alone);
}

Kernel prepare(const Call& call, const Offer& offer) {
  const auto rank = call.results[0].rank();
  const auto type = type_of_one_member(call);
  const bool front = offer.results[0] == Layout::kFront;
  const bool aligned = std::all_of(call.operands.begin(), call.operands.end(), [&](const Operand& one) {
    return !one.mapped || one.type.rank() == rank;
  });
  Adapt adapt;
  if (type || (front && !aligned))
    adapt = [=, operands = call.operands](std::size_t i, const at::Tensor& tensor) {
      const auto cast = type && tensor.scalar_type() != at::kBool ? tensor.to(*type) : tensor;
      return front && operands[i].mapped ? align_front(cast, operands[i].type, rank) : cast;
    };
  return boxed_as_offered(call, offer, std::move(adapt));
}

// Activations of float32 by loops of our own.
Answer ask_one_pass(const Call& call) {
  const auto* activation = activation_of(call.node);
  if (!activation || !kernels::row_function(activation->name)) return refuse("not an activation of our own");
  if (call.results[0].dtype != at::kFloat || call.operands[0].type.dtype != at::kFloat)
    return refuse("only for float32");
  return ask(call);
}

Kernel prepare_one_pass(const Call& call, const Offer& offer) {
  const auto* activation = activation_of(call.node);
  return keep_promises(call, offer,
                       [=, own = kernels::row_function(activation->name)](std::span<const at::Tensor> in,
                                                                          std::span<at::Tensor> out) {
                         const bool dense = in[0].is_non_overlapping_and_dense();
                         out[0] = dense ? kernels::apply(own, in[0]) : activation->apply(in[0]);
                       });
}

std::vector<Sample> samples(std::int64_t members) {
  const Argument x{ValueRef{0}}, y{ValueRef{1}}, z{ValueRef{2}};
  return {
      {"relu", "aten.relu.default", {x}, {{{5, 7, 2}}}},
      {"gelu", "aten.gelu.default", {x, {std::string("tanh")}}, {{{5, 7}}}},
      {"tanh", "aten.tanh.default", {x}, {{{5, 7}}}},
      {"sin", "aten.sin.default", {x}, {{{5, 70}}}},
      {"cos of an image", "aten.cos.default", {x}, {{{2, 6, 4, 5}}}},
      {"sigmoid of an image", "aten.sigmoid.default", {x}, {{{2, 6, 4, 5}}}},
      {"silu of an image", "aten.silu.default", {x}, {{{2, 6, 4, 5}}}},
      {"gelu of an image", "aten.gelu.default", {x, {std::string("tanh")}}, {{{2, 6, 4, 5}}}},
      {"add", "aten.add.Tensor", {x, y, {2.0}}, {{{5, 7}}, {{5, 7}}}},
      {"broadcast to a longer shape", "aten.mul.Tensor", {x, y}, {{{5, 7, 4}}, {{4}}}},
      {"the shorter comes first", "aten.sub.Tensor", {x, y, {1.0}}, {{{4}}, {{5, 7, 4}}}},
      {"shared operand", "aten.mul.Tensor", {x, y}, {{{5, 7}}, {{5, 7}, false}}},
      {"shared operand is longer", "aten.add.Tensor", {x, y, {1.0}}, {{{7}}, {{5, 7}, false}}},
      {"scalar operand", "aten.mul.Tensor", {x, {0.5}}, {{{5, 7}}}},
      {"mapped number", "aten.mul.Tensor", {x, y}, {{{5, 7}}, {{}}}},
      {"B equals N", "aten.add.Tensor", {x, y, {1.0}}, {{{members, members}}, {{members}}}},
      {"channels broadcast", "aten.mul.Tensor", {x, y}, {{{2, 6, 4, 5}}, {{2, 6, 1, 1}}}},
      {"channels without batch", "aten.mul.Tensor", {x, y}, {{{2, 6, 4, 5}}, {{6, 1, 1}}}},
      {"shared channels", "aten.mul.Tensor", {x, y}, {{{2, 6, 4, 5}}, {{6, 1, 1}, false}}},
      {"shared image", "aten.add.Tensor", {x, y, {1.0}}, {{{2, 6, 4, 5}}, {{4, 5}, false}}},
      {"shared batch of images", "aten.add.Tensor", {x, y, {1.0}}, {{{2, 6, 4, 5}}, {{2, 1, 4, 5}, false}}},
      {"the same shapes", "aten.add.Tensor", {x, y, {1.0}}, {{{2, 6, 4, 5}}, {{2, 6, 4, 5}}}},
      {"volume", "aten.sub.Tensor", {x, y, {1.0}}, {{{2, 6, 4, 5, 3}}, {{2, 6, 4, 5, 3}, false}}},
      {"where", "aten.where.self", {x, y, z}, {{{5, 7}, true, at::kBool, 2}, {{5, 7}}, {{7}}}},
      {"clamp", "aten.clamp.default", {x, {-0.5}, {0.5}}, {{{5, 7}}}},
      {"compare", "aten.gt.Tensor", {x, y}, {{{5, 7}}, {{5, 1}}}},
      {"compare with a number of more bits",
       "aten.gt.Tensor",
       {x, y},
       {{{5, 7}, true, at::kChar, 100}, {{}, true, at::kLong, 1000}}},
      {"compare a number with a shared one of more bits",
       "aten.gt.Tensor",
       {x, y},
       {{{}, true, at::kChar, 100}, {{}, false, at::kLong, 1000}}},
      {"integers",
       "aten.add.Tensor",
       {x, y, {std::int64_t{1}}},
       {{{5, 7}, true, at::kLong}, {{7}, true, at::kLong}}},
      {"leaky relu", "aten.leaky_relu.default", {x, {0.1}}, {{{5, 7}}}},
      {"three operands", "aten.addcmul.default", {x, y, z, {0.5}}, {{{5, 7}}, {{7}}, {{5, 1}, false}}},
      {"cast", "aten.to.dtype", {x, {at::kDouble}, {false}, {false}, {}}, {{{5, 7}}}},
      {"masked fill", "aten.masked_fill.Scalar", {x, y, {-1.0}}, {{{5, 7}}, {{7}, true, at::kBool, 2}}},
  };
}

}  // namespace

Primitive pointwise() {
  return {
      "pointwise", {},
      matches,     {{"passthrough", ask, prepare}, own_kernel("one_pass", ask_one_pass, prepare_one_pass)},
      nullptr,     samples};
}

}  // namespace wide::pointwise_primitive
