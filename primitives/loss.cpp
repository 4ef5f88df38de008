// Wide losses: each element's loss is found for all members together, then summed or averaged by member.
//   input, target [N, …]; y [N] or, without reduction, [N, …]
// Arguments: input, target, …; the reduction is 0 none, 1 mean, 2 sum.
#include <ATen/ATen.h>

#include <algorithm>
#include <array>

#include "primitives/support.h"

namespace wide::loss_primitive {
namespace {

enum { kNone, kMean, kSum };

struct Rule {
  std::string_view op;
  std::size_t reduction;  ///< argument that says how
};
constexpr std::array kRules = {
    Rule{"aten.mse_loss.default", 2},
    Rule{"aten.l1_loss.default", 2},
    Rule{"aten.smooth_l1_loss.default", 2},
    Rule{"aten.huber_loss.default", 2},
    Rule{"aten.kl_div.default", 2},
    Rule{"aten.soft_margin_loss.default", 2},
    Rule{"aten.poisson_nll_loss.default", 5},
    Rule{"aten.binary_cross_entropy.default", 3},
    Rule{"aten.binary_cross_entropy_with_logits.default", 4},
};

std::size_t reduction_of(const Call& call) {
  return std::find_if(kRules.begin(), kRules.end(), [&](const Rule& rule) { return rule.op == call.node.op; })
      ->reduction;
}

Answer ask(const Call& call) {
  const auto rank = call.operands.empty() ? 0 : call.operands[0].type.rank();
  if (rank == 0) return refuse("the input is a number");
  for (const auto& operand : call.operands) {
    if (operand.type.rank() > rank) return refuse("an operand has more axes than the input");
  }
  auto one = uniform_offer(call, Layout::kFront);
  one.cost = kernel_cost(2 * total_bytes(call)) + kNanosecondsPerCall;
  return offer(std::move(one));
}

Kernel prepare(const Call& call, const Offer&) {
  const auto index = reduction_of(call);
  const auto reduction = call.integer(index);
  auto wide = call.node;
  wide.arguments[index] = {std::int64_t{kNone}};

  const auto rank = call.operands[0].type.rank();
  // These want input and target of one size and do not broadcast them.
  const bool same_sizes = call.node.op.starts_with("aten.binary_cross_entropy") ||
                          call.node.op == "aten.soft_margin_loss.default";
  const auto adapt = [=, operands = call.operands, members = call.members](std::size_t i,
                                                                           const at::Tensor& x) {
    if (operands[i].mapped) return align_front(x, operands[i].type, rank);
    if (!same_sizes || i > 1) return x;
    auto sizes = x.sizes().vec();
    sizes.insert(sizes.begin(), members);
    return x.unsqueeze(0).expand(sizes);
  };
  const auto run = boxed(call, std::move(wide), adapt);
  return [=](std::span<const at::Tensor> in, std::span<at::Tensor> out) {
    run(in, out);
    if (reduction == kMean) out[0] = out[0].flatten(1).mean(1);
    if (reduction == kSum) out[0] = out[0].flatten(1).sum(1);
  };
}

std::vector<Sample> samples(std::int64_t members) {
  const Argument x{ValueRef{0}}, y{ValueRef{1}};
  const auto by = [](std::int64_t reduction) { return Argument{reduction}; };
  const SampleOperand probability{{5, 7}, true, at::kFloat, 10, true};
  return {
      {"mse", "aten.mse_loss.default", {x, y, by(kMean)}, {{{5, 7}}, {{5, 7}}}},
      {"mse, sum", "aten.mse_loss.default", {x, y, by(kSum)}, {{{5, 7}}, {{5, 7}, false}}},
      {"l1, none", "aten.l1_loss.default", {x, y, by(kNone)}, {{{5, 7}}, {{5, 7}}}},
      {"smooth l1", "aten.smooth_l1_loss.default", {x, y, by(kMean), {0.5}}, {{{5, 7}}, {{5, 7}}}},
      {"huber", "aten.huber_loss.default", {x, y, by(kMean), {0.5}}, {{{5, 7}}, {{5, 7}}}},
      {"logits",
       "aten.binary_cross_entropy_with_logits.default",
       {x, y, {}, {}, by(kMean)},
       {{{5, 7}}, probability}},
      {"logits, shared target",
       "aten.binary_cross_entropy_with_logits.default",
       {x, y, {}, {}, by(kNone)},
       {{{5, 7}}, {{5, 7}, false, at::kFloat, 10, true}}},
      {"soft margin, shared target",
       "aten.soft_margin_loss.default",
       {x, y, by(kMean)},
       {{{5, 7}}, {{5, 7}, false}}},
      {"logits, shared input",
       "aten.binary_cross_entropy_with_logits.default",
       {x, y, {}, {}, by(kSum)},
       {{{5, 7}, false}, probability}},
      {"kl_div", "aten.kl_div.default", {x, y, by(kSum), {false}}, {{{5, 7}}, probability}},
      {"B equals N",
       "aten.mse_loss.default",
       {x, y, by(kMean)},
       {{{members, members}}, {{members, members}}}},
  };
}

std::vector<std::string_view> ops() {
  std::vector<std::string_view> names;
  for (const auto& rule : kRules) names.push_back(rule.op);
  return names;
}

}  // namespace

Primitive loss() {
  return {"loss", ops(), nullptr, {{"batched", ask, prepare}}, nullptr, samples};
}

}  // namespace wide::loss_primitive
