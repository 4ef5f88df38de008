#pragma once
// Strategies of a convolution by Winograd's algorithm.

#include <ATen/ATen.h>

#include <algorithm>
#include <string>
#include <string_view>
#include <vector>

#include "primitives/activated.h"
#include "primitives/convolution.h"
#include "primitives/kernels/winograd.h"

namespace wide::convolution {

inline bool all_equal(const std::vector<std::int64_t>& values, std::int64_t wanted) {
  return std::all_of(values.begin(), values.end(), [&](std::int64_t value) { return value == wanted; });
}

// Tiles are whole, also where the image ends within one; transformed weights are larger than those that came.
template <int kTile>
double winograd_cost(const Call& call) {
  const auto& weight = call.operand_at(kW)->type.shape;
  const auto& y = call.results[0].shape;
  const auto members = static_cast<double>(call.members), edge = kTile + 2.0;
  const auto tiles = static_cast<double>(y[0] * ((y[2] + kTile - 1) / kTile) * ((y[3] + kTile - 1) / kTile));
  const auto places = edge * edge * static_cast<double>(weight[0] * weight[1]);
  const double weights = (is_mapped(call, kW) ? members : 1.0) * places * sizeof(float);
  const double changing = call.operand_at(kW)->fixed ? 0 : kernel_cost(20 * weights, 20 * weights);
  return kernel_cost(2 * total_bytes(call) + weights,
                     (kTile == 2 ? 1.5 : 2.0) * 2 * members * tiles * places) +
         changing;
}

// With fewer multiplications, by tiles of `kTile` x `kTile` results; channels innermost.
template <int kTile>
Answer ask_winograd(const Call& call) {
  const auto& weight = call.operand_at(kW)->type;
  if (call.results[0].dtype != at::kFloat) return refuse("only float32 is computed so");
  if (!is_batched(call)) return refuse("the input has no batch axis");
  if (weight.rank() != 4 || weight.shape[2] != 3 || weight.shape[3] != 3)
    return refuse("the kernel is not 3x3");
  if (call.integer(kGroups) != 1) return refuse("the convolution has groups of its own");
  if (!all_equal(call.integers(kStride), 1)) return refuse("the stride is not 1");
  if (!all_equal(call.integers(kConvDilation), 1)) return refuse("the kernel is dilated");
  if (call.results[0].elements() == 0 || call.operand_at(kX)->type.elements() == 0)
    return refuse("there is nothing to compute");
  if (auto reason = kernels::Winograd::refusal(weight.shape[1], weight.shape[0]); !reason.empty())
    return refuse(std::move(reason));
  const auto form = prepacked_form(call);
  if (form == Prepacked::kFolded && is_mapped(call, kBias)) return refuse("the bias differs per member");
  Answer answer;
  for (const auto layout : {Layout::kFront, Layout::kFoldedLast, Layout::kPackedLast}) {
    if (form == Prepacked::kFolded && layout == Layout::kPackedLast) continue;
    if (form == Prepacked::kDense && layout != Layout::kPackedLast) continue;
    auto one = uniform_offer(call, Layout::kFront);
    if (is_mapped(call, kX)) one.operands[*call.operand_of(kX)] = layout;
    one.results[0] = layout;
    one.cost = winograd_cost<kTile>(call) + (form == Prepacked::kDense ? activation_cost(call) : 0);
    answer.offers.push_back(std::move(one));
  }
  return answer;
}

// `images` as [groups, B, H, W, C]: groups are members, or one of all.
inline at::Tensor by_groups(const at::Tensor& images, Layout layout, std::int64_t groups) {
  if (images.dim() == 5) {  // with members in front
    const auto last = images.contiguous().permute({0, 1, 3, 4, 2});
    return groups == 1 ? last.flatten(0, 1).unsqueeze(0) : last;
  }
  const auto last = images.contiguous(at::MemoryFormat::ChannelsLast).permute({0, 2, 3, 1});
  if (groups == 1) return last.unsqueeze(0);
  if (layout == Layout::kFoldedLast) return last.unflatten(0, {groups, -1});
  return last.unflatten(3, {groups, -1}).movedim(3, 0);
}

template <int kTile>
Kernel prepare_winograd(const Call& call, const Offer& offer) {
  const auto& weight = call.operand_at(kW)->type.shape;
  const auto form = prepacked_form(call);
  const auto layout = offer.results[0];
  const auto groups = form == Prepacked::kPacked ? call.members : 1;
  const kernels::Winograd kernel(kTile, weight[1], weight[0] * (form == Prepacked::kDense ? call.members : 1),
                                 form == Prepacked::kDense ? call.members : 1);
  const auto grouped = [=](const at::Tensor& w) {
    return form == Prepacked::kPacked  ? w
           : form == Prepacked::kDense ? w.flatten(0, 1).unsqueeze(0)
                                       : w.unsqueeze(0);
  };
  at::Tensor ready;
  const auto known = call.operand_at(kW)->constant;
  if (known.defined()) {
    const auto pack = [&](const at::Tensor& w) { return kernel.pack(w); };
    const auto purpose = "winograd " + std::to_string(kTile);
    const auto pack_whole = [&] { return pack(grouped(known.tensor())); };
    ready = form == Prepacked::kPacked ? shared_constant(known, purpose, pack)
                                       : shared_whole_constant(known, purpose + " whole", pack_whole);
  }
  const auto padding = per_axis(call, kPadding);
  const auto shape = physical_shape(call.results[0], layout, call.members);
  const auto at_x = *call.operand_of(kX), at_w = *call.operand_of(kW);
  const auto at_bias = call.operand_of(kBias);
  const bool own_bias = is_mapped(call, kBias);
  // Of each block while it is in the cache. Where members share an image's channels, one member's infinities
  // are looked for in what it gave, so that the activation comes afterwards.
  const auto* after = activation_in(call.node);
  const auto each_block =
      after && form != Prepacked::kDense ? kernels::row_function(after->name) : kernels::RowFunction();
  const Kernel run = [=, members = call.members](std::span<const at::Tensor> in, std::span<at::Tensor> out) {
    at::Tensor bias;
    if (at_bias) {
      bias = in[*at_bias];
      if (form != Prepacked::kFolded && !own_bias) bias = bias.expand({members, bias.size(0)});
      bias = bias.reshape({groups, -1}).contiguous();
    }
    const auto w = known.defined() ? known : ConstantPart(in[at_w]);
    const auto weights_of = [&](std::int64_t member) {
      return form == Prepacked::kFolded ? w.tensor() : w.member(member);
    };
    const auto format = shape.size() == 4 ? at::MemoryFormat::ChannelsLast : at::MemoryFormat::Contiguous;
    out[0] = at::empty(shape, in[at_x].options().memory_format(format));
    kernel.run(by_groups(in[at_x], layout, groups), weights_of,
               ready.defined() ? ready : kernel.pack(grouped(in[at_w])), bias, {padding[0], padding[1]},
               by_groups(out[0], layout, groups), each_block);
  };
  return activated(each_block ? nullptr : after, run);
}

template <int kTile>
Strategy winograd(std::string_view name) {
  auto strategy = packing_kernel(name, ask_winograd<kTile>, prepare_winograd<kTile>, weight_of);
  strategy.packed_size = (kTile + 2) * (kTile + 2) / 9.0;
  strategy.least_mode = kTile == 2 ? Mode::kDefault : Mode::kMaxAutotune;  // by its errors
  return strategy;
}

}  // namespace wide::convolution
