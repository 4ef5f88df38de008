// Wide dropout in training: y[n] = x[n] · mask[n] / (1 - p), each member's mask drawn from its own stream.
//   x [N, …]; dropout: x, p, train; feature_dropout: whole channels, mask [N, B, C, 1…]
#include <ATen/ATen.h>
#include <ATen/Parallel.h>

#include <algorithm>

#include "core/aten/device.h"
#include "core/aten/side_by_side.h"
#include "core/strategy/sequential.h"
#include "primitives/support.h"

namespace wide::dropout_primitive {
namespace {

enum { kX, kProbability, kTrain };

std::string_view refusal(const Call& call) {
  if (!call.operand_of(kX)) return "the input is a constant";
  if (!call.flag(kTrain)) return "nothing is dropped in evaluation";
  if (call.node.op == "aten.feature_dropout.default" && call.operand_at(kX)->type.rank() < 2)
    return "the input has no channel axis";
  return {};
}

Answer ask(const Call& call) {
  if (const auto reason = refusal(call); !reason.empty()) return refuse(std::string(reason));
  auto one = uniform_offer(call, Layout::kFront);
  one.cost = kernel_cost(4 * total_bytes(call)) + static_cast<double>(call.members) * kNanosecondsPerCall;
  return offer(std::move(one));
}

// The shape of one member's mask.
std::vector<std::int64_t> mask_shape(const Call& call) {
  auto shape = call.operand_at(kX)->type.shape;
  if (call.node.op == "aten.feature_dropout.default") std::fill(shape.begin() + 2, shape.end(), 1);
  return shape;
}

// On the CPU ATen draws in the shape of a dense mask, so that a member's part of one mask gets the very same
// numbers. Its kernel for GPUs draws in another order: there members are run one after the other.
void draw(at::Tensor mask, double probability, at::Generator& generator) {
  if (probability == 1.0 || mask.numel() == 0) {
    mask.zero_();  // ATen draws nothing either
  } else {
    mask.bernoulli_(1 - probability, generator).div_(1 - probability);
  }
}

at::Tensor apply(const Call& call, std::span<const at::Tensor> in, const at::Tensor& mask) {
  const auto& x = in[*call.operand_of(kX)];
  return is_mapped(call, kX) ? x * mask : x.unsqueeze(0) * mask;
}

// Draws one mask for each member, from its own stream, into the members of `masks`; `then` gets each while it
// is still in cache. A generator draws one number after the other; members have one each, so they draw side
// by side.
template <typename Then>
void draw_each(const at::Tensor& masks, double probability, const Then& then) {
  auto* streams = MemberStreams::current();
  auto otherwise = default_generator(at::kCPU);
  const auto threads = streams ? static_cast<std::size_t>(at::get_num_threads()) : 1;
  const bool inference = c10::InferenceMode::is_enabled();
  run_side_by_side(static_cast<std::size_t>(masks.size(0)), threads, [&](std::size_t i) {
    const c10::InferenceMode mode(inference);
    const auto member = static_cast<std::int64_t>(i);
    auto mask = masks.select(0, member);
    draw(mask, probability, streams ? streams->generator(i) : otherwise);
    then(mask, member);
  });
}

Kernel prepare_independent(const Call& call, const Offer&) {
  auto shape = mask_shape(call);
  const bool whole = shape == call.operand_at(kX)->type.shape;
  shape.insert(shape.begin(), call.members);
  const auto probability = call.real(kProbability);
  return [=](std::span<const at::Tensor> in, std::span<at::Tensor> out) {
    const auto& x = in[*call.operand_of(kX)];
    const auto masks = at::empty(shape, x.options().requires_grad(false));
    if (whole && !wants_gradients(in)) {  // the masks become the result
      draw_each(masks, probability, [&](at::Tensor& mask, std::int64_t member) {
        mask.mul_(is_mapped(call, kX) ? x.select(0, member) : x);
      });
      out[0] = masks;
      return;
    }
    draw_each(masks, probability, [](const at::Tensor&, std::int64_t) {});
    out[0] = apply(call, in, masks);
  };
}

// One mask for all, drawn from the first member's stream.
Kernel prepare_shared(const Call& call, const Offer&) {
  const auto shape = mask_shape(call);
  const auto probability = call.real(kProbability);
  return [=](std::span<const at::Tensor> in, std::span<at::Tensor> out) {
    auto* streams = MemberStreams::current();
    const auto mask = at::empty(shape, in[*call.operand_of(kX)].options().requires_grad(false));
    auto otherwise = default_generator(mask.device());
    draw(mask, probability, streams ? streams->generator(0) : otherwise);
    out[0] = apply(
        call, in,
        mask.unsqueeze(0).expand(physical_shape({mask.scalar_type(), shape}, Layout::kFront, call.members)));
  };
}

std::vector<Sample> samples(std::int64_t members) {
  const auto with = [](double probability) {
    return std::vector<Argument>{{ValueRef{0}}, {probability}, {true}};
  };
  const std::string plain = "aten.dropout.default", channels = "aten.feature_dropout.default";
  return {
      {"half", plain, with(0.5), {{{5, 7, 4}}}},          {"a tenth", plain, with(0.1), {{{5, 7}}}},
      {"everything", plain, with(1.0), {{{5, 7}}}},       {"channels", channels, with(0.5), {{{5, 7, 4, 3}}}},
      {"B equals N", plain, with(0.5), {{{members, 7}}}},
  };
}

}  // namespace

Primitive dropout() {
  return {
      "dropout",
      {"aten.dropout.default", "aten.feature_dropout.default"},
      nullptr,
      {{.name = "independent", .ask = ask, .prepare = prepare_independent, .random = true, .cpu_only = true},
       {.name = "shared_mask", .ask = ask, .prepare = prepare_shared, .random = true, .on_request = true}},
      nullptr,
      samples};
}

}  // namespace wide::dropout_primitive
