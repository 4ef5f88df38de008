// Wide transposed convolution: y[n] = conv_transpose(x[n], W[n]) + b[n].
//   x [B, N·Ci, …]   W [N·Ci, Co/g, …]   b [N·Co]   y [B, N·Co, …]
// Arguments: x, W, b, stride, padding, output_padding, groups, dilation; then the name of
// an activation, or none. A shared input has no stacked form:
// the output channels lie on the second axis of W.
#include <ATen/ATen.h>

#include <algorithm>
#include <array>

#include "primitives/convolution.h"
#include "primitives/kernels/col2im.h"

namespace wide::conv_transpose_primitive {
namespace {

using namespace convolution;
constexpr std::size_t kOutputPadding = 5, kDilation = 7;

double flops(const Call& call) {
  const auto& weight = call.operand_at(kW)->type;
  return 2.0 * static_cast<double>(call.operand_at(kX)->type.elements()) *
         static_cast<double>(weight.elements() / std::max<std::int64_t>(1, weight.shape[0])) *
         static_cast<double>(call.members);
}

Answer ask_grouped(const Call& call) {
  if (!is_batched(call)) return refuse("the input has no batch axis");
  return offer(packed_offer(call, Layout::kPacked, flops(call)));
}

Kernel prepare_grouped(const Call& call, const Offer&) {
  return boxed(call, grouped_node(call));
}

// The weights are shared: the model axis is only more batch.
Answer ask_folded(const Call& call) {
  if (!is_batched(call)) return refuse("the input has no batch axis");
  if (is_mapped(call, kW) || is_mapped(call, kBias)) return refuse("the weights differ per member");
  auto one = uniform_offer(call, Layout::kFolded);
  one.cost = kernel_cost(total_bytes(call), flops(call)) + activation_cost(call);
  return offer(std::move(one));
}

Kernel prepare_folded(const Call& call, const Offer&) {
  return boxed(call, call.node);
}

// col2im counts the patches from the output's size: with an output padding of a stride and more it finds
// others than the input has.
bool counts_its_patches(const Call& call) {
  const auto &x = call.operand_at(kX)->type.shape, &weight = call.operand_at(kW)->type.shape;
  const auto stride = per_axis(call, kStride), padding = per_axis(call, kPadding),
             dilation = per_axis(call, kDilation);
  for (std::size_t i = 0; i < stride.size(); ++i) {
    const auto output = call.results[0].shape[i + 2];
    const auto room = output + 2 * padding[i] - dilation[i] * (weight[i + 2] - 1) - 1;
    if (output <= 0 || room < 0 || room / stride[i] + 1 != x[i + 2]) return false;
  }
  return true;
}

// One product a member gives every patch as a column; col2im adds up where they overlap.
Answer ask_col2im(const Call& call) {
  if (const auto reason = product_refusal(call); !reason.empty()) return refuse(std::string(reason));
  if (spatial_axes(call) > 2) return refuse("ATen adds up columns of one and two spatial axes only");
  if (!counts_its_patches(call)) return refuse("the padding of the output makes more patches than there are");
  const auto& weight = call.operand_at(kW)->type;
  const auto columns = static_cast<double>(call.operand_at(kX)->type.bytes() * call.members) *
                       static_cast<double>(weight.elements()) /
                       static_cast<double>(weight.shape[0] * weight.shape[0]);
  auto one = uniform_offer(call, Layout::kFront);
  one.cost = kernel_cost(total_bytes(call) + 2 * columns, 0.8 * flops(call)) + 3 * kNanosecondsPerCall +
             activation_cost(call);
  return offer(std::move(one));
}

Kernel prepare_col2im(const Call& call, const Offer&) {
  const auto shape = physical_shape(call.results[0], Layout::kFront, call.members);
  const auto two = [&](std::vector<std::int64_t> values, std::int64_t missing) {
    if (values.size() == 1) values.insert(values.begin(), missing);
    return values;
  };
  const auto& weight = call.operand_at(kW)->type.shape;
  const auto& result = call.results[0].shape;
  const auto size = two({weight.begin() + 2, weight.end()}, 1), dilation = two(per_axis(call, kDilation), 1),
             padding = two(per_axis(call, kPadding), 0), stride = two(per_axis(call, kStride), 1),
             output = two({result.begin() + 2, result.end()}, 1);
  const auto pair = [](const std::vector<std::int64_t>& values) {
    return std::array<std::int64_t, 2>{values[0], values[1]};
  };
  const auto& x_shape = call.operand_at(kX)->type.shape;
  const auto input = two({x_shape.begin() + 2, x_shape.end()}, 1);
  const kernels::Patches patches{pair(input),  pair(output),  pair(size),
                                 pair(stride), pair(padding), pair(dilation)};
  return [=](std::span<const at::Tensor> in, std::span<at::Tensor> out) {
    const auto w = in[*call.operand_of(kW)].flatten(2).transpose(1, 2).unsqueeze(1);  // [N, 1, Co·K, Ci]
    const auto columns = at::matmul(w, in[*call.operand_of(kX)].flatten(3));          // [N, B, Co·K, L]
    const auto bias = front_or_none(call, kBias, in);
    if (columns.is_cpu() && columns.scalar_type() == at::kFloat && !wants_gradients(in)) {
      at::Tensor each;  // of every plane
      if (bias.defined()) each = bias.unsqueeze(1).expand({shape[0], shape[1], shape[2]}).contiguous();
      const auto planes =
          columns.reshape({shape[0] * shape[1] * shape[2], size[0] * size[1], input[0] * input[1]});
      out[0] = kernels::add_patches(planes.contiguous(), each, patches).reshape(shape);
      return;
    }
    const auto y = at::col2im(columns.flatten(0, 1), output, size, dilation, padding, stride);
    out[0] = add_bias(y.reshape(shape), bias);
  };
}

// From weights in oneDNN's own order, made once. oneDNN, too, makes nothing of such padding.
Answer ask_packed_weights(const Call& call) {
  if (!counts_its_patches(call)) return refuse("the padding of the output makes more patches than there are");
  return ask_prepacked(call, /*transposed=*/true, flops(call));
}

Kernel prepare_packed_weights(const Call& call, const Offer& offer) {
  return prepare_prepacked(call, offer,
                           {per_axis(call, kStride), per_axis(call, kPadding), per_axis(call, kDilation),
                            per_axis(call, kOutputPadding), call.integer(kGroups), true});
}

std::vector<Sample> samples(std::int64_t members) {
  const auto ints = ints_argument;
  const auto up = [&](std::vector<std::int64_t> stride, std::vector<std::int64_t> output_padding,
                      std::int64_t groups) {
    const std::vector<std::int64_t> ones(stride.size(), 1);
    return std::vector<Argument>{{ValueRef{0}}, {ValueRef{1}},        {ValueRef{2}}, ints(stride),
                                 ints(ones),    ints(output_padding), {groups},      ints(ones)};
  };
  const auto then_relu = [](std::vector<Argument> all) {
    all.push_back({std::string("relu")});
    return all;
  };
  return {
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
      {"no bias",
       "aten.conv_transpose2d.input",
       {{ValueRef{0}},
        {ValueRef{1}},
        {},
        ints({2, 1}),
        ints({0, 1}),
        ints({0, 0}),
        {std::int64_t{1}},
        ints({1, 2})},
       {{{5, 4, 6, 7}}, {{4, 3, 3, 2}}}},
      {"shared weights",
       "aten.conv_transpose2d.input",
       up({2, 2}, {1, 0}, 1),
       {{{5, 4, 6, 7}}, {{4, 3, 3, 3}, false}, {{3}, false}}},
      {"shared input",
       "aten.conv_transpose2d.input",
       up({2, 2}, {1, 0}, 1),
       {{{5, 4, 6, 7}, false}, {{4, 3, 3, 3}}, {{3}}}},
      {"output padding of a stride",
       "aten.conv_transpose1d.default",
       {{ValueRef{0}}, {ValueRef{1}}, {}, ints({1}), ints({1}), ints({1}), {std::int64_t{1}}, ints({2})},
       {{{6, 7, 13}}, {{7, 2, 1}}}},
      {"output padding of a stride, 2d",
       "aten.conv_transpose2d.input",
       {{ValueRef{0}},
        {ValueRef{1}},
        {},
        ints({1, 1}),
        ints({0, 0}),
        ints({1, 1}),
        {std::int64_t{1}},
        ints({2, 2})},
       {{{4, 7, 4, 3}}, {{7, 3, 3, 2}}}},
      {"relu",
       "wide.conv_transpose2d_activation.default",
       then_relu(up({2, 2}, {1, 0}, 1)),
       {{{5, 4, 6, 7}}, {{4, 3, 3, 3}}, {{3}}}},
      {"1d, relu",
       "wide.conv_transpose1d_activation.default",
       then_relu(up({2}, {1}, 1)),
       {{{5, 4, 7}}, {{4, 3, 3}}, {{3}}}},
      {"3d, relu",
       "wide.conv_transpose3d_activation.default",
       then_relu(up({1, 2, 1}, {0, 1, 0}, 1)),
       {{{2, 4, 3, 4, 5}}, {{4, 3, 3, 3, 3}}, {{3}}}},
      {"B equals N",
       "aten.conv_transpose2d.input",
       up({2, 2}, {0, 0}, 1),
       {{{members, members, 6, 7}}, {{members, members, 3, 3}}, {{members}}}},
  };
}

}  // namespace

Primitive conv_transpose() {
  return {"conv_transpose",
          {"aten.conv_transpose1d.default", "aten.conv_transpose2d.input", "aten.conv_transpose3d.input",
           "wide.conv_transpose1d_activation.default", "wide.conv_transpose2d_activation.default",
           "wide.conv_transpose3d_activation.default"},
          nullptr,
          {{"folded", ask_folded, prepare_activated<prepare_folded>},
           {"grouped", ask_grouped, prepare_activated<prepare_grouped>},
           {"col2im", ask_col2im, prepare_activated<prepare_col2im>},
           packing_kernel("prepacked", ask_packed_weights, prepare_packed_weights, weight_of)},
          flops,
          samples};
}

}  // namespace wide::conv_transpose_primitive
