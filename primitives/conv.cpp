// Wide convolution: y[n] = conv(x[n], W[n]) + b[n].
//   x [B, N·Ci, …]   W [N·Co, Ci/g, …]   b [N·Co]   y [B, N·Co, …]
// Arguments: x, W, b, stride, padding, dilation, groups; then the name of an activation, or none.
#include <ATen/ATen.h>

#include <algorithm>

#include "primitives/conv_winograd.h"
#include "primitives/convolution.h"

namespace wide::conv_primitive {
namespace {

using namespace convolution;
double flops(const Call& call) {
  const auto& weight = call.operand_at(kW)->type;
  return 2.0 * static_cast<double>(call.results[0].elements()) *
         static_cast<double>(weight.elements() / std::max<std::int64_t>(1, weight.shape[0])) *
         static_cast<double>(call.members);
}

// N members are N groups of one convolution; with one channel per group it is ATen's depthwise one.
Answer ask_grouped(const Call& call) {
  if (!is_batched(call)) return refuse("the input has no batch axis");
  return offer(packed_offer(call, Layout::kPacked, flops(call)));
}

Kernel prepare_grouped(const Call& call, const Offer& offer) {
  return keep_promises(call, offer, boxed(call, grouped_node(call)));
}

// The same with channels innermost: the order in which oneDNN computes.
Answer ask_channels_last(const Call& call) {
  if (!can_hold(Layout::kPackedLast, call.results[0]))
    return refuse("only images and volumes have that order");
  if (!is_batched(call)) return refuse("the input has no batch axis");
  // Where it generates code for them, oneDNN reads channels of half types in pairs, and multiplies what
  // belongs to the next group by zero.
  if (c10::elementSize(call.results[0].dtype) == 2 && call.operand_at(kW)->type.shape[1] % 2 != 0)
    return refuse("a NaN of one member would reach the next: half types are read in pairs of channels");
  return offer(packed_offer(call, Layout::kPackedLast, flops(call)));
}

// x is shared: a dense convolution with N·Co output channels reads it once.
Answer ask_dense(const Call& call) {
  if (!is_batched(call)) return refuse("the input has no batch axis");
  if (is_mapped(call, kX)) return refuse("the input differs per member");
  if (call.integer(kGroups) != 1) return refuse("the convolution has groups of its own");
  Answer answer;
  for (const auto layout : {Layout::kPacked, Layout::kPackedLast}) {
    if (!can_hold(layout, call.results[0])) continue;
    auto one = packed_offer(call, layout, 0.8 * flops(call));
    one.operands[*call.operand_of(kX)] = Layout::kShared;
    answer.offers.push_back(std::move(one));
  }
  return answer;
}

Kernel prepare_dense(const Call& call, const Offer& offer) {
  return boxed_as_offered(call, offer);
}

// The weights are shared: the model axis is only more batch.
Answer ask_folded(const Call& call) {
  if (!is_batched(call)) return refuse("the input has no batch axis");
  if (is_mapped(call, kW) || is_mapped(call, kBias)) return refuse("the weights differ per member");
  Answer answer;
  for (const auto layout : {Layout::kFolded, Layout::kFoldedLast}) {
    if (!can_hold(layout, call.results[0])) continue;
    auto one = uniform_offer(call, layout);
    one.cost = kernel_cost(total_bytes(call), flops(call)) + activation_cost(call);
    answer.offers.push_back(std::move(one));
  }
  return answer;
}

Kernel prepare_folded(const Call& call, const Offer& offer) {
  return boxed_as_offered(call, offer);
}

// 1x1 kernels are products over channels: no neighbour is looked at.
Answer ask_bmm(const Call& call) {
  if (const auto reason = product_refusal(call); !reason.empty()) return refuse(std::string(reason));
  const auto& weight = call.operand_at(kW)->type;
  if (weight.elements() != weight.shape[0] * weight.shape[1]) return refuse("the kernel is larger than 1");
  if (!all_equal(call.integers(kStride), 1)) return refuse("the stride is not 1");
  if (!all_equal(call.integers(kPadding), 0)) return refuse("the input is padded");
  // [N, B, Ci, L] needs the weights once for each of B rows; with channels innermost all rows are one matrix.
  Answer answer = offer(uniform_offer(call, Layout::kFront));
  const auto again = static_cast<double>(weight.bytes() * call.members * call.operand_at(kX)->type.shape[0]);
  answer.offers[0].cost =
      kernel_cost(total_bytes(call) + 2 * again, 0.9 * flops(call)) + activation_cost(call);
  if (can_hold(Layout::kFoldedLast, call.results[0])) {
    auto last = uniform_offer(call, Layout::kFront);
    last.operands[*call.operand_of(kX)] = last.results[0] = Layout::kFoldedLast;
    last.cost = kernel_cost(total_bytes(call), 0.8 * flops(call)) + activation_cost(call);
    answer.offers.push_back(std::move(last));
  }
  return answer;
}

// x [N·B, Ci, …] with channels innermost is [N, B·L, Ci] in memory.
at::Tensor product_of_rows(const Call& call, const at::Tensor& x, const at::Tensor& w,
                           const at::Tensor& bias) {
  const auto rows = x.movedim(1, -1).reshape({call.members, -1, x.size(1)});
  const auto wt = w.transpose(1, 2);
  const auto y = bias.defined() ? at::baddbmm(bias.unsqueeze(1), rows, wt) : at::bmm(rows, wt);
  auto shape = x.sizes().vec();
  shape.erase(shape.begin() + 1);
  shape.push_back(w.size(1));
  return y.reshape(shape).movedim(-1, 1);
}

Kernel prepare_bmm(const Call& call, const Offer& offer) {
  const bool last = is_last(offer.results[0]);
  const auto shape = physical_shape(call.results[0], offer.results[0], call.members);
  return [=](std::span<const at::Tensor> in, std::span<at::Tensor> out) {
    const auto& x = in[*call.operand_of(kX)];
    const auto w = in[*call.operand_of(kW)].flatten(2);  // [N, Co, Ci]
    const auto bias = front_or_none(call, kBias, in);
    if (last) {
      out[0] = product_of_rows(call, x, w, bias);
    } else {
      out[0] = add_bias(at::matmul(w.unsqueeze(1), x.flatten(3)), bias).reshape(shape);
    }
  };
}

// Every patch becomes a column, then one product a member.
Answer ask_im2col(const Call& call) {
  if (const auto reason = product_refusal(call); !reason.empty()) return refuse(std::string(reason));
  if (spatial_axes(call) > 2) return refuse("ATen makes columns of one and two spatial axes only");
  auto one = uniform_offer(call, Layout::kFolded);
  for (const auto index : {kW, kBias}) {
    if (const auto operand = call.operand_of(index); operand && call.operands[*operand].mapped)
      one.operands[*operand] = Layout::kFront;
  }
  const auto& weight = call.operand_at(kW)->type;
  const auto columns = static_cast<double>(call.results[0].bytes() * call.members) *
                       static_cast<double>(weight.elements() / weight.shape[0]) /
                       static_cast<double>(weight.shape[0]);
  one.cost = kernel_cost(total_bytes(call) + 2 * columns, flops(call)) + 2 * kNanosecondsPerCall +
             activation_cost(call);
  return offer(std::move(one));
}

Kernel prepare_im2col(const Call& call, const Offer&) {
  const auto shape = physical_shape(call.results[0], Layout::kFolded, call.members);
  const auto two = [&](std::vector<std::int64_t> values, std::int64_t missing) {
    if (values.size() == 1) values.insert(values.begin(), missing);
    return values;
  };
  const auto& weight = call.operand_at(kW)->type.shape;
  const auto size = two({weight.begin() + 2, weight.end()}, 1),
             dilation = two(per_axis(call, kConvDilation), 1), padding = two(per_axis(call, kPadding), 0),
             stride = two(per_axis(call, kStride), 1);
  return [=](std::span<const at::Tensor> in, std::span<at::Tensor> out) {
    auto x = in[*call.operand_of(kX)];
    if (x.dim() == 3) x = x.unsqueeze(2);
    const auto columns = at::im2col(x, size, dilation, padding, stride);  // [N·B, Ci·K, L]
    const auto w = in[*call.operand_of(kW)].flatten(2).unsqueeze(1);      // [N, 1, Co, Ci·K]
    const auto y = at::matmul(w, columns.unflatten(0, {call.members, -1}));
    out[0] = add_bias(y, front_or_none(call, kBias, in)).reshape(shape);
  };
}

// From weights in oneDNN's own order, made once.
Answer ask_packed_weights(const Call& call) {
  return ask_prepacked(call, /*transposed=*/false, flops(call));
}

Kernel prepare_packed_weights(const Call& call, const Offer& offer) {
  return prepare_prepacked(call, offer,
                           {per_axis(call, kStride),
                            per_axis(call, kPadding),
                            per_axis(call, kConvDilation),
                            {},
                            call.integer(kGroups)});
}

std::vector<Sample> samples(std::int64_t members) {
  const auto ints = ints_argument;
  const auto arguments = [&](bool bias, std::vector<std::int64_t> stride, std::vector<std::int64_t> padding,
                             std::vector<std::int64_t> dilation, std::int64_t groups) {
    return std::vector<Argument>{{ValueRef{0}}, {ValueRef{1}}, bias ? Argument{ValueRef{2}} : Argument{},
                                 ints(stride),  ints(padding), ints(dilation),
                                 {groups}};
  };
  // With an activation: the same call, and its name.
  const auto then = [&](const char* activation, std::vector<Argument> all) {
    all.push_back({std::string(activation)});
    return all;
  };
  const std::string with2d = "wide.conv2d_activation.default";
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
      {"winograd, one block of channels",
       "aten.conv2d.default",
       arguments(true, {1, 1}, {1, 1}, {1, 1}, 1),
       {{{2, 16, 6, 7}}, {{32, 16, 3, 3}}, {{32}}}},
      {"winograd, ragged, no padding",
       "aten.conv2d.default",
       arguments(false, {1, 1}, {0, 2}, {1, 1}, 1),
       {{{1, 19, 9, 5}}, {{70, 19, 3, 3}}}},
      {"winograd, shared input and bias",
       "aten.conv2d.default",
       arguments(true, {1, 1}, {1, 1}, {1, 1}, 1),
       {{{2, 17, 5, 4}, false}, {{21, 17, 3, 3}}, {{21}, false}}},
      {"winograd, shared weights",
       "aten.conv2d.default",
       arguments(true, {1, 1}, {1, 1}, {1, 1}, 1),
       {{{2, 17, 5, 4}}, {{21, 17, 3, 3}, false}, {{21}, false}}},
      {"winograd, B equals N",
       "aten.conv2d.default",
       arguments(true, {1, 1}, {3, 1}, {1, 1}, 1),
       {{{members, 16, 3, 3}}, {{16, 16, 3, 3}}, {{16}, false}}},
      {"conv1d", "aten.conv1d.default", arguments(true, {2}, {1}, {1}, 1), {{{5, 4, 9}}, {{3, 4, 3}}, {{3}}}},
      {"conv3d",
       "aten.conv3d.default",
       arguments(true, {1, 1, 1}, {1, 0, 1}, {1, 1, 1}, 1),
       {{{2, 4, 5, 6, 7}}, {{3, 4, 3, 2, 3}}, {{3}}}},
      {"1x1",
       "aten.conv2d.default",
       arguments(true, {1, 1}, {0, 0}, {1, 1}, 1),
       {{{5, 4, 6, 7}}, {{3, 4, 1, 1}}, {{3}}}},
      {"1x1, no bias, one row",
       "aten.conv2d.default",
       arguments(false, {1, 1}, {0, 0}, {1, 1}, 1),
       {{{1, 4, 6, 7}}, {{3, 4, 1, 1}}}},
      {"1x1, stride",
       "aten.conv2d.default",
       arguments(true, {2}, {0}, {1}, 1),
       {{{5, 4, 6, 7}}, {{3, 4, 1, 1}}, {{3}}}},
      {"1x1, 1d",
       "aten.conv1d.default",
       arguments(true, {1}, {0}, {1}, 1),
       {{{5, 4, 9}}, {{3, 4, 1}}, {{3}}}},
      {"1x1x1",
       "aten.conv3d.default",
       arguments(true, {1, 1, 1}, {0, 0, 0}, {1, 1, 1}, 1),
       {{{2, 4, 5, 6, 7}}, {{3, 4, 1, 1, 1}}, {{3}}}},
      {"conv1d, dilated",
       "aten.conv1d.default",
       arguments(false, {1}, {2}, {2}, 1),
       {{{5, 4, 9}}, {{3, 4, 3}}}},
      {"depthwise with a multiplier",
       "aten.conv2d.default",
       arguments(true, {1, 1}, {1, 1}, {1, 1}, 4),
       {{{5, 4, 6, 7}}, {{8, 1, 3, 3}}, {{8}}}},
      {"relu",
       with2d,
       then("relu", arguments(true, {1, 1}, {1, 1}, {1, 1}, 1)),
       {{{5, 4, 6, 7}}, {{3, 4, 3, 3}}, {{3}}}},
      {"depthwise, silu",
       with2d,
       then("silu", arguments(true, {1, 1}, {1, 1}, {1, 1}, 4)),
       {{{5, 4, 6, 7}}, {{4, 1, 3, 3}}, {{4}}}},
      {"shared input, gelu",
       with2d,
       then("gelu", arguments(true, {1, 1}, {1, 1}, {1, 1}, 1)),
       {{{2, 17, 6, 7}, false}, {{21, 17, 3, 3}}, {{21}}}},
      {"shared weights, relu",
       with2d,
       then("relu", arguments(true, {1, 1}, {1, 1}, {1, 1}, 1)),
       {{{2, 17, 5, 4}}, {{21, 17, 3, 3}, false}, {{21}, false}}},
      {"winograd, ragged, silu",
       with2d,
       then("silu", arguments(false, {1, 1}, {0, 2}, {1, 1}, 1)),
       {{{1, 19, 9, 5}}, {{70, 19, 3, 3}}}},
      {"winograd, gelu",
       with2d,
       then("gelu", arguments(true, {1, 1}, {1, 1}, {1, 1}, 1)),
       {{{2, 16, 6, 7}}, {{32, 16, 3, 3}}, {{32}}}},
      {"1x1, relu6",
       with2d,
       then("relu6", arguments(true, {1, 1}, {0, 0}, {1, 1}, 1)),
       {{{5, 4, 6, 7}}, {{3, 4, 1, 1}}, {{3}}}},
      {"depthwise, hardswish",
       with2d,
       then("hardswish", arguments(true, {2, 2}, {1, 1}, {1, 1}, 4)),
       {{{5, 4, 6, 7}}, {{4, 1, 3, 3}}, {{4}}}},
      {"winograd, leaky relu",
       with2d,
       then("leaky_relu 0.2", arguments(true, {1, 1}, {1, 1}, {1, 1}, 1)),
       {{{2, 16, 6, 7}}, {{32, 16, 3, 3}}, {{32}}}},
      {"conv1d, relu",
       "wide.conv1d_activation.default",
       then("relu", arguments(true, {2}, {1}, {1}, 1)),
       {{{5, 4, 9}}, {{3, 4, 3}}, {{3}}}},
      {"conv3d, gelu_tanh",
       "wide.conv3d_activation.default",
       then("gelu_tanh", arguments(true, {1, 1, 1}, {1, 0, 1}, {1, 1, 1}, 1)),
       {{{2, 4, 5, 6, 7}}, {{3, 4, 3, 2, 3}}, {{3}}}},
      {"shared volume",
       "aten.conv3d.default",
       arguments(true, {1, 1, 1}, {1, 0, 1}, {1, 1, 1}, 1),
       {{{2, 4, 5, 6, 7}, false}, {{3, 4, 3, 2, 3}}, {{3}}}},
  };
}

}  // namespace

Primitive conv() {
  return {
      "conv",
      {"aten.conv1d.default", "aten.conv2d.default", "aten.conv3d.default", "wide.conv1d_activation.default",
       "wide.conv2d_activation.default", "wide.conv3d_activation.default"},
      nullptr,
      {{"dense", ask_dense, prepare_activated<prepare_dense>},
       {"folded", ask_folded, prepare_activated<prepare_folded>},
       {"grouped", ask_grouped, prepare_activated<prepare_grouped>},
       {"channels_last", ask_channels_last, prepare_activated<prepare_grouped>},
       {"bmm", ask_bmm, prepare_activated<prepare_bmm>},
       {"im2col", ask_im2col, prepare_activated<prepare_im2col>},
       packing_kernel("prepacked", ask_packed_weights, prepare_packed_weights, weight_of),
       winograd<2>("winograd_2x2"),
       winograd<4>("winograd_4x4")},
      flops,
      samples};
}

}  // namespace wide::conv_primitive
