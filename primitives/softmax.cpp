// Wide softmax and log_softmax: along one axis of each member.
#include "primitives/support.h"

namespace wide::softmax_primitive {
namespace {

enum { kX, kDim };

Answer ask(const Call& call) {
  if (!is_mapped(call, kX)) return refuse("the input is not mapped");
  if (call.operand_at(kX)->type.rank() == 0) return refuse("the input is a number");
  Answer answer = offer(uniform_offer(call, Layout::kFront));
  if (call.operand_at(kX)->type.rank() >= 3 && dims_at_least(call, kDim, 2)) {
    answer.offers.push_back(uniform_offer(call, Layout::kPacked));
  }
  return answer;
}

Kernel prepare(const Call& call, const Offer& offer) {
  return boxed(call, offer.results[0] == Layout::kPacked ? call.node : shift_dims(call.node, kDim));
}

std::vector<Sample> samples(std::int64_t members) {
  const auto along = [](std::int64_t dim) { return std::vector<Argument>{{ValueRef{0}}, {dim}, {}}; };
  return {
      {"last axis", "aten.softmax.int", along(1), {{{5, 7}}}},
      {"first axis", "aten.softmax.int", along(0), {{{5, 7}}}},
      {"channels stay packed", "aten.softmax.int", along(2), {{{2, 3, 7}}}},
      {"log", "aten.log_softmax.int", along(1), {{{5, 7}}}},
      {"_softmax", "aten._softmax.default", {{ValueRef{0}}, {std::int64_t{1}}, {false}}, {{{5, 7}}}},
      {"_safe_softmax", "aten._safe_softmax.default", along(1), {{{5, 7}}}},
      {"B equals N", "aten.softmax.int", along(0), {{{members, 7}}}},
  };
}

}  // namespace

Primitive softmax() {
  return {"softmax",
          {"aten.softmax.int", "aten.log_softmax.int", "aten.special_softmax.default",
           "aten.special_log_softmax.default", "aten._safe_softmax.default", "aten._softmax.default",
           "aten._log_softmax.default"},
          nullptr,
          {{"batched", ask, prepare}},
          nullptr,
          samples};
}

}  // namespace wide::softmax_primitive
