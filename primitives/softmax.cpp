// Wide softmax and log_softmax: along one axis of each member.
#include <algorithm>
#include <array>

#include "primitives/kernels/softmax.h"
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

// Along the last axis, by a kernel of our own.
Answer ask_rows(const Call& call) {
  constexpr std::array<std::string_view, 3> kOps = {"aten.softmax.int", "aten.special_softmax.default",
                                                    "aten._softmax.default"};
  if (std::ranges::find(kOps, call.node.op) == kOps.end()) return refuse("only softmax has such a kernel");
  if (!is_mapped(call, kX)) return refuse("the input is not mapped");
  const auto& x = call.operand_at(kX)->type;
  if (x.dtype != at::kFloat || call.results[0].dtype != at::kFloat)
    return refuse("only float32 has such a kernel");
  if (x.rank() == 0) return refuse("the input is a number");
  if (call.integer(kDim) != x.rank() - 1) return refuse("the axis is not the last one");
  return offer(uniform_offer(call, Layout::kFront));
}

Kernel prepare_rows(const Call& call, const Offer&) {
  return [x = *call.operand_of(kX)](std::span<const at::Tensor> in, std::span<at::Tensor> out) {
    out[0] = kernels::softmax(in[x]);
  };
}

std::vector<Sample> samples(std::int64_t members) {
  const auto along = [](std::int64_t dim) { return std::vector<Argument>{{ValueRef{0}}, {dim}, {}}; };
  return {
      {"last axis", "aten.softmax.int", along(1), {{{5, 7}}}},
      {"last axis, long rows", "aten.softmax.int", along(1), {{{5, 77}}}},
      {"last axis, single numbers", "aten.softmax.int", along(1), {{{5, 1}}}},
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
          {{"batched", ask, prepare}, own_kernel("rows", ask_rows, prepare_rows)},
          nullptr,
          samples};
}

}  // namespace wide::softmax_primitive
