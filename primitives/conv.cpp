// Wide convolution: y[n] = conv(x[n], W[n]) + b[n], and its transpose.
//   x [B, N·Ci, …]   W [N·Co, Ci/g, …]   b [N·Co]   y [B, N·Co, …]
// Arguments: x, W, b, stride, padding, dilation, groups; transposed: x, W, b, stride, padding,
// output_padding, groups, dilation, and W is [Ci, Co/g, …].
#include <ATen/ATen.h>

#include "primitives/support.h"

namespace wide {
namespace {

enum { kX, kW, kBias };

bool transposed(const Call& call) {
  return call.node.op.find("transpose") != std::string::npos;
}
// conv*: …, dilation, groups; conv_transpose*: …, output_padding, groups, dilation.
constexpr std::size_t kGroups = 6;

bool is_batched(const Call& call) {
  return call.operand_at(kX)->type.rank() == call.operand_at(kW)->type.rank();
}

double flops(const Call& call) {
  const auto& weight = call.operand_at(kW)->type;
  const auto outputs = transposed(call) ? call.operand_at(kX)->type.elements() : call.results[0].elements();
  return 2.0 * static_cast<double>(outputs) * static_cast<double>(weight.elements() / weight.shape[0]) *
         static_cast<double>(call.members);
}

Offer packed(const Call& call) {
  Offer one = uniform_offer(call, Layout::kPacked);
  for (const auto index : {kX, kW, kBias}) {
    const auto operand = call.operand_of(index);
    // Weights fold into their first axis; what is shared is repeated once, at build if it is a constant.
    if (operand) one.operands[*operand] = index == kX ? Layout::kPacked : Layout::kFolded;
  }
  one.cost = kernel_cost(total_bytes(call), flops(call));
  return one;
}

// N members are N groups of one convolution.
Answer ask_grouped(const Call& call) {
  if (!is_batched(call)) return refuse("the input has no batch axis");
  return offer(packed(call));
}

Kernel prepare_grouped(const Call& call, const Offer&) {
  auto wide = call.node;
  wide.arguments[kGroups] = {call.integer(kGroups) * call.members};
  return boxed(call, std::move(wide));
}

// The same with channels innermost: the order in which oneDNN computes.
Answer ask_channels_last(const Call& call) {
  if (!can_hold(Layout::kPackedLast, call.results[0]))
    return refuse("only images and volumes have that order");
  if (!is_batched(call)) return refuse("the input has no batch axis");
  auto one = packed(call);
  one.operands[*call.operand_of(kX)] = one.results[0] = Layout::kPackedLast;
  one.operands[*call.operand_of(kW)] = Layout::kFoldedLast;
  return offer(std::move(one));
}

Kernel prepare_channels_last(const Call& call, const Offer& offer) {
  return keep_promises(call, offer, prepare_grouped(call, offer));
}

// x is shared: a dense convolution with N·Co output channels reads it once.
Answer ask_dense(const Call& call) {
  if (!is_batched(call)) return refuse("the input has no batch axis");
  if (transposed(call)) return refuse("a transposed convolution keeps output channels on the second axis");
  if (is_mapped(call, kX)) return refuse("the input differs per member");
  if (call.integer(kGroups) != 1) return refuse("the convolution has groups of its own");
  auto one = packed(call);
  one.operands[*call.operand_of(kX)] = Layout::kShared;
  one.cost = kernel_cost(total_bytes(call), 0.8 * flops(call));
  return offer(std::move(one));
}

Kernel prepare_dense(const Call& call, const Offer&) {
  return boxed(call, call.node);
}

// The weights are shared: the model axis is only more batch.
Answer ask_folded(const Call& call) {
  if (!is_batched(call)) return refuse("the input has no batch axis");
  if (is_mapped(call, kW) || is_mapped(call, kBias)) return refuse("the weights differ per member");
  Offer one = uniform_offer(call, Layout::kFolded);
  one.cost = kernel_cost(total_bytes(call), flops(call));
  return offer(std::move(one));
}

Kernel prepare_folded(const Call& call, const Offer&) {
  return boxed(call, call.node);
}

std::vector<Sample> samples(std::int64_t members) {
  const auto ints = ints_argument;
  const auto arguments = [&](bool bias, std::vector<std::int64_t> stride, std::vector<std::int64_t> padding,
                             std::vector<std::int64_t> dilation, std::int64_t groups) {
    return std::vector<Argument>{{ValueRef{0}}, {ValueRef{1}}, bias ? Argument{ValueRef{2}} : Argument{},
                                 ints(stride),  ints(padding), ints(dilation),
                                 {groups}};
  };
  const auto up = [&](std::vector<std::int64_t> stride, std::vector<std::int64_t> output_padding,
                      std::int64_t groups) {
    const std::vector<std::int64_t> ones(stride.size(), 1);
    return std::vector<Argument>{{ValueRef{0}}, {ValueRef{1}},        {ValueRef{2}}, ints(stride),
                                 ints(ones),    ints(output_padding), {groups},      ints(ones)};
  };
  return {
      {"conv2d",
       "aten.conv2d.default",
       arguments(true, {1, 1}, {1, 1}, {1, 1}, 1),
       {{{5, 4, 6, 7}}, {{3, 4, 3, 3}}, {{3}}}},
      {"no bias, stride",
       "aten.conv2d.default",
       arguments(false, {2, 1}, {0, 1}, {1, 2}, 1),
       {{{5, 4, 9, 8}}, {{3, 4, 3, 3}}}},
      {"own groups",
       "aten.conv2d.default",
       arguments(true, {1, 1}, {1, 1}, {1, 1}, 2),
       {{{5, 4, 6, 7}}, {{6, 2, 3, 3}}, {{6}}}},
      {"depthwise",
       "aten.conv2d.default",
       arguments(true, {1, 1}, {1, 1}, {1, 1}, 4),
       {{{5, 4, 6, 7}}, {{4, 1, 3, 3}}, {{4}}}},
      {"shared input",
       "aten.conv2d.default",
       arguments(true, {1, 1}, {1, 1}, {1, 1}, 1),
       {{{5, 4, 6, 7}, false}, {{3, 4, 3, 3}}, {{3}}}},
      {"shared weights",
       "aten.conv2d.default",
       arguments(true, {1, 1}, {1, 1}, {1, 1}, 1),
       {{{5, 4, 6, 7}}, {{3, 4, 3, 3}, false}, {{3}, false}}},
      {"shared bias",
       "aten.conv2d.default",
       arguments(true, {1, 1}, {1, 1}, {1, 1}, 1),
       {{{5, 4, 6, 7}}, {{3, 4, 3, 3}}, {{3}, false}}},
      {"B equals N",
       "aten.conv2d.default",
       arguments(true, {1, 1}, {0, 0}, {1, 1}, 1),
       {{{members, 4, 6, 7}}, {{3, 4, 1, 1}}, {{3}}}},
      {"no batch axis",
       "aten.conv2d.default",
       arguments(true, {1, 1}, {1, 1}, {1, 1}, 1),
       {{{4, 6, 7}}, {{3, 4, 3, 3}}, {{3}}}},
      {"conv1d", "aten.conv1d.default", arguments(true, {2}, {1}, {1}, 1), {{{5, 4, 9}}, {{3, 4, 3}}, {{3}}}},
      {"conv3d",
       "aten.conv3d.default",
       arguments(true, {1, 1, 1}, {1, 0, 1}, {1, 1, 1}, 1),
       {{{2, 4, 5, 6, 7}}, {{3, 4, 3, 2, 3}}, {{3}}}},
      {"transposed",
       "aten.conv_transpose2d.input",
       up({2, 2}, {1, 0}, 1),
       {{{5, 4, 6, 7}}, {{4, 3, 3, 3}}, {{3}}}},
      {"transposed, groups",
       "aten.conv_transpose2d.input",
       up({1, 1}, {0, 0}, 2),
       {{{5, 4, 6, 7}}, {{4, 3, 3, 3}}, {{6}}}},
      {"transposed 1d", "aten.conv_transpose1d.default", up({2}, {1}, 1), {{{5, 4, 7}}, {{4, 3, 3}}, {{3}}}},
      {"transposed 3d",
       "aten.conv_transpose3d.input",
       up({1, 2, 1}, {0, 1, 0}, 1),
       {{{2, 4, 3, 4, 5}}, {{4, 3, 3, 3, 3}}, {{3}}}},
  };
}

}  // namespace

Primitive conv() {
  return {"conv",
          {"aten.conv1d.default", "aten.conv2d.default", "aten.conv3d.default",
           "aten.conv_transpose1d.default", "aten.conv_transpose2d.input", "aten.conv_transpose3d.input"},
          nullptr,
          {{"dense", ask_dense, prepare_dense},
           {"folded", ask_folded, prepare_folded},
           {"grouped", ask_grouped, prepare_grouped},
           {"channels_last", ask_channels_last, prepare_channels_last}},
          flops,
          samples};
}

}  // namespace wide
