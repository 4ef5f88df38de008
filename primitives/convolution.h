#pragma once
// What convolutions and their transposes share: operands, layouts, costs.

#include <algorithm>
#include <cmath>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/strategy/shared_constants.h"
#include "primitives/activated.h"
#include "primitives/kernels/prepacked_conv.h"
#include "primitives/kernels/within.h"
#include "primitives/support.h"

namespace wide::convolution {

enum { kX, kW, kBias, kStride, kPadding };
/// conv*: …, dilation, groups; conv_transpose*: …, output_padding, groups, dilation.
inline constexpr std::size_t kGroups = 6;
inline constexpr std::size_t kConvDilation = 5;

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

/// Of the weights, which oneDNN brings into its own order in every pass, in nanoseconds.
inline double reordering_cost(const Call& call) {
  const auto& weight = *call.operand_at(kW);
  if (!call.device.is_cpu() || !weight.fixed || weight.type.dtype != at::kFloat)
    return 0;  // else nothing is packed before a pass either
  const auto bytes = weight.type.bytes() * (weight.mapped ? call.members : 1);
  return 2 * static_cast<double>(bytes) * kNanosecondsPerByte;
}

/// x and y in `layout`, weights and bias folded into their first axis; what is shared is repeated.
inline Offer packed_offer(const Call& call, Layout layout, double flops) {
  auto one = uniform_offer(call, layout);
  for (const auto index : {kX, kW, kBias}) {
    if (const auto operand = call.operand_of(index))
      one.operands[*operand] = index == kX ? layout : Layout::kFolded;
  }
  if (is_last(layout)) one.operands[*call.operand_of(kW)] = Layout::kFoldedLast;
  one.cost = kernel_cost(total_bytes(call), flops) + reordering_cost(call) + activation_cost(call);
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

/// Which tensors a convolution from prepacked weights has.
enum class Prepacked {
  kPacked,  ///< members' channels side by side, N groups
  kFolded,  ///< shared weights: members are more batch
  kDense,   ///< shared x: members' output channels side by side
};

inline Prepacked prepacked_form(const Call& call) {
  if (!is_mapped(call, kW)) return Prepacked::kFolded;
  return is_mapped(call, kX) ? Prepacked::kPacked : Prepacked::kDense;
}

/// The activation of `call` as oneDNN's own; nullptr: there is none, or ours comes afterwards. Where results
/// must be far from overflow, inputs are looked at before: not worth it where they are more numbers than
/// results.
inline const kernels::Epilogue* epilogue_in(const Call& call) {
  const auto* after = activation_in(call.node);
  const auto* epilogue = after ? kernels::epilogue_of(after->name) : nullptr;
  if (!epilogue || !epilogue->far_from_overflow) return epilogue;
  const auto* x = call.operand_at(kX);
  const auto read = x->type.elements() * (x->mapped ? call.members : 1);
  const bool fewer = read <= call.results[0].elements() * call.members;
  return fewer && call.operand_at(kW)->fixed ? epilogue : nullptr;
}

/// By member, one for all where `weights` are not `mapped`: the size up to which inputs keep all sums of
/// products with weights within kFarFromOverflow; 0 where these are not finite.
inline at::Tensor largest_inputs(const ConstantPart& weights, bool mapped) {
  const auto limits = at::zeros({mapped ? weights.sizes()[0] : 1}, at::kFloat);
  for (std::int64_t i = 0; i < limits.size(0); ++i) {
    const auto w = mapped ? weights.member(i) : weights.tensor();
    const auto sum = at::linalg_vector_norm(w, 1).item<double>();  // which no sum of products exceeds
    if (std::isfinite(sum)) limits[i].fill_(kernels::kFarFromOverflow / (sum + 1));
  }
  return limits;
}

/// What oneDNN's own activation is for, see kernels::Epilogue::far_from_overflow.
struct FarFromOverflow {
  std::vector<float> limits;  ///< of inputs: one for all, or each member's
  std::int64_t members;
  bool folded;  ///< members lie along axis 0 of inputs and results, else along axis 1

  static at::Tensor part(const at::Tensor& all, std::int64_t axis, std::int64_t member,
                         std::int64_t members) {
    const auto count = all.size(axis) / members;
    return all.narrow(axis, member * count, count);
  }
  at::Tensor part(const at::Tensor& images, std::int64_t member) const {
    return part(images, folded ? 0 : 1, member, members);
  }
  bool holds_for_all(const at::Tensor& x, const at::Tensor& bias) const {
    const auto limit = std::ranges::min(limits);
    return limit > 0 && kernels::all_within(x, limit) &&
           (!bias.defined() || kernels::all_within(bias, kernels::kFarFromOverflow));
  }
  /// `x_own`: each member has its own part of x. Of the bias it has one where members lie along axis 1.
  bool holds_for(std::int64_t member, const at::Tensor& x, bool x_own, const at::Tensor& bias) const {
    const auto limit = limits[limits.size() == 1 ? 0 : static_cast<std::size_t>(member)];
    if (limit == 0 || !kernels::all_within(x_own ? part(x, member) : x, limit)) return false;
    if (!bias.defined()) return true;
    return kernels::all_within(folded ? bias : part(bias, 0, member, members), kernels::kFarFromOverflow);
  }
};

/// By oneDNN, from weights in its own order, channels innermost; or why not.
inline Answer ask_prepacked(const Call& call, bool transposed, double flops) {
  if (call.results[0].dtype != at::kFloat) return refuse("only float32 is packed");
  if (!can_hold(Layout::kPackedLast, call.results[0]))
    return refuse("only images and volumes have that order");
  if (!is_batched(call)) return refuse("the input has no batch axis");
  if (call.results[0].elements() == 0 || call.operand_at(kX)->type.elements() == 0)
    return refuse("there is nothing to compute");
  if (auto reason = kernels::prepacking_refusal(transposed); !reason.empty())
    return refuse(std::move(reason));
  const auto form = prepacked_form(call);
  if (form == Prepacked::kFolded && is_mapped(call, kBias)) return refuse("the bias differs per member");
  if (form == Prepacked::kDense && (transposed || call.integer(kGroups) != 1))
    return refuse("the input is shared, and its channels are read by groups");
  auto one = form == Prepacked::kFolded ? uniform_offer(call, Layout::kFoldedLast)
                                        : packed_offer(call, Layout::kPackedLast, flops);
  if (form == Prepacked::kDense) one.operands[*call.operand_of(kX)] = Layout::kShared;
  if (form != Prepacked::kFolded) one.operands[*call.operand_of(kW)] = Layout::kFront;
  const auto* epilogue = epilogue_in(call);
  one.cost = kernel_cost(total_bytes(call), 0.9 * flops) + (!epilogue ? activation_cost(call)
                                                            : epilogue->far_from_overflow
                                                                ? 0.5 * activation_cost(call)
                                                                : 0);
  return offer(std::move(one));
}

/// Members' weights one behind the other, in the order that prepack() reads; they are never there twice.
inline at::Tensor channels_last(const ConstantPart& weights) {
  const auto members = weights.sizes()[0];
  at::Tensor all;
  for (std::int64_t i = 0; i < members; ++i) {
    const auto own = weights.member(i);
    if (!all.defined()) all = kernels::weights_to_pack(members, own.sizes(), own.options());
    all.select(0, i).copy_(own);
  }
  return all.flatten(0, 1);
}

/// Bytes of all members' weights; where they are more, packing them is worth some time to take less memory.
inline constexpr std::int64_t kMuchWeight = 16 << 20;

inline Kernel prepare_prepacked(const Call& call, const Offer& offer, kernels::ConvolutionSizes sizes) {
  const auto form = prepacked_form(call);
  if (form == Prepacked::kPacked) sizes.groups *= call.members;
  const auto x = call.operand_at(kX);
  auto input = physical_shape(x->type, offer.operands[*call.operand_of(kX)], call.members);
  at::Tensor ready;
  if (const auto& constant = call.operand_at(kW)->constant; constant.defined()) {
    std::string purpose = sizes.transposed ? "transposed" : "convolution";
    for (const auto* list : {&sizes.stride, &sizes.padding, &sizes.dilation, &sizes.output_padding, &input}) {
      purpose += ";";
      for (const auto value : *list) purpose.append(" ").append(std::to_string(value));
    }
    purpose.append("; ").append(std::to_string(sizes.groups));
    ready = shared_whole_constant(constant, purpose, [&] {
      if (form == Prepacked::kPacked && call.operand_at(kW)->type.bytes() * call.members > kMuchWeight) {
        const auto of_member = [&](std::int64_t member) { return constant.member(member); };
        if (auto packed = kernels::prepack_members(sizes, call.members, of_member, input); packed.defined())
          return packed;
      }
      return kernels::prepack(sizes, is_mapped(call, kW) ? channels_last(constant) : constant.tensor(),
                              input);
    });
  }
  const auto* after = activation_in(call.node);
  const auto* epilogue = epilogue_in(call);
  const bool looks = epilogue && epilogue->far_from_overflow;
  FarFromOverflow far{{0.0F}, call.members, form == Prepacked::kFolded};  // where `looks`
  if (const auto& constant = call.operand_at(kW)->constant; looks && constant.defined()) {
    const auto find = [&] { return largest_inputs(constant, is_mapped(call, kW)); };
    const auto limits = shared_whole_constant(constant, "largest inputs", find);
    far.limits.assign(limits.const_data_ptr<float>(), limits.const_data_ptr<float>() + limits.numel());
  }
  if (looks && std::ranges::max(far.limits) == 0) epilogue = nullptr;
  const auto run = [=, call = without_constants(call)](std::span<const at::Tensor> in,
                                                       std::span<at::Tensor> out) {
    const auto bias = call.operand_of(kBias) ? in[*call.operand_of(kBias)] : at::Tensor();
    const auto& given = in[*call.operand_of(kX)];
    const auto pack_now = [&](const at::Tensor& w) {
      return kernels::prepack(sizes, is_mapped(call, kW) ? w.flatten(0, 1) : w, input);
    };
    const auto packed = ready.defined() ? ready : pack_now(in[*call.operand_of(kW)]);
    const bool joined = epilogue && (!looks || far.holds_for_all(given, bias));
    out[0] = kernels::prepacked_conv(sizes, given, packed, bias, joined ? *epilogue : kernels::Epilogue());
    if (after && !joined) activate_in_place(*after, out[0]);
    if (joined || !epilogue) return;
    // What one member is given changes no bit of another one's result.
    const auto near = kernels::prepacked_conv(sizes, given, packed, bias, *epilogue);
    for (std::int64_t i = 0; i < far.members; ++i) {
      if (far.holds_for(i, given, form != Prepacked::kDense, bias))
        far.part(out[0], i).copy_(far.part(near, i));
    }
  };
  return keep_promises(call, offer, run);
}

inline std::vector<std::size_t> weight_of(const Call& call) {
  return {*call.operand_of(kW)};
}

}  // namespace wide::convolution
