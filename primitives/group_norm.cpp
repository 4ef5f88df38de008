// Wide group_norm: N members with G groups are N·G groups of one norm; the affine part is per channel.
//   x [B, N·C, …]; weight, bias [N·C]; arguments: x, groups, weight, bias, eps, cudnn
#include "primitives/support.h"

namespace wide {
namespace {

enum { kX, kGroups, kWeight, kBias };

Answer ask(const Call& call) {
  if (!call.operand_of(kX)) return refuse("the input is a constant");
  Offer one = uniform_offer(call, Layout::kPacked);
  for (std::size_t i = 0; i < call.operands.size(); ++i) {
    one.operands[i] = i == *call.operand_of(kX) ? Layout::kPacked : Layout::kFolded;
  }
  one.cost = kernel_cost(1.5 * total_bytes(call));
  return offer(std::move(one));
}

Kernel prepare(const Call& call, const Offer&) {
  auto wide = call.node;
  wide.arguments[kGroups] = {call.integer(kGroups) * call.members};
  return boxed(call, std::move(wide));
}

std::vector<Sample> samples(std::int64_t members) {
  const std::vector<Argument> affine{{ValueRef{0}}, {std::int64_t{2}}, {ValueRef{1}}, {ValueRef{2}}, {1e-5},
                                     {true}};
  const std::string op = "aten.group_norm.default";
  return {
      {"2d", op, affine, {{{5, 6, 4, 3}}, {{6}}, {{6}}}},
      {"no affine", op, {{ValueRef{0}}, {std::int64_t{3}}, {}, {}, {1e-5}, {true}}, {{{5, 6, 4}}}},
      {"shared weights", op, affine, {{{5, 6, 4}}, {{6}, false}, {{6}, false}}},
      {"shared input", op, affine, {{{5, 6, 4}, false}, {{6}}, {{6}}}},
      {"B equals N", op, affine, {{{members, 6, 4}}, {{6}}, {{6}}}},
  };
}

}  // namespace

Primitive group_norm() {
  return {"group_norm", {"aten.group_norm.default"}, nullptr, {{"fused", ask, prepare}}, nullptr, samples};
}

}  // namespace wide
