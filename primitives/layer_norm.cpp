// Wide layer_norm and rms_norm: rows are normalised without weights, then scaled by each member's own.
//   x [N, …, D]; weight, bias [N, D…], [D…] or none
// Arguments: layer_norm: x, normalized_shape, weight, bias, eps, cudnn; rms_norm: x, normalized_shape,
// weight, eps.
#include <ATen/ATen.h>

#include <limits>

#include "primitives/kernels/rows.h"
#include "primitives/support.h"

namespace wide::layer_norm_primitive {
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
    // ATen takes 16-bit numbers with weights of float32 and rounds once.
    auto x = in[*call.operand_of(kX)];
    for (const auto index : {kWeight, kBias})
      if (const auto weight = call.operand_of(index))
        x = x.to(at::promote_types(x.scalar_type(), in[*weight].scalar_type()));
    auto y = layer ? at::layer_norm(x, shape, {}, {}, *eps) : at::rms_norm(x, shape, {}, eps);
    const auto weight = scale(call, kWeight, in);
    const auto bias = layer ? scale(call, kBias, in) : at::Tensor();
    if (weight.defined() && bias.defined()) {
      y = at::addcmul(bias, y, weight);
    } else if (weight.defined()) {
      // ATen's layer_norm adds a bias of 0, which makes -0 to 0.
      y = layer ? at::addcmul(at::zeros({}, y.options()), y, weight) : y * weight;
    } else if (bias.defined()) {
      y = y + bias;
    }
    const auto wanted = physical_shape(call.results[0], Layout::kFront, call.members);
    out[0] = y.expand(wanted).to(call.results[0].dtype);
  };
}

// One pass of our own: moments, normalisation and each member's weights.
Answer ask_fused(const Call& call) {
  if (call.is_none(is_layer_norm(call) ? 4 : 3) && call.results[0].dtype == at::kBFloat16)
    return refuse("the default eps of bfloat16 is left to ATen");
  return ask_one_pass_norm(call);
}

Kernel prepare_fused(const Call& call, const Offer& offer) {
  const bool layer = is_layer_norm(call);
  const auto& type = call.operand_at(kX)->type;
  std::int64_t length = 1;
  for (const auto size : call.integers(kShape)) length *= size;
  const auto index = layer ? 4U : 3U;
  const double smallest = type.dtype == at::kDouble
                              ? std::numeric_limits<double>::epsilon()
                              : static_cast<double>(std::numeric_limits<float>::epsilon());
  const double eps = call.is_none(index) ? smallest : call.real(index);
  const auto composed = prepare_batched(call, offer);
  return [=](std::span<const at::Tensor> in, std::span<at::Tensor> out) {
    const auto x = front_or_none(call, kX, in);
    if (wants_gradients(in) || x.numel() == 0) return composed(in, out);
    const auto vectors = [&](std::size_t argument) {
      const auto one = front_or_none(call, argument, in);
      return one.defined() ? one.reshape({call.members, length}) : one;
    };
    out[0] = kernels::normalize_rows(x.reshape({call.members, -1, length}), vectors(kWeight),
                                     layer ? vectors(kBias) : at::Tensor(), eps,
                                     layer ? kernels::Norm::kLayer : kernels::Norm::kRms)
                 .reshape(x.sizes());
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
      {"a long row", op, layer(w, b, {37}), {{{5, 37}}, {{37}}, {{37}}}},
      {"rows of no elements", op, layer(w, b, {0}), {{{5, 0}}, {{0}}, {{0}}}},
      {"no rows", op, layer(w, b, {7}), {{{0, 7}}, {{7}}, {{7}}}},
      {"only a bias", op, layer({}, w, {7}), {{{5, 7}}, {{7}}}},
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
  return {"layer_norm",
          {"aten.layer_norm.default", "aten.rms_norm.default"},
          nullptr,
          {{"folded", ask_folded, prepare_folded},
           {"batched", ask_batched, prepare_batched},
           {.name = "fused", .ask = ask_fused, .prepare = prepare_fused, .cpu_only = true}},
          nullptr,
          samples};
}

}  // namespace wide::layer_norm_primitive
