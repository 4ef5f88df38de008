// Wide one_hot, bucketize, searchsorted, isin: each element on its own, against something that all members
// share.
#include "primitives/support.h"

namespace wide::lookup_primitive {
namespace {

// Where the elements and what they are compared with stand among the arguments.
std::size_t elements_of(const Call& call) {
  return call.node.op == "aten.searchsorted.Tensor" ? 1 : 0;
}

Answer ask(const Call& call) {
  const auto elements = elements_of(call);
  if (!is_mapped(call, elements)) return refuse("the elements are shared");
  if (call.node.op == "aten.one_hot.default") {
    if (call.integer(1) < 0) return refuse("the number of classes depends on the data");
  } else {
    if (is_mapped(call, 1 - elements)) return refuse("what is searched differs per member");
    if (call.node.op == "aten.searchsorted.Tensor") {
      if (call.operand_at(0)->type.rank() != 1) return refuse("the sorted sequence has batch axes");
      if (!call.is_none(5)) return refuse("a sorter is given");
    }
  }
  return offer(uniform_offer(call, Layout::kFront));
}

Kernel prepare(const Call& call, const Offer&) {
  auto wide = call.node;
  if (wide.op.starts_with("aten.isin.")) wide.arguments[2] = {false};  // unique in one member, not in all
  return boxed(call, std::move(wide));
}

std::vector<Sample> samples(std::int64_t members) {
  const Argument x{ValueRef{0}}, y{ValueRef{1}};
  const SampleOperand ids{{5, 7}, true, at::kLong, 9};
  return {
      {"one_hot", "aten.one_hot.default", {x, {std::int64_t{9}}}, {ids}},
      {"isin", "aten.isin.Tensor_Tensor", {x, y, {false}, {true}}, {ids, {{4}, false, at::kLong, 9}}},
      {"B equals N", "aten.one_hot.default", {x, {std::int64_t{9}}}, {{{members}, true, at::kLong, 9}}},
  };
}

}  // namespace

Primitive lookup() {
  return {"lookup",
          {"aten.one_hot.default", "aten.bucketize.Tensor", "aten.searchsorted.Tensor",
           "aten.isin.Tensor_Tensor", "aten.isin.Tensor_Scalar"},
          nullptr,
          {{"passthrough", ask, prepare}},
          nullptr,
          samples};
}

}  // namespace wide::lookup_primitive
