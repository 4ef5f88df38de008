// Wide repeat and tile: the member's axes repeat, the model axis does not.
#include "primitives/support.h"

namespace wide::repeat_primitive {
namespace {

enum { kX, kRepeats };

Answer ask(const Call& call) {
  if (!call.operand_of(kX)) return refuse("the input is a constant");
  Answer answer = offer(uniform_offer(call, Layout::kFront));
  const auto repeats = call.integers(kRepeats);
  const auto rank = call.operand_at(kX)->type.rank();
  // With the channels once only, [B, N·C, …] repeats as it is.
  if (rank >= 2 && static_cast<std::int64_t>(repeats.size()) == rank && repeats[1] == 1) {
    answer.offers.push_back(uniform_offer(call, Layout::kPacked));
  }
  return answer;
}

Kernel prepare(const Call& call, const Offer& offer) {
  if (offer.results[0] == Layout::kPacked) return boxed(call, call.node);
  auto repeats = call.integers(kRepeats);
  const auto rank = call.results[0].rank();
  while (static_cast<std::int64_t>(repeats.size()) < rank) repeats.insert(repeats.begin(), 1);
  repeats.insert(repeats.begin(), 1);
  auto wide = call.node;
  wide.arguments[kRepeats] = ints_argument(repeats);
  return boxed(call, std::move(wide),
               [rank, type = call.operand_at(kX)->type](std::size_t, const at::Tensor& x) {
                 return align_front(x, type, rank);
               });
}

std::vector<Sample> samples(std::int64_t members) {
  const auto i = ints_argument;
  const Argument x{ValueRef{0}};
  return {
      {"repeat", "aten.repeat.default", {x, i({2, 3})}, {{{5, 7}}}},
      {"repeat into more axes", "aten.repeat.default", {x, i({4, 1, 2})}, {{{5, 7}}}},
      {"image", "aten.repeat.default", {x, i({2, 1, 1, 3})}, {{{2, 3, 4, 5}}}},
      {"tile", "aten.tile.default", {x, i({3})}, {{{5, 7}}}},
      {"tile into more axes", "aten.tile.default", {x, i({2, 1, 3})}, {{{5, 7}}}},
      {"B equals N", "aten.repeat.default", {x, i({2, 1})}, {{{members, 7}}}},
  };
}

}  // namespace

Primitive repeat() {
  return {"repeat", {"aten.repeat.default", "aten.tile.default"},
          nullptr,  {{"passthrough", ask, prepare}},
          nullptr,  samples};
}

}  // namespace wide::repeat_primitive
