// Wide reductions: over given axes of each member, or over all of a member.
#include <ATen/ATen.h>

#include <algorithm>
#include <array>
#include <numeric>
#include <optional>
#include <unordered_map>

#include "primitives/kernels/reduce.h"
#include "primitives/support.h"

namespace wide::reduction_primitive {
namespace {

// Reductions whose second argument is the axes: None or [] means all.
constexpr std::string_view kAlong[] = {"aten.sum.dim_IntList",
                                       "aten.mean.dim",
                                       "aten.amax.default",
                                       "aten.amin.default",
                                       "aten.std.correction",
                                       "aten.var.correction",
                                       "aten.std.dim",
                                       "aten.var.dim",
                                       "aten.std_mean.dim",
                                       "aten.var_mean.dim",
                                       "aten.frobenius_norm.dim",
                                       "aten.special_logsumexp.default",
                                       "aten.logsumexp.default",
                                       "aten.any.dim",
                                       "aten.all.dim",
                                       "aten.any.dims",
                                       "aten.all.dims",
                                       "aten.prod.dim_int",
                                       "aten.argmax.default",
                                       "aten.argmin.default",
                                       "aten.max.dim",
                                       "aten.min.dim",
                                       "aten.median.dim",
                                       "aten.nanmedian.dim",
                                       "aten.nansum.default",
                                       "aten.nanmean.default",
                                       "aten.mode.default",
                                       "aten.count_nonzero.dim_IntList",
                                       "aten.std_mean.correction",
                                       "aten.var_mean.correction"};

// Reductions of everything, and the form that takes axes: (x, dim, keepdim) unless a dtype follows.
const std::unordered_map<std::string_view, std::string_view>& whole() {
  static const std::unordered_map<std::string_view, std::string_view> table = {
      {"aten.sum.default", "aten.sum.dim_IntList"}, {"aten.mean.default", "aten.mean.dim"},
      {"aten.max.default", "aten.amax.default"},    {"aten.min.default", "aten.amin.default"},
      {"aten.any.default", "aten.any.dim"},         {"aten.all.default", "aten.all.dim"},
      {"aten.prod.default", "aten.prod.dim_int"},   {"aten.std.default", "aten.std.dim"},
      {"aten.var.default", "aten.var.dim"}};
  return table;
}

// Of x, the order, axes, keepdim, …
constexpr std::array kNorms = std::to_array<std::string_view>(
    {"aten.norm.ScalarOpt_dim", "aten.norm.ScalarOpt_dim_dtype", "aten.linalg_vector_norm.default",
     "aten.linalg_norm.default", "aten.linalg_matrix_norm.default"});

std::size_t dim_argument(const Call& call) {
  return std::find(kNorms.begin(), kNorms.end(), call.node.op) == kNorms.end() ? 1 : 2;
}

bool is_whole(const Call& call) {
  return whole().contains(call.node.op);
}

bool takes_one_axis(const Call& call) {
  return call.node.op == "aten.argmax.default" || call.node.op == "aten.argmin.default";
}

Answer ask(const Call& call) {
  if (call.operands.size() != 1) return refuse("the input is a constant");
  const auto rank = call.operands[0].type.rank();
  if (rank == 0) return refuse("the input is a number");
  if (call.node.op == "aten.linalg_norm.default" && call.is_none(2))
    return refuse("no axes are given: what is meant depends on the rank");
  const bool truth = call.node.op == "aten.any.dims" || call.node.op == "aten.all.dims";
  if (truth && !call.is_none(1) && call.integers(1).empty()) return refuse("no axis is reduced");
  Answer answer = offer(uniform_offer(call, Layout::kFront));
  if (!is_whole(call) && call.results[0].rank() >= 2 && dims_at_least(call, dim_argument(call), 2)) {
    answer.offers.push_back(uniform_offer(call, Layout::kPacked));
  }
  return answer;
}

// A member flattened, reduced along that one axis.
Kernel prepare_whole(const Call& call) {
  Node wide;
  wide.op = whole().at(call.node.op);
  const bool has_dtype =
      wide.op == "aten.sum.dim_IntList" || wide.op == "aten.mean.dim" || wide.op == "aten.prod.dim_int";
  const bool has_unbiased = wide.op == "aten.std.dim" || wide.op == "aten.var.dim";
  const bool one_axis =
      wide.op == "aten.any.dim" || wide.op == "aten.all.dim" || wide.op == "aten.prod.dim_int";
  wide.arguments = {call.node.arguments[0], one_axis ? Argument{std::int64_t{1}} : ints_argument({1})};
  if (has_unbiased) wide.arguments.push_back(call.node.arguments[1]);
  wide.arguments.push_back({false});
  if (has_dtype) wide.arguments.push_back(call.node.arguments[1]);
  return boxed(call, std::move(wide), [](std::size_t, const at::Tensor& x) { return x.flatten(1); });
}

Kernel prepare(const Call& call, const Offer& offer) {
  if (is_whole(call)) return prepare_whole(call);
  if (offer.results[0] != Layout::kFront) return boxed(call, call.node);
  const auto index = dim_argument(call);
  const auto rank = call.operands[0].type.rank();
  if (!call.integers(index).empty()) return boxed(call, shift_dims(call.node, index));
  auto wide = call.node;
  if (!takes_one_axis(call)) {
    std::vector<std::int64_t> all(static_cast<std::size_t>(rank));
    std::iota(all.begin(), all.end(), 1);
    wide.arguments[index] = ints_argument(all);
    return boxed(call, std::move(wide));
  }
  // argmax over everything counts in the flattened member; keepdim keeps every axis.
  wide.arguments[index] = {std::int64_t{1}};
  wide.arguments[2] = {false};
  const auto run =
      boxed(call, std::move(wide), [](std::size_t, const at::Tensor& x) { return x.flatten(1); });
  const auto shape = physical_shape(call.results[0], Layout::kFront, call.members);
  return [run, shape](std::span<const at::Tensor> in, std::span<at::Tensor> out) {
    run(in, out);
    out[0] = out[0].reshape(shape);
  };
}

// The first axis of a member, and how many from it on, that a sum or mean is over; nothing where they are no
// neighbours.
std::optional<std::pair<std::int64_t, std::int64_t>> neighbours(const Call& call) {
  auto axes = is_whole(call) || call.is_none(1) ? std::vector<std::int64_t>() : call.integers(1);
  if (axes.empty()) return std::pair(std::int64_t{0}, call.operands[0].type.rank());
  std::ranges::sort(axes);
  for (std::size_t i = 1; i < axes.size(); ++i)
    if (axes[i] != axes[i - 1] + 1) return std::nullopt;
  return std::pair(axes.front(), std::ssize(axes));
}

// Sums and means of float32 by a kernel of our own.
Answer ask_one_pass(const Call& call) {
  constexpr auto kSums = std::to_array<std::string_view>(
      {"aten.sum.default", "aten.sum.dim_IntList", "aten.mean.default", "aten.mean.dim"});
  if (std::ranges::find(kSums, call.node.op) == kSums.end())
    return refuse("only sums and means have such a kernel");
  auto answer = ask(call);
  if (answer.offers.empty()) return answer;
  const auto& x = call.operands[0].type;
  if (x.dtype != at::kFloat || call.results[0].dtype != at::kFloat)
    return refuse("only float32 has such a kernel");
  if (x.elements() == 0) return refuse("the input is empty");
  if (!neighbours(call)) return refuse("the axes are no neighbours");
  return offer(answer.offers[0]);
}

Kernel prepare_one_pass(const Call& call, const Offer&) {
  const auto [first, count] = *neighbours(call);
  const auto shape = physical_shape(call.results[0], Layout::kFront, call.members);
  return [=, mean = call.node.op.starts_with("aten.mean")](std::span<const at::Tensor> in,
                                                           std::span<at::Tensor> out) {
    out[0] = kernels::sum_along(in[0], first + 1, count, mean).view(shape);
  };
}

std::vector<Sample> samples(std::int64_t members) {
  const auto i = ints_argument;
  const Argument x{ValueRef{0}}, one{std::int64_t{1}};
  return {
      {"sum", "aten.sum.dim_IntList", {x, i({1}), {false}, {}}, {{{5, 7}}}},
      {"sum, two axes, keepdim", "aten.sum.dim_IntList", {x, i({0, 2}), {true}, {}}, {{{5, 7, 4}}}},
      {"sum over all axes", "aten.sum.dim_IntList", {x, {}, {false}, {}}, {{{5, 7}}}},
      {"mean over the image", "aten.mean.dim", {x, i({2, 3}), {false}, {}}, {{{2, 3, 4, 5}}}},
      {"mean over the image, axes kept", "aten.mean.dim", {x, i({2, 3}), {true}, {}}, {{{2, 3, 4, 5}}}},
      {"mean of long rows", "aten.mean.dim", {x, i({1, 2}), {false}, {}}, {{{3, 11, 23}}}},
      {"sum of the middle", "aten.sum.dim_IntList", {x, i({1}), {true}, {}}, {{{3, 71, 5}}}},
      {"amax", "aten.amax.default", {x, i({0}), {false}}, {{{5, 7}}}},
      {"variance", "aten.var.correction", {x, i({1}), {std::int64_t{1}}, {true}}, {{{5, 7}}}},
      {"whole sum", "aten.sum.default", {x, {}}, {{{5, 7}}}},
      {"whole mean", "aten.mean.default", {x, {}}, {{{5, 7}}}},
      {"whole max", "aten.max.default", {x}, {{{5, 7}}}},
      {"whole any", "aten.any.default", {x}, {{{5, 7}, true, at::kBool, 2}}},
      {"whole std", "aten.std.default", {x, {true}}, {{{5, 7}}}},
      {"argmax", "aten.argmax.default", {x, one, {false}}, {{{5, 7}}}},
      {"argmax of all", "aten.argmax.default", {x, {}, {false}}, {{{5, 7}}}},
      {"max with indices", "aten.max.dim", {x, one, {false}}, {{{5, 7}}}},
      {"norm", "aten.linalg_vector_norm.default", {x, {2.0}, i({1}), {true}, {}}, {{{5, 7}}}},
      {"matrix norm", "aten.linalg_norm.default", {x, {1.0}, i({0, 2}), {false}, {}}, {{{5, 3, 7}}}},
      {"variance and mean", "aten.var_mean.dim", {x, i({1}), {true}, {false}}, {{{5, 7}}}},
      {"logsumexp", "aten.logsumexp.default", {x, i({1}), {false}}, {{{5, 7}}}},
      {"sum of integers", "aten.sum.dim_IntList", {x, i({1}), {false}, {}}, {{{5, 7}, true, at::kLong}}},
      {"B equals N", "aten.mean.dim", {x, i({0}), {false}, {}}, {{{members, 7}}}},
  };
}

std::vector<std::string_view> ops() {
  std::vector<std::string_view> names(std::begin(kAlong), std::end(kAlong));
  for (const auto& [op, twin] : whole()) names.push_back(op);
  names.insert(names.end(), kNorms.begin(), kNorms.end());
  return names;
}

}  // namespace

Primitive reduction() {
  return {"reduction", ops(),
          nullptr,     {{"batched", ask, prepare}, own_kernel("one_pass", ask_one_pass, prepare_one_pass)},
          nullptr,     samples};
}

}  // namespace wide::reduction_primitive
