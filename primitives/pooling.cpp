// Wide pooling, padding and resizing: every channel on its own, so N goes to the channels or to the batch.
//   packed [B, N·C, …]   folded [N·B, C, …]   either with channels innermost
#include <ATen/ATen.h>

#include <algorithm>
#include <array>
#include <functional>

#include "primitives/kernels/pool.h"
#include "primitives/kernels/resize.h"
#include "primitives/support.h"

namespace wide::pooling_primitive {
namespace {

// The spatial axes that the operator's name says; the input has a batch axis if its rank is two more.
std::int64_t spatial_axes(std::string_view op) {
  for (const auto& [text, axes] : {std::pair{"1d", 1}, std::pair{"2d", 2}, std::pair{"3d", 3}}) {
    if (op.find(text) != std::string_view::npos) return axes;
  }
  return 0;
}

Answer ask(const Call& call) {
  if (!call.operand_of(0) || call.operands.size() != 1) return refuse("the input is a constant");
  const auto axes = spatial_axes(call.node.op);
  if (axes && call.operand_at(0)->type.rank() != axes + 2) return refuse("the input has no batch axis");
  if (call.operand_at(0)->type.rank() < 3) return refuse("the input has no channel and batch axes");
  Answer answer;
  for (const auto layout : {Layout::kPacked, Layout::kFolded, Layout::kPackedLast, Layout::kFoldedLast}) {
    if (can_hold(layout, call.results[0])) answer.offers.push_back(uniform_offer(call, layout));
  }
  return answer;
}

Kernel prepare(const Call& call, const Offer& offer) {
  return boxed_as_offered(call, offer);
}

enum { kX, kSize, kStride, kPadding, kDilation };
enum { kCountsPadding = 5, kDivisor };  // of an average

constexpr const char* kAdaptive = "aten.adaptive_avg_pool2d.default";

// Planes by kernels of our own, a row at a time; what has one axis is a plane of one row.
Answer ask_planes(const Call& call) {
  constexpr std::array<std::string_view, 7> kOps = {
      "aten.max_pool1d.default",   "aten.max_pool2d.default",          "aten.avg_pool1d.default",
      "aten.avg_pool2d.default",   "aten.adaptive_avg_pool1d.default", kAdaptive,
      "aten.pixel_shuffle.default"};
  if (std::find(kOps.begin(), kOps.end(), call.node.op) == kOps.end())
    return refuse("only pooling of images and rows, and pixel shuffles, have such a kernel");
  if (!is_mapped(call, kX)) return refuse("the input is shared: it is pooled once");
  if (call.operand_at(kX)->type.rank() < 3) return refuse("the input has no channel axis");
  if (call.results[0].dtype != at::kFloat) return refuse("only float32 has such a kernel");
  if (call.operand_at(kX)->type.elements() == 0) return refuse("the input is empty");
  auto answer = offer(uniform_offer(call, Layout::kFront));
  if (call.node.op != "aten.max_pool2d.default" && call.node.op != "aten.avg_pool2d.default") return answer;
  for (const auto layout : {Layout::kFoldedLast, Layout::kPackedLast}) {
    if (can_hold(layout, call.results[0])) answer.offers.push_back(uniform_offer(call, layout));
  }
  return answer;
}

using Pool = std::function<at::Tensor(const at::Tensor& x)>;

// Of planes; of one row each where there is one axis only.
Pool pool_of(const Call& call, bool one_axis, kernels::Order order) {
  if (call.node.op == "aten.pixel_shuffle.default") {
    return [factor = call.integer(1)](const at::Tensor& x) { return kernels::pixel_shuffle(x, factor); };
  }
  const auto rows = one_axis ? 1 : call.results[0].shape.end()[-2], columns = call.results[0].shape.back();
  if (call.node.op.starts_with("aten.adaptive"))
    return [=](const at::Tensor& x) { return kernels::adaptive_avg_pool2d(x, rows, columns); };
  const auto pair = [&](std::size_t index, std::int64_t other) {
    const auto list = call.integers(index);
    return std::array{one_axis ? other : list.front(), list.back()};
  };
  const auto size = pair(kSize, 1);
  kernels::Window window{
      size, call.integers(kStride).empty() ? size : pair(kStride, 1), pair(kPadding, 0), {1, 1}};
  if (call.node.op.starts_with("aten.avg")) {
    const bool divides = call.node.arguments.size() > kDivisor && !call.is_none(kDivisor);
    const auto divisor = divides ? call.integer(kDivisor) : 0;
    return [=, counts = call.flag(kCountsPadding)](const at::Tensor& x) {
      return kernels::avg_pool2d(x, window, rows, columns, counts, divisor, order);
    };
  }
  window.dilation = pair(kDilation, 1);
  return [=](const at::Tensor& x) { return kernels::max_pool2d(x, window, rows, columns, order); };
}

Kernel prepare_planes(const Call& call, const Offer& offer) {
  const bool one_axis = spatial_axes(call.node.op) == 1;
  const auto order = is_last(offer.results[0]) ? kernels::Order::kChannelsLast : kernels::Order::kPlanes;
  return [x = *call.operand_of(kX), one_axis, pool = pool_of(call, one_axis, order)](
             std::span<const at::Tensor> in, std::span<at::Tensor> out) {
    out[0] = one_axis ? pool(in[x].unsqueeze(-2)).squeeze(-2) : pool(in[x]);
  };
}

std::vector<Sample> samples(std::int64_t members) {
  const auto i = ints_argument;
  const Argument x{ValueRef{0}};
  return {
      {"max 2d",
       "aten.max_pool2d.default",
       {x, i({2, 2}), i({2, 2}), i({1, 0}), i({1, 1}), {false}},
       {{{5, 3, 8, 6}}}},
      {"max 2d with padding, dilation and its own stride",
       "aten.max_pool2d.default",
       {x, i({3, 2}), i({}), i({1, 1}), i({1, 2}), {true}},
       {{{5, 3, 8, 7}}}},
      {"max 2d, overlapping",
       "aten.max_pool2d.default",
       {x, i({3, 3}), i({1, 2}), i({1, 1}), i({2, 1}), {true}},
       {{{2, 3, 9, 8}}}},
      {"max 1d", "aten.max_pool1d.default", {x, i({3}), i({2}), i({0}), i({1}), {true}}, {{{5, 3, 8}}}},
      {"max 1d with padding and dilation",
       "aten.max_pool1d.default",
       {x, i({3}), i({2}), i({1}), i({2}), {true}},
       {{{2, 3, 19}}}},
      {"max 3d",
       "aten.max_pool3d.default",
       {x, i({2, 2, 2}), i({2, 2, 2}), i({0, 0, 0}), i({1, 1, 1}), {false}},
       {{{2, 3, 4, 6, 4}}}},
      {"average 2d",
       "aten.avg_pool2d.default",
       {x, i({2, 2}), i({1, 2}), i({0, 0}), {false}, {true}, {}},
       {{{5, 3, 8, 6}}}},
      {"average 2d, ragged",
       "aten.avg_pool2d.default",
       {x, i({3, 2}), i({2, 1}), i({1, 1}), {true}, {false}, {}},
       {{{5, 3, 8, 6}}}},
      {"average 2d by another divisor",
       "aten.avg_pool2d.default",
       {x, i({2, 2}), i({}), i({1, 0}), {false}, {true}, {std::int64_t{3}}},
       {{{3, 8, 6}}}},
      {"average 1d", "aten.avg_pool1d.default", {x, i({2}), i({2}), i({0}), {false}, {true}}, {{{5, 3, 8}}}},
      {"average 1d, ragged",
       "aten.avg_pool1d.default",
       {x, i({3}), i({2}), i({1}), {true}, {false}},
       {{{2, 3, 18}}}},
      {"average 3d",
       "aten.avg_pool3d.default",
       {x, i({2, 2, 2}), i({2, 2, 2}), i({0, 0, 0}), {false}, {true}, {}},
       {{{2, 3, 4, 6, 4}}}},
      {"adaptive average 2d", kAdaptive, {x, i({1, 2})}, {{{5, 3, 8, 6}}}},
      {"adaptive average 2d of whole planes", kAdaptive, {x, i({1, 1})}, {{{2, 3, 70, 37}}}},
      {"adaptive average 2d, overlapping", kAdaptive, {x, i({5, 4})}, {{{3, 7, 71}}}},
      {"adaptive average 2d to more numbers", kAdaptive, {x, i({9, 8})}, {{{2, 3, 5, 6}}}},
      {"adaptive average 1d", "aten.adaptive_avg_pool1d.default", {x, i({2})}, {{{5, 3, 8}}}},
      {"adaptive average 3d", "aten.adaptive_avg_pool3d.default", {x, i({1, 2, 1})}, {{{2, 3, 4, 6, 4}}}},
      {"adaptive max 2d", "aten.adaptive_max_pool2d.default", {x, i({2, 2})}, {{{5, 3, 8, 6}}}},
      {"pixel shuffle", "aten.pixel_shuffle.default", {x, {std::int64_t{2}}}, {{{5, 4, 3, 2}}}},
      {"pixel shuffle by 3", "aten.pixel_shuffle.default", {x, {std::int64_t{3}}}, {{{18, 3, 5}}}},
      {"B equals N",
       "aten.max_pool2d.default",
       {x, i({2, 2}), i({2, 2}), i({0, 0}), i({1, 1}), {false}},
       {{{members, members, 4, 6}}}},
  };
}

}  // namespace

Primitive pooling() {
  return {"pooling",
          {"aten.max_pool1d.default", "aten.max_pool2d.default", "aten.max_pool3d.default",
           "aten.max_pool1d_with_indices.default", "aten.max_pool2d_with_indices.default",
           "aten.max_pool3d_with_indices.default", "aten.avg_pool1d.default", "aten.avg_pool2d.default",
           "aten.avg_pool3d.default", "aten.adaptive_avg_pool1d.default", "aten.adaptive_avg_pool2d.default",
           "aten.adaptive_avg_pool3d.default", "aten.adaptive_max_pool1d.default",
           "aten.adaptive_max_pool2d.default", "aten.adaptive_max_pool3d.default",
           "aten.pixel_shuffle.default", "aten.pixel_unshuffle.default"},
          nullptr,
          {{"batched", ask, prepare}, own_kernel("planes", ask_planes, prepare_planes)},
          nullptr,
          samples};
}

}  // namespace wide::pooling_primitive
