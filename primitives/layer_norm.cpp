// Wide layer_norm and rms_norm: rows are normalised without weights, then scaled by each member's own.
//   x [N, …, D]; weight, bias [N, D…], [D…] or none
// Arguments: layer_norm: x, normalized_shape, weight, bias, eps, cudnn; rms_norm: x, normalized_shape,
// weight, eps.
#include <ATen/ATen.h>

#include "primitives/support.h"

namespace wide {
namespace {

enum { kX, kShape, kWeight, kBias };

bool is_layer_norm(const Call& call) {
  return call.node.op == "aten.layer_norm.default";
}
bool has_bias(const Call& call) {
  return is_layer_norm(call) && call.operand_of(kBias).has_value();
}

bool weights_mapped(const Call& call) {
  return is_mapped(call, kWeight) || (has_bias(call) && is_mapped(call, kBias));
}

// The weights are shared: the rows of all members are rows.
Answer ask_folded(const Call& call) {
  if (weights_mapped(call)) return refuse("the weights differ per member");
  return offer(uniform_offer(call, Layout::kFront));
}

Kernel prepare_folded(const Call& call, const Offer&) {
  return boxed(call, call.node);
}

Answer ask_batched(const Call& call) {
  if (!call.operand_of(kX)) return refuse("the input is a constant");
  auto one = uniform_offer(call, Layout::kFront);
  one.cost = kernel_cost(2 * total_bytes(call)) + kNanosecondsPerCall;
  return offer(std::move(one));
}

// A weight as [N, 1…, D…], or [D…] where shared.
at::Tensor scale(const Call& call, std::size_t index, std::span<const at::Tensor> in) {
  const auto operand = call.operand_of(index);
  if (!operand) return {};
  const auto& weight = call.operands[*operand];
  return weight.mapped ? align_front(in[*operand], weight.type, call.results[0].rank()) : in[*operand];
}

Kernel prepare_batched(const Call& call, const Offer&) {
  const auto shape = call.integers(kShape);
  const bool layer = is_layer_norm(call);
  std::optional<double> eps;
  if (const std::size_t index = layer ? 4 : 3; !call.is_none(index)) eps = call.real(index);
  return [call, shape, layer, eps](std::span<const at::Tensor> in, std::span<at::Tensor> out) {
    const auto& x = in[*call.operand_of(kX)];
    auto y = layer ? at::layer_norm(x, shape, {}, {}, *eps) : at::rms_norm(x, shape, {}, eps);
    const auto weight = scale(call, kWeight, in);
    const auto bias = layer ? scale(call, kBias, in) : at::Tensor();
    if (weight.defined() && bias.defined()) {
      y = at::addcmul(bias, y, weight);
    } else if (weight.defined()) {
      y = y * weight;
    } else if (bias.defined()) {
      y = y + bias;
    }
    const auto wanted = physical_shape(call.results[0], Layout::kFront, call.members);
    out[0] = y.expand(wanted);
  };
}

std::vector<Sample> samples(std::int64_t members) {
  const auto layer = [](Argument weight, Argument bias, std::vector<std::int64_t> shape) {
    return std::vector<Argument>{
        {ValueRef{0}}, ints_argument(shape), std::move(weight), std::move(bias), {1e-5}, {true}};
  };
  const Argument w{ValueRef{1}}, b{ValueRef{2}};
  const std::string op = "aten.layer_norm.default";
  return {
      {"all mapped", op, layer(w, b, {7}), {{{2, 5, 7}}, {{7}}, {{7}}}},
      {"no affine", op, layer({}, {}, {7}), {{{2, 5, 7}}}},
      {"two axes", op, layer(w, b, {5, 7}), {{{2, 5, 7}}, {{5, 7}}, {{5, 7}}}},
      {"shared weights", op, layer(w, b, {7}), {{{2, 5, 7}}, {{7}, false}, {{7}, false}}},
      {"shared input", op, layer(w, b, {7}), {{{2, 5, 7}, false}, {{7}}, {{7}}}},
      {"no bias", op, layer(w, {}, {7}), {{{5, 7}}, {{7}}}},
      {"B equals N", op, layer(w, b, {7}), {{{members, 7}}, {{7}}, {{7}}}},
      {"rms_norm",
       "aten.rms_norm.default",
       {{ValueRef{0}}, ints_argument({7}), w, {1e-6}},
       {{{2, 5, 7}}, {{7}}}},
      {"rms_norm, default eps",
       "aten.rms_norm.default",
       {{ValueRef{0}}, ints_argument({7}), {}, {}},
       {{{2, 5, 7}}}},
  };
}

}  // namespace

Primitive layer_norm() {
  return {"layer_norm", {"aten.layer_norm.default", "aten.rms_norm.default"},
          nullptr,      {{"folded", ask_folded, prepare_folded}, {"batched", ask_batched, prepare_batched}},
          nullptr,      samples};
}

}  // namespace wide
