// Wide reshape, permute, expand, slice, select: the same view with the model axis in front, or in the
// channels where the first two axes keep their places.
#include <algorithm>
#include <array>

#include "primitives/support.h"

namespace wide::reshape_primitive {
namespace {

// The wide node for a layout, or nothing where the layout does not allow it.
using Rewrite = std::optional<Node> (*)(const Call& call, Layout layout);

std::optional<Node> reshape_node(const Call& call, Layout layout) {
  const auto& from = call.operands[0].type;
  const auto& to = call.results[0];
  auto wide = call.node;
  if (layout == Layout::kPacked) {
    // [B, N·C, …] keeps N outermost in what follows B.
    if (from.rank() < 2 || to.rank() < 2 || from.shape[0] != to.shape[0]) return std::nullopt;
  }
  wide.arguments[1] = ints_argument(physical_shape(to, layout, call.members));
  return wide;
}

std::optional<Node> expand_node(const Call& call, Layout layout) {
  if (layout != Layout::kFront) return std::nullopt;
  auto wide = call.node;
  wide.arguments[1] = ints_argument(physical_shape(call.results[0], layout, call.members));
  return wide;
}

std::optional<Node> permute_node(const Call& call, Layout layout) {
  auto order = call.integers(1);
  if (layout == Layout::kPacked) {
    if (order.size() < 2 || order[0] != 0 || order[1] != 1) return std::nullopt;
    return call.node;
  }
  for (auto& dim : order) ++dim;
  order.insert(order.begin(), 0);
  auto wide = call.node;
  wide.arguments[1] = ints_argument(order);
  return wide;
}

// slice(x, dim, …), select(x, dim, index)
std::optional<Node> cut_node(const Call& call, Layout layout) {
  if (layout == Layout::kFront) return shift_dims(call.node, 1);
  const auto dim = call.integer(1);
  if (dim == 1 || (dim == 0 && call.node.op == "aten.select.int")) return std::nullopt;
  return call.node;
}

std::optional<Node> same_node(const Call& call, Layout layout) {
  if (layout == Layout::kPacked && call.operands[0].type.rank() < 3) return std::nullopt;
  return call.node;
}

// Of matrices: their two axes are the last ones.
std::optional<Node> matrix_node(const Call& call, Layout layout) {
  if (layout == Layout::kPacked && call.operands[0].type.rank() < 4) return std::nullopt;
  return call.node;
}

struct Rule {
  std::string_view op;
  Rewrite rewrite;
};
constexpr std::array kRules = {
    Rule{"aten.reshape.default", reshape_node},
    Rule{"aten.expand.default", expand_node},
    Rule{"aten.permute.default", permute_node},
    Rule{"aten.slice.Tensor", cut_node},
    Rule{"aten.select.int", cut_node},
    Rule{"aten.view_as_complex.default", same_node},
    Rule{"aten.view_as_real.default", same_node},
    Rule{"aten.tril.default", matrix_node},
    Rule{"aten.triu.default", matrix_node},
};

Rewrite rewrite_of(const Call& call) {
  return std::find_if(kRules.begin(), kRules.end(), [&](const Rule& rule) { return rule.op == call.node.op; })
      ->rewrite;
}

Answer ask(const Call& call) {
  if (call.operands.size() != 1) return refuse("the input is a constant");
  Answer answer;
  for (const auto layout : {Layout::kFront, Layout::kPacked}) {
    if (!can_hold(layout, call.operands[0].type) || !can_hold(layout, call.results[0])) continue;
    if (!rewrite_of(call)(call, layout)) continue;
    auto one = uniform_offer(call, layout);
    one.cost = kNanosecondsPerCall;
    answer.offers.push_back(std::move(one));
  }
  return answer;
}

// expand needs ones between N and the logical axes that it adds.
Kernel prepare(const Call& call, const Offer& offer) {
  auto wide = *rewrite_of(call)(call, offer.results[0]);
  if (call.node.op != "aten.expand.default") return boxed(call, std::move(wide));
  const auto rank = call.results[0].rank();
  return boxed(call, std::move(wide), [rank, type = call.operands[0].type](std::size_t, const at::Tensor& x) {
    return align_front(x, type, rank);
  });
}

std::vector<Sample> samples(std::int64_t members) {
  const auto i = ints_argument;
  const Argument x{ValueRef{0}}, zero{std::int64_t{0}}, one{std::int64_t{1}}, two{std::int64_t{2}};
  return {
      {"reshape", "aten.reshape.default", {x, i({10, 14})}, {{{5, 7, 4}}}},
      {"flatten the image", "aten.reshape.default", {x, i({2, 60})}, {{{2, 3, 4, 5}}}},
      {"channels split", "aten.reshape.default", {x, i({2, 3, 2, 5})}, {{{2, 6, 5}}}},
      {"to a number", "aten.reshape.default", {x, i({})}, {{{1, 1}}}},
      {"permute", "aten.permute.default", {x, i({2, 0, 1})}, {{{5, 7, 4}}}},
      {"permute the image", "aten.permute.default", {x, i({0, 1, 3, 2})}, {{{2, 3, 4, 5}}}},
      {"expand", "aten.expand.default", {x, i({5, 7}), {false}}, {{{1, 7}}}},
      {"expand to more axes", "aten.expand.default", {x, i({3, 5, 7}), {false}}, {{{5, 1}}}},
      {"slice", "aten.slice.Tensor", {x, zero, one, {std::int64_t{4}}, two}, {{{5, 7}}}},
      {"slice the image", "aten.slice.Tensor", {x, two, one, {std::int64_t{4}}, one}, {{{2, 3, 5}}}},
      {"slice the batch", "aten.slice.Tensor", {x, zero, one, {std::int64_t{3}}, one}, {{{4, 3, 5}}}},
      {"select", "aten.select.int", {x, one, two}, {{{5, 7}}}},
      {"select of a vector", "aten.select.int", {x, zero, two}, {{{5}}}},
      {"select in the image", "aten.select.int", {x, two, one}, {{{2, 3, 5, 4}}}},
      {"triu", "aten.triu.default", {x, one}, {{{5, 7}}}},
      {"triu of a stack", "aten.triu.default", {x, zero}, {{{5, 3, 7}}}},
      {"tril of an image", "aten.tril.default", {x, zero}, {{{2, 3, 4, 5}}}},
      {"B equals N", "aten.permute.default", {x, i({1, 0})}, {{{members, members}}}},
  };
}

std::vector<std::string_view> ops() {
  std::vector<std::string_view> names;
  for (const auto& rule : kRules) names.push_back(rule.op);
  return names;
}

}  // namespace

Primitive reshape() {
  return {"reshape", ops(), nullptr, {{"passthrough", ask, prepare}}, nullptr, samples};
}

}  // namespace wide::reshape_primitive
