// Wide operators that work along one axis and keep the others: scans, sorting, gathering, rolling, …
// Every mapped operand has the model axis in front and the axis moves by one.
#include <algorithm>
#include <array>
#include <numeric>

#include "primitives/support.h"

namespace wide::along_dim_primitive {
namespace {

struct Rule {
  std::string_view op;
  std::size_t dim;  ///< argument that holds the axis or axes
  bool same_rank;   ///< all tensor operands have the first one's rank and broadcast nowhere
};

constexpr std::array kRules = {
    Rule{"aten.cumsum.default", 1, true},
    Rule{"aten.cumprod.default", 1, true},
    Rule{"aten.logcumsumexp.default", 1, true},
    Rule{"aten.cummax.default", 1, true},
    Rule{"aten.cummin.default", 1, true},
    Rule{"aten.sort.default", 1, true},
    Rule{"aten.sort.stable", 2, true},
    Rule{"aten.argsort.default", 1, true},
    Rule{"aten.argsort.stable", 2, true},
    Rule{"aten.linalg_vecdot.default", 2, true},
    Rule{"aten.topk.default", 2, true},
    Rule{"aten.kthvalue.default", 2, true},
    Rule{"aten.flip.default", 1, true},
    Rule{"aten.roll.default", 2, true},
    Rule{"aten.gather.default", 1, true},
    Rule{"aten.scatter.src", 1, true},
    Rule{"aten.scatter.value", 1, true},
    Rule{"aten.scatter_add.default", 1, true},
    Rule{"aten.glu.default", 1, true},
    Rule{"aten.diff.default", 2, true},
    Rule{"aten.select_scatter.default", 2, false},
    Rule{"aten.slice_scatter.default", 2, true},
    Rule{"aten.repeat_interleave.self_int", 2, true},
    Rule{"aten.unfold.default", 1, true},
    Rule{"aten.cosine_similarity.default", 2, true},
    Rule{"aten.take_along_dim.default", 2, true},
    Rule{"aten.scatter_reduce.two", 1, true},
    Rule{"aten.scatter.reduce", 1, true},
    Rule{"aten.scatter.value_reduce", 1, true},
    Rule{"aten.linalg_cross.default", 2, true},
    Rule{"aten.fft_fft.default", 2, true},
    Rule{"aten.fft_ifft.default", 2, true},
    Rule{"aten.fft_rfft.default", 2, true},
    Rule{"aten.fft_irfft.default", 2, true},
    Rule{"aten.fft_fft2.default", 2, true},
    Rule{"aten.fft_ifft2.default", 2, true},
    Rule{"aten.fft_rfft2.default", 2, true},
    Rule{"aten.fft_irfft2.default", 2, true},
    Rule{"aten.fft_fftn.default", 2, true},
    Rule{"aten.fft_ifftn.default", 2, true},
    Rule{"aten.fft_rfftn.default", 2, true},
    Rule{"aten.fft_irfftn.default", 2, true},
    Rule{"aten.fft_hfft.default", 2, true},
    Rule{"aten.fft_ihfft.default", 2, true},
    Rule{"aten._fft_r2c.default", 1, true},
    Rule{"aten._fft_c2r.default", 1, true},
    Rule{"aten._fft_c2c.default", 1, true},
    Rule{"aten.fft_fftshift.default", 1, true},
    Rule{"aten.fft_ifftshift.default", 1, true},
    Rule{"aten.rot90.default", 2, true},
    Rule{"aten.diagonal.default", 2, true},
    Rule{"aten.diag_embed.default", 2, true},
};

const Rule& rule_of(const Call& call) {
  return *std::find_if(kRules.begin(), kRules.end(),
                       [&](const Rule& rule) { return rule.op == call.node.op; });
}

// Of a Fourier transform or a shift without axes and without lengths, all are meant.
bool means_every_axis(const Call& call) {
  if (!call.node.op.starts_with("aten.fft_") || !call.integers(rule_of(call).dim).empty()) return false;
  return rule_of(call).dim == 1 || call.is_none(1);
}

Answer ask(const Call& call) {
  const auto& rule = rule_of(call);
  if (call.operands.empty()) return refuse("the operands are constants");
  const auto rank = call.operands[0].type.rank();
  if (rank == 0) return refuse("the input is a number");
  if (call.integers(rule.dim).empty() && !means_every_axis(call))
    return refuse("no axis is given: the flattened tensor is meant");
  for (const auto& operand : call.operands) {
    if (rule.same_rank && operand.type.rank() != rank) return refuse("the operands' ranks differ");
  }
  // Shared operands become mapped by a zero stride: these operators do not broadcast.
  auto one = uniform_offer(call, Layout::kFront);
  std::fill(one.operands.begin(), one.operands.end(), Layout::kFront);
  return offer(std::move(one));
}

Kernel prepare(const Call& call, const Offer&) {
  const auto dim = rule_of(call).dim;
  auto wide = shift_dims(call.node, dim);
  if (means_every_axis(call)) {
    std::vector<std::int64_t> all(static_cast<std::size_t>(call.operands[0].type.rank()));
    std::iota(all.begin(), all.end(), 1);
    wide.arguments[dim] = ints_argument(all);
  }
  if (call.node.op.starts_with("aten.diag")) wide = shift_dims(std::move(wide), 3);  // dim2
  return boxed(call, std::move(wide));
}

std::vector<Sample> samples(std::int64_t members) {
  const auto i = ints_argument;
  const Argument x{ValueRef{0}}, y{ValueRef{1}}, z{ValueRef{2}}, zero{std::int64_t{0}}, one{std::int64_t{1}},
      two{std::int64_t{2}};
  const SampleOperand index{{2, 7}, true, at::kLong, 5};
  return {
      {"cumsum", "aten.cumsum.default", {x, one, {}}, {{{5, 7}}}},
      {"sort", "aten.sort.default", {x, zero, {true}}, {{{5, 7}}}},
      {"topk", "aten.topk.default", {x, two, one, {true}, {true}}, {{{5, 7}}}},
      {"flip", "aten.flip.default", {x, i({0, 1})}, {{{5, 7}}}},
      {"roll", "aten.roll.default", {x, i({2}), i({1})}, {{{5, 7}}}},
      {"gather", "aten.gather.default", {x, zero, y, {false}}, {{{5, 7}}, index}},
      {"gather, shared index",
       "aten.gather.default",
       {x, zero, y, {false}},
       {{{5, 7}}, {{2, 7}, false, at::kLong, 5}}},
      {"fft over all axes", "aten.fft_fftn.default", {x, {}, {}, {}}, {{{5, 7}}}},
      {"fft shift", "aten.fft_fftshift.default", {x, {}}, {{{5, 7}}}},
      {"real fft", "aten.fft_rfftn.default", {x, {}, i({0, 1}), {}}, {{{5, 7}}}},
      {"vecdot", "aten.linalg_vecdot.default", {x, y, one}, {{{5, 7}}, {{5, 7}}}},
      {"glu", "aten.glu.default", {x, one}, {{{5, 8}}}},
      {"take_along_dim", "aten.take_along_dim.default", {x, y, zero}, {{{5, 7}}, index}},
      {"scatter_reduce",
       "aten.scatter_reduce.two",
       {x, zero, y, z, {std::string("amax")}, {true}},
       {{{5, 7}}, index, {{2, 7}}}},
      {"diagonal", "aten.diagonal.default", {x, one, zero, two}, {{{5, 3, 7}}}},
      {"diag_embed", "aten.diag_embed.default", {x, zero, one, two}, {{{5, 7}}}},
      {"unfold", "aten.unfold.default", {x, one, {std::int64_t{3}}, two}, {{{5, 7}}}},
      {"diff", "aten.diff.default", {x, one, one, {}, {}}, {{{5, 7}}}},
      {"repeat_interleave", "aten.repeat_interleave.self_int", {x, two, one, {}}, {{{5, 7}}}},
      {"select_scatter", "aten.select_scatter.default", {x, y, one, two}, {{{5, 7}}, {{5}}}},
      {"slice_scatter",
       "aten.slice_scatter.default",
       {x, y, one, one, {std::int64_t{3}}, one},
       {{{5, 7}}, {{5, 2}}}},
      {"B equals N", "aten.cumsum.default", {x, zero, {}}, {{{members, 7}}}},
  };
}

std::vector<std::string_view> ops() {
  std::vector<std::string_view> names;
  for (const auto& rule : kRules) names.push_back(rule.op);
  return names;
}

}  // namespace

Primitive along_dim() {
  return {"along_dim", ops(), nullptr, {{"batched", ask, prepare}}, nullptr, samples};
}

}  // namespace wide::along_dim_primitive
