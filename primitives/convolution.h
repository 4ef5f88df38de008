#pragma once
// What convolutions and their transposes share: operands, layouts, costs.

#include <string_view>
#include <vector>

#include "primitives/support.h"

namespace wide::convolution {

enum { kX, kW, kBias, kStride, kPadding };
/// conv*: …, dilation, groups; conv_transpose*: …, output_padding, groups, dilation.
inline constexpr std::size_t kGroups = 6;

/// Some input has a batch axis: [B, C, …].
inline bool is_batched(const Call& call) {
  return call.operand_at(kX)->type.rank() == call.operand_at(kW)->type.rank();
}

inline std::size_t spatial_axes(const Call& call) {
  return call.operand_at(kW)->type.shape.size() - 2;
}

/// The integers of argument `index`, one per spatial axis: a list of one stands for all.
inline std::vector<std::int64_t> per_axis(const Call& call, std::size_t index) {
  auto values = call.integers(index);
  if (values.size() == 1) values.assign(spatial_axes(call), values[0]);
  return values;
}

/// x and y in `layout`, weights and bias folded into their first axis; what is shared is repeated.
inline Offer packed_offer(const Call& call, Layout layout, double flops) {
  auto one = uniform_offer(call, layout);
  for (const auto index : {kX, kW, kBias}) {
    if (const auto operand = call.operand_of(index))
      one.operands[*operand] = index == kX ? layout : Layout::kFolded;
  }
  if (is_last(layout)) one.operands[*call.operand_of(kW)] = Layout::kFoldedLast;
  one.cost = kernel_cost(total_bytes(call), flops);
  return one;
}

/// N members are N groups of one convolution.
inline Node grouped_node(const Call& call) {
  auto wide = call.node;
  wide.arguments[kGroups] = {call.integer(kGroups) * call.members};
  return wide;
}

/// Why the weights and the input are not per-member matrices for one product each, or "".
inline std::string_view product_refusal(const Call& call) {
  if (!is_batched(call)) return "the input has no batch axis";
  if (!is_mapped(call, kX)) return "the input is shared";
  if (!is_mapped(call, kW)) return "the weights are shared: folding is cheaper";
  if (call.integer(kGroups) != 1) return "the convolution has groups of its own";
  return {};
}

/// `bias` ([N, C] or undefined) onto `y` [N, B, C, …], which nobody else holds.
inline at::Tensor add_bias(at::Tensor y, const at::Tensor& bias) {
  if (!bias.defined()) return y;
  std::vector<std::int64_t> shape(static_cast<std::size_t>(y.dim()), 1);
  shape[0] = bias.size(0);
  shape[2] = bias.size(1);
  return y.add_(bias.reshape(shape));
}

}  // namespace wide::convolution
