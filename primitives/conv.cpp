// Wide convolution: y[n] = conv(x[n], W[n]) + b[n].
//   x [B, N·Ci, …]   W [N·Co, Ci/g, …]   b [N·Co]   y [B, N·Co, …]
// Arguments: x, W, b, stride, padding, dilation, groups.
#include <ATen/ATen.h>

#include <algorithm>

#include "primitives/convolution.h"
#include "primitives/kernels/winograd.h"

namespace wide::conv_primitive {
namespace {

using namespace convolution;
constexpr std::size_t kDilation = 5;

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
    one.cost = kernel_cost(total_bytes(call), flops(call));
    answer.offers.push_back(std::move(one));
  }
  return answer;
}

Kernel prepare_folded(const Call& call, const Offer& offer) {
  return boxed_as_offered(call, offer);
}

bool all_equal(const std::vector<std::int64_t>& values, std::int64_t wanted) {
  return std::all_of(values.begin(), values.end(), [&](std::int64_t value) { return value == wanted; });
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
  answer.offers[0].cost = kernel_cost(total_bytes(call) + 2 * again, 0.9 * flops(call));
  if (can_hold(Layout::kFoldedLast, call.results[0])) {
    auto last = uniform_offer(call, Layout::kFront);
    last.operands[*call.operand_of(kX)] = last.results[0] = Layout::kFoldedLast;
    last.cost = kernel_cost(total_bytes(call), 0.8 * flops(call));
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
  one.cost = kernel_cost(total_bytes(call) + 2 * columns, flops(call)) + 2 * kNanosecondsPerCall;
  return offer(std::move(one));
}

Kernel prepare_im2col(const Call& call, const Offer&) {
  const auto shape = physical_shape(call.results[0], Layout::kFolded, call.members);
  const auto two = [&](std::vector<std::int64_t> values, std::int64_t missing) {
    if (values.size() == 1) values.insert(values.begin(), missing);
    return values;
  };
  const auto& weight = call.operand_at(kW)->type.shape;
  const auto size = two({weight.begin() + 2, weight.end()}, 1), dilation = two(per_axis(call, kDilation), 1),
             padding = two(per_axis(call, kPadding), 0), stride = two(per_axis(call, kStride), 1);
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
                            per_axis(call, kDilation),
                            {},
                            call.integer(kGroups)});
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
  if (!all_equal(call.integers(kDilation), 1)) return refuse("the kernel is dilated");
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
    one.cost = winograd_cost<kTile>(call);
    answer.offers.push_back(std::move(one));
  }
  return answer;
}

// `images` as [groups, B, H, W, C]: groups are members, or one of all.
at::Tensor by_groups(const at::Tensor& images, Layout layout, std::int64_t groups) {
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
  return [=, members = call.members](std::span<const at::Tensor> in, std::span<at::Tensor> out) {
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
               by_groups(out[0], layout, groups));
  };
}

template <int kTile>
Strategy winograd(std::string_view name) {
  auto strategy = packing_kernel(name, ask_winograd<kTile>, prepare_winograd<kTile>, weight_of);
  strategy.packed_size = (kTile + 2) * (kTile + 2) / 9.0;
  strategy.least_mode = kTile == 2 ? Mode::kDefault : Mode::kMaxAutotune;  // by its errors
  return strategy;
}

std::vector<Sample> samples(std::int64_t members) {
  const auto ints = ints_argument;
  const auto arguments = [&](bool bias, std::vector<std::int64_t> stride, std::vector<std::int64_t> padding,
                             std::vector<std::int64_t> dilation, std::int64_t groups) {
    return std::vector<Argument>{{ValueRef{0}}, {ValueRef{1}}, bias ? Argument{ValueRef{2}} : Argument{},
                                 ints(stride),  ints(padding), ints(dilation),
                                 {groups}};
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
      {"shared volume",
       "aten.conv3d.default",
       arguments(true, {1, 1, 1}, {1, 0, 1}, {1, 1, 1}, 1),
       {{{2, 4, 5, 6, 7}, false}, {{3, 4, 3, 2, 3}}, {{3}}}},
  };
}

}  // namespace

Primitive conv() {
  return {"conv",
          {"aten.conv1d.default", "aten.conv2d.default", "aten.conv3d.default"},
          nullptr,
          {{"dense", ask_dense, prepare_dense},
           {"folded", ask_folded, prepare_folded},
           {"grouped", ask_grouped, prepare_grouped},
           {"channels_last", ask_channels_last, prepare_grouped},
           {"bmm", ask_bmm, prepare_bmm},
           {"im2col", ask_im2col, prepare_im2col},
           packing_kernel("prepacked", ask_packed_weights, prepare_packed_weights, weight_of),
           winograd<2>("winograd_2x2"),
           winograd<4>("winograd_4x4")},
          flops,
          samples};
}

}  // namespace wide::conv_primitive
