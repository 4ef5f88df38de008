// Wide linear: y[n] = f(x[n] · W[n]ᵀ + b[n]), with or without an activation f, or combined with a tensor z by
// addition or multiplication.
//   x [N, …, I] or [.., I];  W [N, O, I] or [O, I];  b [N, O], [O] or none;  y [N, …, O];  z as y, or shared
#include <ATen/ATen.h>

#include <algorithm>

#include "core/strategy/combination.h"
#include "core/strategy/shared_constants.h"
#include "primitives/activated.h"
#include "primitives/kernels/packed_gemm.h"
#include "primitives/support.h"

namespace wide::linear_primitive {
namespace {

enum { kX, kW, kBias, kOther };

double flops(const Call& call) {
  const auto& weight = call.operand_at(kW)->type;
  return 2.0 * static_cast<double>(call.results[0].elements() * weight.shape.back() * call.members);
}

// The tensor that the result is combined with, [N, …] or, where all members share it, [1, …].
at::Tensor other_of(const Call& call, std::span<const at::Tensor> in) {
  const auto& z = in[*call.operand_of(kOther)];
  return is_mapped(call, kOther) ? z : z.unsqueeze(0);
}

bool has_epilogue(const Call& call) {
  return activation_in(call.node) || combination(call.node.op);
}

// `effort`: of the arithmetic, beside a plain product's. What follows is a pass of its own over the result
// unless it is `fused`.
Offer front(const Call& call, double effort = 1, bool fused = false) {
  auto one = uniform_offer(call, Layout::kFront);
  one.cost = kernel_cost(total_bytes(call), effort * flops(call));
  if (has_epilogue(call) && !fused) {
    const auto& y = call.results[0];
    one.cost += kernel_cost(2.0 * static_cast<double>(y.elements() * call.members) *
                            static_cast<double>(c10::elementSize(y.dtype)));
  }
  return one;
}

// Why the weight is no [O, I] or the bias no [O], as F.linear takes them too: one number, or more axes.
// Empty: they are.
std::string odd_weights(const Call& call) {
  const auto& weight = call.operand_at(kW)->type;
  if (weight.rank() != 2) return "the weight is not a matrix";
  const auto* bias = call.operand_at(kBias);
  if (bias && bias->type.shape != std::vector<std::int64_t>{weight.shape[0]})
    return "the bias is not one number for each output";
  return "";
}

// `product` followed by the activation or the combination, where the call has one.
Kernel finished(const Call& call, Kernel product) {
  if (const auto* with = combination(call.node.op)) {
    return [=, call = without_constants(call)](std::span<const at::Tensor> in, std::span<at::Tensor> out) {
      product(in, out);
      auto& y = out[0];
      const auto z = other_of(call, in);
      if (wants_gradients(in)) {
        y = with->apply(y, z);
      } else {
        with->apply_in_place(y, z);
      }
    };
  }
  return activated(activation_in(call.node), std::move(product));
}

// Nothing need be shared: one strided-batched GEMM.
Answer ask_baddbmm(const Call& call) {
  if (auto odd = odd_weights(call); !odd.empty()) return refuse(std::move(odd));
  if (!is_mapped(call, kW)) return refuse("the weight is shared: folding x is cheaper");
  return offer(front(call));
}

Kernel prepare_baddbmm(const Call& call, const Offer&) {
  const auto shape = physical_shape(call.results[0], Layout::kFront, call.members);
  return finished(call, [call, shape](std::span<const at::Tensor> in, std::span<at::Tensor> out) {
    const auto features = shape.back();
    const auto x = with_rows(front_or_none(call, kX, in));
    const auto wt = front_or_none(call, kW, in).transpose(1, 2);
    const auto bias = front_or_none(call, kBias, in);
    const auto y = bias.defined() ? at::baddbmm(bias.unsqueeze(1), x, wt) : at::bmm(x, wt);
    out[0] = shape.size() == 3 && y.size(1) == shape[1] && y.size(2) == features ? y : y.reshape(shape);
  });
}

// The same in einsum's words; it chooses the order of axes itself.
Answer ask_einsum(const Call& call) {
  if (auto odd = odd_weights(call); !odd.empty()) return refuse(std::move(odd));
  if (!is_mapped(call, kW)) return refuse("the weight is shared: folding x is cheaper");
  auto one = front(call);
  one.cost += 2 * kNanosecondsPerCall;
  return offer(std::move(one));
}

Kernel prepare_einsum(const Call& call, const Offer&) {
  const auto shape = physical_shape(call.results[0], Layout::kFront, call.members);
  return finished(call, [call, shape](std::span<const at::Tensor> in, std::span<at::Tensor> out) {
    auto x = in[*call.operand_of(kX)];
    const bool mapped = is_mapped(call, kX);
    x = mapped ? with_rows(x) : with_rows(x.unsqueeze(0)).squeeze(0);
    auto y = at::einsum(mapped ? "nbi,noi->nbo" : "bi,noi->nbo", {x, front_or_none(call, kW, in)});
    if (const auto bias = front_or_none(call, kBias, in); bias.defined()) y = y + bias.unsqueeze(1);
    out[0] = y.reshape(shape);
  });
}

// By kernels generated for their size, from weights in panels: made once, where they are constant.
std::int64_t rows_of(const Call& call) {
  const auto& x = call.operand_at(kX)->type;
  return x.elements() / std::max<std::int64_t>(1, x.shape.back());
}

Answer ask_packed(const Call& call, bool fused) {
  if (auto odd = odd_weights(call); !odd.empty()) return refuse(std::move(odd));
  if (!is_mapped(call, kW) && is_mapped(call, kBias)) return refuse("the bias differs per member");
  if (!is_mapped(call, kW) && !is_mapped(call, kX)) return refuse("the product is the same for all members");
  if (call.results[0].dtype != at::kFloat) return refuse("only float32 is generated");
  const auto& weight = call.operand_at(kW)->type;
  auto reason = kernels::PackedGemm::refusal(rows_of(call), weight.shape[1], weight.shape[0]);
  if (!reason.empty()) return refuse(std::move(reason));
  return offer(front(call, is_mapped(call, kX) ? 0.9 : 0.7, fused));
}

// Where the weight is shared, the members' rows are rows of one product.
Kernel packed(const Call& call, const kernels::Epilogue& epilogue = {}) {
  const auto shape = physical_shape(call.results[0], Layout::kFront, call.members);
  const auto& weight = call.operand_at(kW)->type;
  const bool folds = !is_mapped(call, kW);
  const kernels::PackedGemm product((folds ? call.members : 1) * rows_of(call), weight.shape[1],
                                    weight.shape[0]);
  const auto matrices = [folds](const at::Tensor& w) { return folds ? w.unsqueeze(0) : w; };
  at::Tensor ready;
  if (const auto& constant = call.operand_at(kW)->constant; constant.defined()) {
    const auto pack = [&](const at::Tensor& w) { return product.pack(w); };
    ready = folds
                ? shared_whole_constant(constant, "panels", [&] { return pack(matrices(constant.tensor())); })
                : shared_constant(constant, "panels", pack);
  }
  return [=, call = without_constants(call)](std::span<const at::Tensor> in, std::span<at::Tensor> out) {
    const auto& given = in[*call.operand_of(kX)];
    auto x = is_mapped(call, kX) ? with_rows(given) : with_rows(given.unsqueeze(0));
    if (folds) x = x.reshape({1, -1, x.size(-1)});
    at::Tensor bias;
    if (folds && call.operand_of(kBias)) {
      bias = in[*call.operand_of(kBias)].unsqueeze(0);
    } else {
      bias = front_or_none(call, kBias, in);
    }
    const auto w = ready.defined() ? ready : product.pack(matrices(in[*call.operand_of(kW)]));
    auto after = epilogue;
    if (after.with != kernels::Epilogue::With::kNothing) {
      const auto z = other_of(call, in);
      after.other = z.reshape({folds ? 1 : z.size(0), -1, shape.back()}).contiguous();
    }
    out[0] = product.run(x.contiguous(), w, bias.defined() ? bias.contiguous() : bias, after).reshape(shape);
  };
}

std::vector<std::size_t> weight_of(const Call& call) {
  return {*call.operand_of(kW)};
}

Answer ask_xsmm(const Call& call) {
  return ask_packed(call, /*fused=*/false);
}

Kernel prepare_xsmm(const Call& call, const Offer&) {
  return finished(call, packed(call));
}

// What follows, of a part of the result while that is still in the cache.
Answer ask_fused(const Call& call) {
  if (!has_epilogue(call)) return refuse("no activation, addition or product alone reads the result");
  if (activation_in(call.node) && !kernels::row_function(activation_in(call.node)->name))
    return refuse("the activation is ATen's alone");
  if (combination(call.node.op) && !is_mapped(call, kW) && !is_mapped(call, kOther))
    return refuse("all members' rows are one product, and what follows is one member's");
  return ask_packed(call, /*fused=*/true);
}

Kernel prepare_fused(const Call& call, const Offer&) {
  kernels::Epilogue epilogue;
  if (const auto* after = activation_in(call.node)) {
    epilogue.function = kernels::row_function(after->name);
  } else {
    epilogue.with =
        call.node.op == kLinearAdd ? kernels::Epilogue::With::kAdd : kernels::Epilogue::With::kMultiply;
  }
  return packed(call, epilogue);
}

// x is shared: the N weights stacked into one [N·O, I] pay for a single GEMM, and x is read once.
Answer ask_stacked(const Call& call) {
  if (auto odd = odd_weights(call); !odd.empty()) return refuse(std::move(odd));
  if (is_mapped(call, kX)) return refuse("x differs per member");
  if (!is_mapped(call, kW)) return refuse("the weight is shared");
  auto one = front(call, 0.7);
  one.operands[*call.operand_of(kW)] = Layout::kFolded;
  if (const auto bias = call.operand_of(kBias)) {
    one.operands[*bias] = call.operands[*bias].mapped ? Layout::kFolded : Layout::kShared;
  }
  return offer(std::move(one));
}

Kernel prepare_stacked(const Call& call, const Offer&) {
  return finished(call, [call](std::span<const at::Tensor> in, std::span<at::Tensor> out) {
    const auto bias = front_or_none(call, kBias, in);
    const auto y = at::linear(in[*call.operand_of(kX)], in[*call.operand_of(kW)],
                              bias.defined() ? std::optional(bias.flatten()) : std::nullopt);
    out[0] = y.unflatten(-1, {call.members, -1}).movedim(-2, 0);  // [.., N, O] -> [N, .., O]
  });
}

// The weight is shared: the model axis is only more batch.
Answer ask_folded(const Call& call) {
  if (auto odd = odd_weights(call); !odd.empty()) return refuse(std::move(odd));
  if (is_mapped(call, kW)) return refuse("the weight differs per member");
  if (is_mapped(call, kBias)) return refuse("the bias differs per member");
  return offer(front(call));
}

Kernel prepare_folded(const Call& call, const Offer&) {
  return boxed(call, call.node);
}

std::vector<Sample> samples(std::int64_t members) {
  const std::vector<Argument> with{{ValueRef{0}}, {ValueRef{1}}, {ValueRef{2}}},
      without{{ValueRef{0}}, {ValueRef{1}}, {}};
  const std::string op = "aten.linear.default", both = std::string(kLinearActivation);
  const std::vector<Argument> combined{{ValueRef{0}}, {ValueRef{1}}, {ValueRef{2}}, {ValueRef{3}}};
  const std::string add(kLinearAdd), mul(kLinearMul);
  const auto then = [&](const char* name) {
    auto arguments = with;
    arguments.push_back({std::string(name)});
    return arguments;
  };
  return {
      {"all mapped", op, with, {{{5, 7}}, {{4, 7}}, {{4}}}},
      {"no bias", op, without, {{{5, 7}}, {{4, 7}}}},
      {"shared x", op, with, {{{5, 7}, false}, {{4, 7}}, {{4}}}},
      {"shared x, three axes", op, without, {{{2, 5, 7}, false}, {{4, 7}}}},
      {"shared weight and bias", op, with, {{{5, 7}}, {{4, 7}, false}, {{4}, false}}},
      {"shared bias", op, with, {{{5, 7}}, {{4, 7}}, {{4}, false}}},
      {"three axes", op, with, {{{2, 5, 7}}, {{4, 7}}, {{4}}}},
      {"vector", op, with, {{{7}}, {{4, 7}}, {{4}}}},
      {"B equals N", op, with, {{{members, 7}}, {{4, 7}}, {{4}}}},
      {"only the bias is mapped", op, with, {{{5, 7}, false}, {{4, 7}, false}, {{4}}}},
      {"relu", both, then("relu"), {{{5, 7}}, {{4, 7}}, {{4}}}},
      {"gelu", both, then("gelu"), {{{2, 5, 7}}, {{4, 7}}, {{4}}}},
      {"gelu_tanh", both, then("gelu_tanh"), {{{5, 7}}, {{4, 7}}, {{4}}}},
      {"silu of shared x", both, then("silu"), {{{5, 7}, false}, {{4, 7}}, {{4}}}},
      {"sigmoid of shared weights", both, then("sigmoid"), {{{5, 7}}, {{4, 7}, false}, {{4}, false}}},
      {"tanh, no bias",
       both,
       {{ValueRef{0}}, {ValueRef{1}}, {}, {std::string("tanh")}},
       {{{5, 7}}, {{4, 7}}}},
      {"added", add, combined, {{{5, 7}}, {{4, 7}}, {{4}}, {{5, 4}}}},
      {"added, shared x", add, combined, {{{2, 5, 7}, false}, {{4, 7}}, {{4}}, {{2, 5, 4}}}},
      {"added, shared weights", add, combined, {{{5, 7}}, {{4, 7}, false}, {{4}, false}, {{5, 4}}}},
      {"added, B equals N", add, combined, {{{members, 7}}, {{4, 7}}, {{4}}, {{members, 4}, false}}},
      {"multiplied", mul, combined, {{{2, 5, 7}}, {{4, 7}}, {{4}}, {{2, 5, 4}}}},
      {"multiplied, a vector", mul, combined, {{{7}}, {{4, 7}}, {{4}}, {{4}}}},
      {"multiplied by what is shared", mul, combined, {{{5, 7}}, {{4, 7}}, {{4}}, {{5, 4}, false}}},
      {"multiplied, shared weights, by what is shared",
       mul,
       combined,
       {{{5, 7}}, {{4, 7}, false}, {{4}, false}, {{5, 4}, false}}},
      {"only what is added is mapped",
       add,
       combined,
       {{{5, 7}, false}, {{4, 7}, false}, {{4}, false}, {{5, 4}}}},
      {"multiplied, no bias",
       mul,
       {{ValueRef{0}}, {ValueRef{1}}, {}, {ValueRef{2}}},
       {{{5, 7}}, {{4, 7}}, {{5, 4}}}},
  };
}

}  // namespace

Primitive linear() {
  return {"linear",
          {"aten.linear.default", kLinearActivation, kLinearAdd, kLinearMul},
          nullptr,
          {{"stacked", ask_stacked, prepare_stacked},
           {"folded", ask_folded, prepare_folded},
           {"baddbmm", ask_baddbmm, prepare_baddbmm},
           {"einsum", ask_einsum, prepare_einsum},
           packing_kernel("xsmm", ask_xsmm, prepare_xsmm, weight_of),
           packing_kernel("fused", ask_fused, prepare_fused, weight_of)},
          flops,
          samples};
}

}  // namespace wide::linear_primitive
