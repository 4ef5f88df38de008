// Wide index_add, index_copy, index_fill: writes at places along one axis.
//   x [N, …]; index [K], shared, or [N, K]; source [N, …]
// Places of a member's own: the axis comes first, the members' axes lie end to end, and member n's places
// move by n·D.
#include <ATen/ATen.h>

#include <algorithm>

#include "primitives/support.h"

namespace wide::index_along_primitive {
namespace {

enum { kX, kDim, kIndex, kSource };

// index_copy takes one for a vector; beside an axis of members it is a vector of its own.
bool is_number_for_a_vector(const Call& call) {
  const auto* source = call.node.op.starts_with("aten.index_fill") ? nullptr : call.operand_at(kSource);
  return source && source->type.rank() != call.operand_at(kX)->type.rank();
}

Answer ask_shifted(const Call& call) {
  if (!call.operand_of(kX) || !call.operand_of(kIndex)) return refuse("an operand is a constant");
  if (is_mapped(call, kIndex)) return refuse("the places differ per member");
  if (call.operand_at(kX)->type.rank() == 0) return refuse("the input is a number");
  if (is_number_for_a_vector(call)) return refuse("the source is a number");
  auto one = uniform_offer(call, Layout::kFront);
  std::fill(one.operands.begin(), one.operands.end(), Layout::kFront);
  one.operands[*call.operand_of(kIndex)] = Layout::kShared;
  return offer(std::move(one));
}

Kernel prepare_shifted(const Call& call, const Offer&) {
  return boxed(call, shift_dims(call.node, kDim));
}

Answer ask_folded(const Call& call) {
  if (!call.operand_of(kX) || !call.operand_of(kIndex)) return refuse("an operand is a constant");
  if (!is_mapped(call, kIndex)) return refuse("the places are shared");
  if (call.operand_at(kX)->type.rank() == 0) return refuse("the input is a number");
  if (is_number_for_a_vector(call)) return refuse("the source is a number");
  if (call.operand_at(kIndex)->type.rank() != 1) return refuse("there is one place only");
  auto one = uniform_offer(call, Layout::kFront);
  std::fill(one.operands.begin(), one.operands.end(), Layout::kFront);
  one.cost = 2 * kernel_cost(total_bytes(call)) + 2 * kNanosecondsPerCall;
  return offer(std::move(one));
}

Kernel prepare_folded(const Call& call, const Offer&) {
  const auto dim = call.integer(kDim);
  const auto extent = call.operand_at(kX)->type.shape[static_cast<std::size_t>(dim)];
  const auto offsets =
      at::arange(call.members, at::TensorOptions(call.device).dtype(at::kLong)).mul(extent).unsqueeze(1);
  const auto index = *call.operand_of(kIndex), x = *call.operand_of(kX);
  const auto source = call.operand_of(kSource);
  const bool wraps = call.node.op.starts_with("aten.index_fill");  // the others refuse what is negative
  auto row = call.operand_at(kX)->type.shape;
  row.erase(row.begin() + dim);
  if (std::find(row.begin(), row.end(), 0) != row.end())  // nothing is written: ATen asks for no place either
    return [x](std::span<const at::Tensor> in, std::span<at::Tensor> out) { out[0] = in[x].clone(); };
  auto wide = call.node;
  wide.arguments[kDim] = {std::int64_t{0}};
  const auto run = boxed(call, std::move(wide));
  return [=, members = call.members](std::span<const at::Tensor> in, std::span<at::Tensor> out) {
    const auto end_to_end = [&](const at::Tensor& tensor) {
      return tensor.movedim(dim + 1, 1).flatten(0, 1);
    };
    check_indices(in[index], wraps ? -extent : 0, extent, "an axis");
    std::vector<at::Tensor> operands(in.begin(), in.end());
    operands[x] = end_to_end(in[x]);
    operands[index] = ((wraps ? in[index].remainder(extent) : in[index]) + offsets).flatten();
    if (source) operands[*source] = end_to_end(in[*source]);
    run(operands, out);
    out[0] = out[0].unflatten(0, {members, extent}).movedim(1, dim + 1);
  };
}

std::vector<Sample> samples(std::int64_t members) {
  const Argument x{ValueRef{0}}, i{ValueRef{1}}, source{ValueRef{2}}, zero{std::int64_t{0}},
      one{std::int64_t{1}};
  const SampleOperand own{{4}, true, at::kLong, 5}, shared{{4}, false, at::kLong, 5};
  const std::string add = "aten.index_add.default";
  return {
      {"add", add, {x, zero, i, source, {2.0}}, {{{5, 7}}, own, {{4, 7}}}},
      {"add, shared places", add, {x, zero, i, source, {1.0}}, {{{5, 7}}, shared, {{4, 7}}}},
      {"add along columns", add, {x, one, i, source, {1.0}}, {{{7, 5}}, own, {{7, 4}}}},
      {"add, shared input", add, {x, zero, i, source, {1.0}}, {{{5, 7}, false}, own, {{4, 7}}}},
      {"fill", "aten.index_fill.int_Scalar", {x, one, i, {0.5}}, {{{7, 5}}, own}},
      {"copy to one place",
       "aten.index_copy.default",
       {x, zero, i, source},
       {{{5, 7}}, {{1}, true, at::kLong, 5}, {{1, 7}}}},
      {"fill of nothing",
       "aten.index_fill.int_Scalar",
       {x, zero, i, {0.5}},
       {{{0, 0}}, {{4}, true, at::kLong, 9}}},
      {"copy of nothing",
       "aten.index_copy.default",
       {x, zero, i, source},
       {{{5, 0}}, {{4}, true, at::kLong, 9}, {{4, 0}}}},
      {"B equals N", add, {x, zero, i, source, {1.0}}, {{{members + 4, members}}, own, {{4, members}}}},
  };
}

}  // namespace

Primitive index_along() {
  return {"index_along", {"aten.index_add.default", "aten.index_copy.default", "aten.index_fill.int_Scalar"},
          nullptr,       {{"shifted", ask_shifted, prepare_shifted}, {"folded", ask_folded, prepare_folded}},
          nullptr,       samples};
}

}  // namespace wide::index_along_primitive
