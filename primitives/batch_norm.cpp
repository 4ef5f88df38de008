// Wide batch_norm: statistics are per channel, so one norm over N·C channels is exact.
//   x [B, N·C, …]; weight, bias, running statistics [N·C]
#include <ATen/ATen.h>

#include <algorithm>
#include <array>

#include "primitives/kernels/batch_norm.h"
#include "primitives/kernels/rows.h"
#include "primitives/support.h"

namespace wide::batch_norm_primitive {
namespace {

enum { kX, kWeight, kBias, kMean, kVariance, kTraining, kMomentum, kEps };

// Every mapped operand but x is a vector over channels; what is shared is repeated for each member.
Offer packed(const Call& call, Layout layout) {
  Offer one = uniform_offer(call, layout);
  for (std::size_t i = 0; i < call.operands.size(); ++i) {
    one.operands[i] = i == *call.operand_of(0) ? layout : Layout::kFolded;
  }
  for (std::size_t i = 0; i < call.results.size(); ++i) {
    one.results[i] = i == 0 ? layout : Layout::kFolded;
  }
  one.cost = kernel_cost(1.5 * total_bytes(call));
  return one;
}

Answer ask(const Call& call) {
  if (!call.operand_of(0)) return refuse("the input is a constant");
  if (call.operand_at(0)->type.rank() < 2) return refuse("the input has no channel axis");
  Answer answer = offer(packed(call, Layout::kPacked));
  if (can_hold(Layout::kPackedLast, call.results[0]))
    answer.offers.push_back(packed(call, Layout::kPackedLast));
  return answer;
}

Kernel prepare(const Call& call, const Offer& offer) {
  return boxed_as_offered(call, offer);
}

// With running statistics the norm is one multiplication and one addition: y = x · scale + shift.
//   x [N, B, C, …] or [N·B, C, …] with channels innermost; scale, shift [N, C]
Answer ask_affine(const Call& call) {
  if (!call.operand_of(kX)) return refuse("the input is a constant");
  if (call.operand_at(kX)->type.rank() < 2) return refuse("the input has no channel axis");
  if (call.node.op != "aten.batch_norm.default" || call.flag(kTraining))
    return refuse("the statistics come from the batch");
  if (!call.operand_of(kMean) || !call.operand_of(kVariance))
    return refuse("there are no running statistics");
  if (call.results.size() != 1) return refuse("updated statistics are wanted");
  if (at::isReducedFloatingType(call.results[0].dtype))
    return refuse("scale and shift of 16 bits are less exact than ATen's");
  if (!kernels::can_run_rows(call.results[0].dtype)) return refuse("no kernel for this dtype");
  Answer answer;
  for (const auto layout : {Layout::kFront, Layout::kFoldedLast}) {
    if (!can_hold(layout, call.results[0])) continue;
    auto one = uniform_offer(call, Layout::kFront);
    one.operands[*call.operand_of(kX)] = one.results[0] = layout;
    one.cost = kernel_cost(total_bytes(call)) + 2 * kNanosecondsPerCall;
    answer.offers.push_back(std::move(one));
  }
  return answer;
}

struct Affine {
  at::Tensor scale, shift;  ///< [N, C]
};

Affine affine(const Call& call, const std::function<at::Tensor(std::size_t)>& front) {
  const auto work = call.results[0].dtype == at::kDouble ? at::kDouble : at::kFloat;
  const auto get = [&](std::size_t index) {
    const auto tensor = front(index);
    return tensor.defined() ? tensor.to(work) : tensor;
  };
  const auto weight = get(kWeight), bias = get(kBias);
  auto scale = (get(kVariance) + call.real(kEps)).rsqrt();
  if (weight.defined()) scale = scale * weight;
  auto shift = -(get(kMean) * scale);
  if (bias.defined()) shift = shift + bias;
  const auto& x = *call.operand_at(kX);
  const std::vector<std::int64_t> shape{call.members, x.type.shape[1]};
  const auto finish = [&](const at::Tensor& one) { return one.to(call.results[0].dtype).expand(shape); };
  return {finish(scale).contiguous(), finish(shift).contiguous()};
}

// Once, at build, where the statistics and weights never change.
std::optional<Affine> constant_affine(const Call& call) {
  for (const auto index : {kWeight, kBias, kMean, kVariance}) {
    const auto* operand = call.operand_at(index);
    if (operand && (!operand->constant.defined() || operand->constant.requires_grad())) return std::nullopt;
  }
  return affine(call, [&](std::size_t index) {
    const auto* operand = call.operand_at(index);
    if (!operand) return at::Tensor();
    const auto known = operand->constant.tensor();
    return operand->mapped ? known : known.unsqueeze(0);
  });
}

Kernel prepare_affine(const Call& call, const Offer& offer) {
  const bool last = is_last(offer.results[0]);
  const auto known = constant_affine(call);
  return [=](std::span<const at::Tensor> in, std::span<at::Tensor> out) {
    const auto [scale, shift] =
        known ? *known : affine(call, [&](std::size_t index) { return front_or_none(call, index, in); });
    const auto& operand = *call.operand_at(kX);
    auto x = in[*call.operand_of(kX)];
    if (last) {
      const auto rows = x.movedim(1, -1);  // [N·B, …, C]
      const auto y =
          at::addcmul(shift.unsqueeze(1), rows.reshape({call.members, -1, x.size(1)}), scale.unsqueeze(1));
      out[0] = y.reshape(rows.sizes()).movedim(-1, 1);
      return;
    }
    if (!operand.mapped) x = x.expand(physical_shape(operand.type, Layout::kFront, call.members));
    if (x.is_cpu() && x.dim() > 3 && !wants_gradients(in)) {
      out[0] = kernels::scale_shift(x, scale, shift);
      return;
    }
    std::vector<std::int64_t> shape(static_cast<std::size_t>(x.dim()), 1);
    shape[0] = scale.size(0);
    shape[2] = scale.size(1);
    out[0] = at::addcmul(shift.reshape(shape), x, scale.reshape(shape));
  };
}

// Where an operator has what such a norm wants.
struct Places {
  std::string_view op;
  std::optional<std::size_t> mean, variance, training;
  std::size_t momentum, eps;
};
constexpr std::array kPlaces = {
    Places{"aten.batch_norm.default", kMean, kVariance, kTraining, kMomentum, kEps},
    Places{"aten._native_batch_norm_legit_functional.default", 3, 4, 5, 6, 7},
    Places{"aten._native_batch_norm_legit.no_stats", {}, {}, 3, 4, 5},
};
const Places& places_of(const Call& call) {
  return *std::find_if(kPlaces.begin(), kPlaces.end(),
                       [&](const Places& one) { return one.op == call.node.op; });
}

// With the batch's statistics: each channel is read once.
//   x [N, B, C, …]; all else [N, C]
Answer ask_by_channel(const Call& call) {
  if (!call.operand_of(kX)) return refuse("the input is a constant");
  const auto& x = call.operand_at(kX)->type;
  if (!call.flag(*places_of(call).training)) return refuse("the statistics do not come from the batch");
  if (x.rank() < 3) return refuse("a channel has no rows");
  std::int64_t length = 1, count = x.shape[0];
  for (std::size_t i = 2; i < x.shape.size(); ++i) length *= x.shape[i];
  if (length < kernels::kShortestRow) return refuse("the rows of a channel are short");
  if (count * length < 2) return refuse("a channel has a single number");
  const auto is_float = [](const auto& one) { return one.dtype == at::kFloat; };
  if (!std::all_of(call.results.begin(), call.results.end(), is_float) ||
      !std::all_of(call.operands.begin(), call.operands.end(),
                   [&](const Operand& one) { return is_float(one.type); }))
    return refuse("only float32 has such a kernel");
  auto one = uniform_offer(call, Layout::kFront);
  one.cost = kernel_cost(total_bytes(call));
  return offer(std::move(one));
}

Kernel prepare_by_channel(const Call& call, const Offer&) {
  const auto& places = places_of(call);
  return [=, momentum = call.real(places.momentum), eps = call.real(places.eps)](
             std::span<const at::Tensor> in, std::span<at::Tensor> out) {
    const auto get = [&](std::optional<std::size_t> index) {
      return index ? front_or_none(call, *index, in) : at::Tensor();
    };
    const auto norm = kernels::batch_norm(get(kX), get(kWeight), get(kBias), get(places.mean),
                                          get(places.variance), momentum, eps);
    const std::array results{norm.y, norm.mean, norm.invstd, norm.running_mean, norm.running_var};
    std::copy_n(results.begin(), out.size(), out.begin());
  };
}

std::vector<Sample> samples(std::int64_t members) {
  const auto arguments = [](bool training) {
    return std::vector<Argument>{{ValueRef{0}}, {ValueRef{1}}, {ValueRef{2}}, {ValueRef{3}}, {ValueRef{4}},
                                 {training},    {0.1},         {1e-5},        {false}};
  };
  const SampleOperand c{{7}}, positive{{7}, true, at::kFloat, 10, true}, shared{{7}, false},
      shared_positive{{7}, false, at::kFloat, 10, true};
  const std::string op = "aten.batch_norm.default";
  return {
      {"1d", op, arguments(false), {{{5, 7}}, c, c, c, positive}},
      {"2d", op, arguments(false), {{{5, 7, 4, 3}}, c, c, c, positive}},
      {"3d", op, arguments(false), {{{2, 7, 4, 3, 2}}, c, c, c, positive}},
      {"shared weights", op, arguments(false), {{{5, 7, 4, 3}}, shared, shared, shared, shared_positive}},
      {"shared input", op, arguments(false), {{{5, 7, 4, 3}, false}, c, c, c, positive}},
      {"B equals N", op, arguments(false), {{{members, 7, 4}}, c, c, c, positive}},
      {"no affine",
       op,
       {{ValueRef{0}}, {}, {}, {ValueRef{1}}, {ValueRef{2}}, {false}, {0.1}, {1e-5}, {false}},
       {{{5, 7, 4}}, c, positive}},
      {"batch statistics",
       op,
       {{ValueRef{0}}, {ValueRef{1}}, {ValueRef{2}}, {}, {}, {true}, {0.1}, {1e-5}, {false}},
       {{{5, 7, 4}}, c, c}},
      {"no running statistics",
       "aten._native_batch_norm_legit.no_stats",
       {{ValueRef{0}}, {ValueRef{1}}, {ValueRef{2}}, {true}, {0.1}, {1e-5}},
       {{{5, 7, 4}}, c, c}},
      {"training, rows of channels",
       "aten._native_batch_norm_legit_functional.default",
       {{ValueRef{0}}, {ValueRef{1}}, {ValueRef{2}}, {ValueRef{3}}, {ValueRef{4}}, {true}, {0.1}, {1e-5}},
       {{{3, 7, 5, 7}}, c, shared, c, positive}},
      {"training, a shared input",
       "aten._native_batch_norm_legit_functional.default",
       {{ValueRef{0}}, {ValueRef{1}}, {ValueRef{2}}, {ValueRef{3}}, {ValueRef{4}}, {true}, {0.1}, {1e-5}},
       {{{3, 7, 5, 7}, false}, c, c, c, positive}},
      {"no running statistics, rows of channels",
       "aten._native_batch_norm_legit.no_stats",
       {{ValueRef{0}}, {}, {ValueRef{1}}, {true}, {0.1}, {1e-5}},
       {{{5, 7, 19}}, c}},
      {"training, statistics returned",
       "aten._native_batch_norm_legit_functional.default",
       {{ValueRef{0}}, {ValueRef{1}}, {ValueRef{2}}, {ValueRef{3}}, {ValueRef{4}}, {true}, {0.1}, {1e-5}},
       {{{5, 7, 4}}, c, c, c, positive}},
  };
}

}  // namespace

Primitive batch_norm() {
  return {"batch_norm",
          {"aten.batch_norm.default", "aten._native_batch_norm_legit_functional.default",
           "aten._native_batch_norm_legit.no_stats"},
          nullptr,
          {{"wide", ask, prepare},
           {"affine", ask_affine, prepare_affine},
           own_kernel("by_channel", ask_by_channel, prepare_by_channel)},
          nullptr,
          samples};
}

}  // namespace wide::batch_norm_primitive
