// Wide instance_norm: every channel of every sample on its own, so N·C channels are exact.
//   x [B, N·C, …]; weight, bias, running statistics [N·C]
#include "primitives/support.h"

namespace wide {
namespace {

Answer ask(const Call& call) {
  if (!call.operand_of(0)) return refuse("the input is a constant");
  Offer one = uniform_offer(call, Layout::kPacked);
  for (std::size_t i = 0; i < call.operands.size(); ++i) {
    one.operands[i] = i == *call.operand_of(0) ? Layout::kPacked : Layout::kFolded;
  }
  one.cost = kernel_cost(1.5 * total_bytes(call));
  return offer(std::move(one));
}

Kernel prepare(const Call& call, const Offer&) {
  return boxed(call, call.node);
}

std::vector<Sample> samples(std::int64_t members) {
  const std::string op = "aten.instance_norm.default";
  const std::vector<Argument> plain{{ValueRef{0}}, {}, {}, {}, {}, {true}, {0.1}, {1e-5}, {false}};
  const std::vector<Argument> affine{{ValueRef{0}}, {ValueRef{1}}, {ValueRef{2}}, {},     {},
                                     {true},        {0.1},         {1e-5},        {false}};
  const std::vector<Argument> running{{ValueRef{0}}, {},    {},     {ValueRef{1}}, {ValueRef{2}},
                                      {false},       {0.1}, {1e-5}, {false}};
  return {
      {"2d", op, plain, {{{5, 6, 4, 3}}}},
      {"1d, affine", op, affine, {{{5, 6, 7}}, {{6}}, {{6}}}},
      {"3d, affine", op, affine, {{{2, 6, 4, 3, 2}}, {{6}}, {{6}}}},
      {"running statistics", op, running, {{{5, 6, 4}}, {{6}}, {{6}, true, at::kFloat, 10, true}}},
      {"shared weights", op, affine, {{{5, 6, 7}}, {{6}, false}, {{6}, false}}},
      {"shared input", op, affine, {{{5, 6, 7}, false}, {{6}}, {{6}}}},
      {"B equals N", op, affine, {{{members, 6, 7}}, {{6}}, {{6}}}},
  };
}

}  // namespace

Primitive instance_norm() {
  return {"instance_norm", {"aten.instance_norm.default"}, nullptr, {{"fused", ask, prepare}}, nullptr,
          samples};
}

}  // namespace wide
