// Wide max_unpool2d and 3d: every channel is filled on its own, so N goes to the batch.
//   x, indices [N·B, C, …]; indices count within a channel, so they stay as they are
#include "primitives/support.h"

namespace wide::max_unpool_primitive {
namespace {

Answer ask(const Call& call) {
  if (!call.operand_of(0) || !call.operand_of(1)) return refuse("the input is a constant");
  const std::int64_t axes = call.node.op == "aten.max_unpool2d.default" ? 2 : 3;
  if (call.operand_at(0)->type.rank() != axes + 2) return refuse("the input has no batch axis");
  if (!call.operand_at(0)->mapped || !call.operand_at(1)->mapped)
    return refuse("either all members have their own values and places, or none has");
  return offer(uniform_offer(call, Layout::kFolded));
}

Kernel prepare(const Call& call, const Offer& offer) {
  return boxed_as_offered(call, offer);
}

// One number a plane: where two fall into one place, the operator itself does not say which stays.
std::vector<Sample> samples(std::int64_t members) {
  const Argument x{ValueRef{0}}, indices{ValueRef{1}};
  const auto places = [](std::vector<std::int64_t> shape) {
    return SampleOperand{std::move(shape), true, at::kLong, 6};
  };
  return {
      {"2d",
       "aten.max_unpool2d.default",
       {x, indices, ints_argument({2, 3})},
       {{{5, 7, 1, 1}}, places({5, 7, 1, 1})}},
      {"3d",
       "aten.max_unpool3d.default",
       {x, indices, ints_argument({1, 2, 3}), ints_argument({1, 2, 3}), ints_argument({0, 0, 0})},
       {{{5, 7, 1, 1, 1}}, places({5, 7, 1, 1, 1})}},
      {"B equals N",
       "aten.max_unpool2d.default",
       {x, indices, ints_argument({3, 2})},
       {{{members, 7, 1, 1}}, places({members, 7, 1, 1})}},
  };
}

}  // namespace

Primitive max_unpool() {
  return {"max_unpool", {"aten.max_unpool2d.default", "aten.max_unpool3d.default"},
          nullptr,      {{"folded", ask, prepare}},
          nullptr,      samples};
}

}  // namespace wide::max_unpool_primitive
