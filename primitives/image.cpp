// Wide resizing, unfolding and sampling of images: every channel on its own, so N goes to the channels or the
// batch.
//   packed [B, N·C, …]   folded [N·B, C, …]
#include <algorithm>
#include <array>
#include <optional>

#include "primitives/kernels/resize.h"
#include "primitives/support.h"

namespace wide::image_primitive {
namespace {

struct Rule {
  std::string_view op;
  std::int64_t rank;  ///< of a batched input
  bool packs = true;  ///< the channels of all members may lie side by side
};

constexpr std::array kRules = {
    Rule{"aten.upsample_nearest1d.default", 3},
    Rule{"aten.upsample_nearest1d.vec", 3},
    Rule{"aten.upsample_nearest2d.default", 4},
    Rule{"aten.upsample_nearest2d.vec", 4},
    Rule{"aten.upsample_nearest3d.default", 5},
    Rule{"aten.upsample_nearest3d.vec", 5},
    Rule{"aten._upsample_nearest_exact1d.default", 3},
    Rule{"aten._upsample_nearest_exact1d.vec", 3},
    Rule{"aten._upsample_nearest_exact2d.default", 4},
    Rule{"aten._upsample_nearest_exact2d.vec", 4},
    Rule{"aten._upsample_nearest_exact3d.default", 5},
    Rule{"aten._upsample_nearest_exact3d.vec", 5},
    Rule{"aten.upsample_linear1d.default", 3},
    Rule{"aten.upsample_linear1d.vec", 3},
    Rule{"aten.upsample_bilinear2d.default", 4},
    Rule{"aten.upsample_bilinear2d.vec", 4},
    Rule{"aten.upsample_bicubic2d.default", 4},
    Rule{"aten.upsample_bicubic2d.vec", 4},
    Rule{"aten.upsample_trilinear3d.default", 5},
    Rule{"aten.upsample_trilinear3d.vec", 5},
    Rule{"aten._upsample_bilinear2d_aa.default", 4},
    Rule{"aten._upsample_bilinear2d_aa.vec", 4},
    Rule{"aten._upsample_bicubic2d_aa.default", 4},
    Rule{"aten._upsample_bicubic2d_aa.vec", 4},
    Rule{"aten.im2col.default", 4},
    Rule{"aten.col2im.default", 3},
    Rule{"aten.channel_shuffle.default", 4, false},
    Rule{"aten.native_channel_shuffle.default", 4, false},
};

Answer ask(const Call& call) {
  if (call.operands.size() != 1) return refuse("the input is a constant");
  const auto& rule =
      *std::find_if(kRules.begin(), kRules.end(), [&](const Rule& one) { return one.op == call.node.op; });
  if (call.operands[0].type.rank() != rule.rank) return refuse("the input has no batch axis");
  Answer answer;
  if (rule.packs) answer.offers.push_back(uniform_offer(call, Layout::kPacked));
  answer.offers.push_back(uniform_offer(call, Layout::kFolded));
  return answer;
}

Kernel prepare(const Call& call, const Offer&) {
  return boxed(call, call.node);
}

// Planes by kernels of our own, a row at a time. What an operator says of the size: (x, size, [corners,]
// factor of rows, of columns), or (x, size, [corners,] factors).
Answer ask_planes(const Call& call) {
  const auto& op = call.node.op;
  const bool bilinear = op.starts_with("aten.upsample_bilinear2d.");
  if (!bilinear && !op.starts_with("aten.upsample_nearest2d.") &&
      !op.starts_with("aten._upsample_nearest_exact2d."))
    return refuse("only bilinear and nearest resizing of images have such a kernel");
  if (!is_mapped(call, 0)) return refuse("the input is shared: it is resized once");
  if (call.operands[0].type.rank() != 4) return refuse("the input has no batch axis");
  if (call.results[0].dtype != at::kFloat) return refuse("only float32 has such a kernel");
  auto one = uniform_offer(call, Layout::kFront);
  return offer(std::move(one));
}

Kernel prepare_planes(const Call& call, const Offer&) {
  const auto& op = call.node.op;
  const bool bilinear = op.starts_with("aten.upsample_bilinear2d."), exact = op.find("exact") != op.npos;
  const std::size_t factors = bilinear ? 3 : 2;
  std::array<std::optional<double>, 2> factor;
  if (op.ends_with(".vec")) {
    if (const auto* list = call.node.arguments[factors].list())
      for (std::size_t i = 0; i < 2; ++i) factor[i] = std::get<double>((*list)[i].value);
  } else {
    for (std::size_t i = 0; i < 2; ++i)
      if (!call.is_none(factors + i)) factor[i] = call.real(factors + i);
  }
  const auto& shape = call.results[0].shape;
  const kernels::Resized rows{shape[2], factor[0]}, columns{shape[3], factor[1]};
  const auto x = *call.operand_of(0);
  const auto height = call.operands[x].type.shape[2], width = call.operands[x].type.shape[3];
  if (!bilinear) {
    return [x, places = kernels::nearest_places(height, width, rows, columns, exact)](
               std::span<const at::Tensor> in, std::span<at::Tensor> out) {
      out[0] = kernels::nearest2d(in[x], places);
    };
  }
  return [x, down = kernels::linear_places(height, rows, call.flag(2)),
          across = kernels::linear_places(width, columns, call.flag(2))](std::span<const at::Tensor> in,
                                                                         std::span<at::Tensor> out) {
    out[0] = kernels::bilinear2d(in[x], down, across);
  };
}

std::vector<Sample> samples(std::int64_t members) {
  const auto i = ints_argument;
  const Argument x{ValueRef{0}}, factors{Argument::List{{2.0}, {1.5}}};
  return {
      {"bilinear by factors", "aten.upsample_bilinear2d.vec", {x, {}, {false}, factors}, {{{2, 3, 4, 6}}}},
      {"bilinear by size",
       "aten.upsample_bilinear2d.default",
       {x, i({7, 5}), {true}, {}, {}},
       {{{2, 3, 4, 6}}}},
      {"nearest", "aten.upsample_nearest2d.vec", {x, {}, factors}, {{{2, 3, 4, 6}}}},
      {"nearest by size", "aten.upsample_nearest2d.default", {x, i({3, 11}), {}, {}}, {{{2, 3, 4, 6}}}},
      {"nearest, exact", "aten._upsample_nearest_exact2d.default", {x, i({3, 11}), {}, {}}, {{{2, 3, 4, 6}}}},
      {"bilinear, smaller, by corners",
       "aten.upsample_bilinear2d.default",
       {x, i({3, 11}), {true}, {}, {}},
       {{{2, 3, 4, 6}}}},
      {"bilinear with a factor that is not the size's",
       "aten.upsample_bilinear2d.default",
       {x, i({7, 5}), {false}, {1.9}, {0.9}},
       {{{2, 3, 4, 6}}}},
      {"nearest 1d", "aten.upsample_nearest1d.default", {x, i({9}), {}}, {{{2, 3, 6}}}},
      {"nearest 3d", "aten.upsample_nearest3d.default", {x, i({5, 6, 7}), {}, {}, {}}, {{{2, 3, 4, 5, 6}}}},
      {"bicubic", "aten.upsample_bicubic2d.default", {x, i({7, 5}), {false}, {}, {}}, {{{2, 3, 4, 6}}}},
      {"linear", "aten.upsample_linear1d.default", {x, i({9}), {false}, {}}, {{{2, 3, 6}}}},
      {"im2col", "aten.im2col.default", {x, i({2, 3}), i({1, 1}), i({1, 0}), i({1, 2})}, {{{2, 3, 4, 7}}}},
      {"col2im",
       "aten.col2im.default",
       {x, i({4, 6}), i({2, 2}), i({1, 1}), i({0, 0}), i({2, 2})},
       {{{2, 12, 6}}}},
      {"channel shuffle", "aten.channel_shuffle.default", {x, {std::int64_t{3}}}, {{{2, 6, 4, 5}}}},
      {"B equals N", "aten.upsample_bilinear2d.vec", {x, {}, {true}, factors}, {{{members, members, 4, 6}}}},
  };
}

std::vector<std::string_view> ops() {
  std::vector<std::string_view> names;
  for (const auto& rule : kRules) names.push_back(rule.op);
  return names;
}

}  // namespace

Primitive image() {
  return {"image", ops(),
          nullptr, {{"batched", ask, prepare}, own_kernel("planes", ask_planes, prepare_planes)},
          nullptr, samples};
}

}  // namespace wide::image_primitive
