// Wide cross_entropy_loss and nll_loss: rows of all members at once, then summed or averaged by member.
//   input [N, B, C, …]; target [N, B, …], classes or, for cross entropy, probabilities [N, B, C, …]
// Arguments: input, target, weight, reduction, ignored class, label smoothing (cross entropy only).
#include <ATen/ATen.h>

#include "primitives/support.h"

namespace wide::cross_entropy_primitive {
namespace {

enum { kInput, kTarget, kWeight, kReduction, kIgnored, kSmoothing };
enum { kNone, kMean, kSum };

Answer ask(const Call& call) {
  if (!call.operand_of(kInput) || !call.operand_of(kTarget)) return refuse("an operand is a constant");
  if (!call.is_none(kWeight)) return refuse("classes are weighted");
  if (call.operand_at(kInput)->type.rank() < 2) return refuse("the input has no batch axis");
  auto one = uniform_offer(call, Layout::kFront);
  one.cost = kernel_cost(3 * total_bytes(call)) + 3 * kNanosecondsPerCall;
  return offer(std::move(one));
}

Kernel prepare(const Call& call, const Offer&) {
  const bool entropy = call.node.op == "aten.cross_entropy_loss.default";
  const auto reduction = call.integer(kReduction), ignored = call.integer(kIgnored);
  const auto smoothing = entropy ? call.real(kSmoothing) : 0.0;
  return [=](std::span<const at::Tensor> in, std::span<at::Tensor> out) {
    const auto input = front_or_none(call, kInput, in).flatten(0, 1);
    const auto classes = front_or_none(call, kTarget, in);
    const auto target = classes.flatten(0, 1);
    const auto loss = entropy ? at::cross_entropy_loss(input, target, {}, kNone, ignored, smoothing)
                              : at::nll_loss_nd(input, target, {}, kNone, ignored);
    const auto rows = loss.reshape({call.members, -1});
    if (reduction == kNone) {
      out[0] = loss.reshape(physical_shape(call.results[0], Layout::kFront, call.members));
    } else if (reduction == kSum) {
      out[0] = rows.sum(1);
    } else if (target.is_floating_point()) {
      out[0] = rows.mean(1);
    } else {
      out[0] = rows.sum(1) / classes.flatten(1).ne(ignored).sum(1);
    }
  };
}

std::vector<Sample> samples(std::int64_t members) {
  const auto entropy = [](std::int64_t reduction, std::int64_t ignored, double smoothing) {
    return std::vector<Argument>{{ValueRef{0}}, {ValueRef{1}}, {}, {reduction}, {ignored}, {smoothing}};
  };
  const std::string op = "aten.cross_entropy_loss.default";
  const auto ids = [](std::vector<std::int64_t> shape, bool mapped = true) {
    return SampleOperand{std::move(shape), mapped, at::kLong, 7};
  };
  return {
      {"mean", op, entropy(kMean, -100, 0.0), {{{5, 7}}, ids({5})}},
      {"sum", op, entropy(kSum, -100, 0.0), {{{5, 7}}, ids({5})}},
      {"none", op, entropy(kNone, -100, 0.0), {{{5, 7}}, ids({5})}},
      {"a class is ignored", op, entropy(kMean, 2, 0.0), {{{8, 7}}, ids({8})}},
      {"smoothed", op, entropy(kMean, 2, 0.1), {{{8, 7}}, ids({8})}},
      {"image", op, entropy(kMean, -100, 0.0), {{{5, 7, 4}}, ids({5, 4})}},
      {"shared target", op, entropy(kMean, -100, 0.0), {{{5, 7}}, ids({5}, false)}},
      {"probabilities", op, entropy(kMean, -100, 0.0), {{{5, 7}}, {{5, 7}}}},
      {"nll",
       "aten.nll_loss_nd.default",
       {{ValueRef{0}}, {ValueRef{1}}, {}, {std::int64_t{kMean}}, {std::int64_t{-100}}},
       {{{5, 7}}, ids({5})}},
      {"B equals N", op, entropy(kMean, -100, 0.0), {{{members, 7}}, ids({members})}},
  };
}

}  // namespace

Primitive cross_entropy() {
  return {"cross_entropy", {"aten.cross_entropy_loss.default", "aten.nll_loss_nd.default"},
          nullptr,         {{"batched", ask, prepare}},
          nullptr,         samples};
}

}  // namespace wide::cross_entropy_primitive
