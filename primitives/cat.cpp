// Wide cat and stack: one concatenation of [N, …] tensors along the moved axis.
// Concatenating channels would interleave the members of a packed tensor, so packed serves the other axes
// only.
#include <algorithm>

#include "primitives/support.h"

namespace wide::cat_primitive {
namespace {

enum { kTensors, kDim };

bool is_cat(const Call& call) {
  return call.node.op != "aten.stack.default";
}

Answer ask(const Call& call) {
  if (call.operands.empty()) return refuse("the operands are constants");
  const auto rank = call.results[0].rank();
  for (const auto& operand : call.operands) {
    if (is_cat(call) && operand.type.rank() != rank) return refuse("an operand is an empty vector");
  }
  auto front = uniform_offer(call, Layout::kFront);
  std::fill(front.operands.begin(), front.operands.end(), Layout::kFront);
  Answer answer = offer(std::move(front));
  if (is_cat(call) && rank >= 2 && call.integer(kDim) != 1) {
    auto packed = uniform_offer(call, Layout::kPacked);
    std::fill(packed.operands.begin(), packed.operands.end(), Layout::kPacked);
    answer.offers.push_back(std::move(packed));
  }
  return answer;
}

Kernel prepare(const Call& call, const Offer& offer) {
  return boxed(call, offer.results[0] == Layout::kPacked ? call.node : shift_dims(call.node, kDim));
}

std::vector<Sample> samples(std::int64_t members) {
  const auto arguments = [](int operands, std::int64_t dim) {
    Argument::List list;
    for (int i = 0; i < operands; ++i) list.push_back({ValueRef{i}});
    return std::vector<Argument>{{std::move(list)}, {dim}};
  };
  return {
      {"channels", "aten.cat.default", arguments(2, 1), {{{2, 3, 4}}, {{2, 5, 4}}}},
      {"batch", "aten.cat.default", arguments(2, 0), {{{2, 3, 4}}, {{1, 3, 4}}}},
      {"image", "aten.cat.default", arguments(3, 2), {{{2, 3, 4}}, {{2, 3, 1}}, {{2, 3, 2}}}},
      {"one is shared", "aten.cat.default", arguments(2, 1), {{{2, 3, 4}}, {{2, 5, 4}, false}}},
      {"stack", "aten.stack.default", arguments(2, 1), {{{5, 7}}, {{5, 7}}}},
      {"stack at the end", "aten.stack.default", arguments(2, 2), {{{5, 7}}, {{5, 7}, false}}},
      {"stack of numbers", "aten.stack.default", arguments(2, 0), {{{}}, {{}}}},
      {"vectors", "aten.cat.default", arguments(2, 0), {{{5}}, {{7}}}},
      {"B equals N", "aten.cat.default", arguments(2, 0), {{{members, 7}}, {{members, 7}}}},
  };
}

}  // namespace

Primitive cat() {
  return {
      "cat",   {"aten.cat.default", "aten.stack.default", "aten.concat.default", "aten.concatenate.default"},
      nullptr, {{"batched", ask, prepare}},
      nullptr, samples};
}

}  // namespace wide::cat_primitive
