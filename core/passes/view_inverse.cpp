#include "core/passes/view_inverse.h"

#include <algorithm>
#include <array>
#include <numeric>

namespace wide {
namespace {

const Argument kParent{ValueRef{kInverseParent}};
const Argument kValue{ValueRef{kInverseValue}};

template <std::size_t N>
bool is_one_of(std::string_view op, const std::array<std::string_view, N>& names) {
  return std::find(names.begin(), names.end(), op) != names.end();
}

constexpr std::array<std::string_view, 13> kReshapes = {
    "aten.view.default",       "aten.reshape.default",    "aten._unsafe_view.default",
    "aten.flatten.using_ints", "aten.unflatten.int",      "aten.unsqueeze.default",
    "aten.squeeze.default",    "aten.squeeze.dim",        "aten.squeeze.dims",
    "aten.view_as.default",    "aten.reshape_as.default", "aten.ravel.default",
    "aten.atleast_1d.default"};

constexpr std::array<std::string_view, 11> kIdentities = {
    "aten.alias.default",      "aten.detach.default",  "aten.contiguous.default", "aten.to.dtype",
    "aten.to.device",          "aten.to.other",        "aten.to.dtype_layout",    "aten.dropout.default",
    "aten.lift_fresh.default", "aten.type_as.default", "aten.positive.default"};

Argument ints(const std::vector<std::int64_t>& values) {
  Argument::List items;
  for (const auto value : values) items.push_back({value});
  return {std::move(items)};
}

std::int64_t integer_argument(const Node& node, std::size_t index) {
  return std::get<std::int64_t>(node.arguments[index].value);
}

// No length or start is read out of a tensor.
bool has_numbers_only(const Node& node) {
  std::size_t uses = 0;
  for_each_use(node, [&](ValueId) { ++uses; });
  return uses == 1;
}

// Start and length of result `result` of split, split_with_sizes or chunk.
std::optional<std::pair<std::int64_t, std::int64_t>> part(const Node& view, std::size_t result,
                                                          std::int64_t extent) {
  const auto index = static_cast<std::int64_t>(result);
  if (view.op == "aten.split_with_sizes.default" || view.op == "aten.split.sizes") {
    const auto& sizes = *view.arguments[1].list();
    std::int64_t start = 0;
    for (std::int64_t i = 0; i < index; ++i)
      start += std::get<std::int64_t>(sizes[static_cast<std::size_t>(i)].value);
    return std::pair{start, std::get<std::int64_t>(sizes[result].value)};
  }
  auto length = integer_argument(view, 1);
  if (view.op == "aten.chunk.default") length = (extent + length - 1) / std::max<std::int64_t>(length, 1);
  const auto start = index * length;
  return std::pair{start, std::min(length, extent - start)};
}

std::vector<std::int64_t> inverse_permutation(const Node& view, std::int64_t rank) {
  const auto wrap = [&](std::int64_t dim) { return dim < 0 ? dim + rank : dim; };
  std::vector<std::int64_t> order(static_cast<std::size_t>(rank));
  std::iota(order.begin(), order.end(), 0);
  if (view.op == "aten.permute.default") {
    const auto& dims = *view.arguments[1].list();
    for (std::size_t i = 0; i < dims.size(); ++i) {
      order[static_cast<std::size_t>(wrap(std::get<std::int64_t>(dims[i].value)))] =
          static_cast<std::int64_t>(i);
    }
  } else if (view.op == "aten.transpose.int") {
    std::swap(order[static_cast<std::size_t>(wrap(integer_argument(view, 1)))],
              order[static_cast<std::size_t>(wrap(integer_argument(view, 2)))]);
  } else if (rank >= 2) {  // t, mT, numpy_T of a matrix
    std::swap(order[static_cast<std::size_t>(rank - 1)], order[static_cast<std::size_t>(rank - 2)]);
  }
  return order;
}

}  // namespace

std::optional<ViewInverse> invert_view(const Node& view, std::size_t result, const ConcreteType& parent) {
  constexpr std::array<std::string_view, 4> kPermutes = {"aten.permute.default", "aten.transpose.int",
                                                         "aten.t.default", "aten.mT.default"};
  constexpr std::array<std::string_view, 4> kSplits = {"aten.split.Tensor", "aten.split_with_sizes.default",
                                                       "aten.split.sizes", "aten.chunk.default"};
  const auto wrap = [&](std::int64_t dim) { return dim < 0 ? dim + parent.rank() : dim; };
  if (is_one_of(view.op, kIdentities)) return ViewInverse{"aten.alias.default", {kValue}};
  if (is_one_of(view.op, kReshapes)) return ViewInverse{"aten.reshape.default", {kValue, ints(parent.shape)}};
  if (is_one_of(view.op, kPermutes)) {
    return ViewInverse{"aten.permute.default", {kValue, ints(inverse_permutation(view, parent.rank()))}};
  }
  if (view.op == "aten.select.int") {
    return ViewInverse{"aten.select_scatter.default",
                       {kParent, kValue, view.arguments[1], view.arguments[2]}};
  }
  if (view.op == "aten.slice.Tensor") {
    return ViewInverse{
        "aten.slice_scatter.default",
        {kParent, kValue, view.arguments[1], view.arguments[2], view.arguments[3], view.arguments[4]}};
  }
  const bool counts = is_one_of(view.op, kSplits) || view.op == "aten.narrow.default";
  if (counts && !has_numbers_only(view)) return std::nullopt;
  if (view.op == "aten.narrow.default") {
    auto start = integer_argument(view, 2);
    if (start < 0) start += parent.shape[static_cast<std::size_t>(wrap(integer_argument(view, 1)))];
    return ViewInverse{"aten.slice_scatter.default",
                       {kParent,
                        kValue,
                        view.arguments[1],
                        {start},
                        {start + integer_argument(view, 3)},
                        {std::int64_t{1}}}};
  }
  if (is_one_of(view.op, kSplits)) {
    const auto dim = wrap(integer_argument(view, 2));
    const auto range = part(view, result, parent.shape[static_cast<std::size_t>(dim)]);
    if (!range) return std::nullopt;
    return ViewInverse{
        "aten.slice_scatter.default",
        {kParent, kValue, {dim}, {range->first}, {range->first + range->second}, {std::int64_t{1}}}};
  }
  if (view.op == "aten.unbind.int") {
    return ViewInverse{"aten.select_scatter.default",
                       {kParent, kValue, view.arguments[1], {static_cast<std::int64_t>(result)}}};
  }
  if (view.op == "aten.diagonal.default") {
    return ViewInverse{"aten.diagonal_scatter.default",
                       {kParent, kValue, view.arguments[1], view.arguments[2], view.arguments[3]}};
  }
  if (view.op == "aten.view_as_real.default") return ViewInverse{"aten.view_as_complex.default", {kValue}};
  if (view.op == "aten.view_as_complex.default") return ViewInverse{"aten.view_as_real.default", {kValue}};
  return std::nullopt;
}

}  // namespace wide
