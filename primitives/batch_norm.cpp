// Wide batch_norm: statistics are per channel, so one norm over N·C channels is exact.
//   x [B, N·C, …]; weight, bias, running statistics [N·C]
#include "primitives/support.h"

namespace wide {
namespace {

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
      {"training, statistics returned",
       "aten._native_batch_norm_legit_functional.default",
       {{ValueRef{0}}, {ValueRef{1}}, {ValueRef{2}}, {ValueRef{3}}, {ValueRef{4}}, {true}, {0.1}, {1e-5}},
       {{{5, 7, 4}}, c, c, c, positive}},
  };
}

}  // namespace

Primitive batch_norm() {
  return {"batch_norm", {"aten.batch_norm.default", "aten._native_batch_norm_legit_functional.default"},
          nullptr,      {{"wide", ask, prepare}},
          nullptr,      samples};
}

}  // namespace wide
