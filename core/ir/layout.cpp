#include "core/ir/layout.h"

#include <ATen/ATen.h>

#include <algorithm>
#include <numeric>

#include "core/aten/dense_copy.h"
#include "core/ir/ragged.h"

namespace wide {

namespace {

struct Named {
  Layout layout;
  std::string_view name;
};
constexpr std::array kNames = {
    Named{Layout::kShared, "shared"},          Named{Layout::kFront, "front"},
    Named{Layout::kFolded, "folded"},          Named{Layout::kPacked, "packed"},
    Named{Layout::kFoldedLast, "folded_last"}, Named{Layout::kPackedLast, "packed_last"}};

// The axes of [N, d0, d1, …] in the order in which a layout has them in memory, outermost first.
std::vector<std::int64_t> memory_order(Layout layout, std::int64_t rank) {
  std::vector<std::int64_t> order(static_cast<std::size_t>(rank) + 1);
  std::iota(order.begin(), order.end(), 0);
  const auto to_end = [&](std::ptrdiff_t axis) {
    const auto at = std::find(order.begin(), order.end(), axis);
    std::rotate(at, at + 1, order.end());
  };
  if (layout == Layout::kPacked) std::swap(order[0], order[1]);
  if (layout == Layout::kFoldedLast) to_end(2);
  if (layout == Layout::kPackedLast) {
    to_end(0);
    to_end(2);
  }
  return order;
}

// Strides of [N, d0, d1, …] where a layout is dense; 0 along axes of one element, which may have any.
std::vector<std::int64_t> dense_strides(Layout layout, const ConcreteType& type, std::int64_t members) {
  auto shape = physical_shape(type, Layout::kFront, members);
  std::vector<std::int64_t> strides(shape.size(), 0);
  std::int64_t stride = 1;
  const auto order = memory_order(layout, type.rank());
  for (auto axis = order.rbegin(); axis != order.rend(); ++axis) {
    const auto at = static_cast<std::size_t>(*axis);
    if (shape[at] != 1) strides[at] = stride;
    stride *= shape[at];
  }
  return strides;
}

// [N, d0, d1, …], a view.
at::Tensor front_view(const at::Tensor& tensor, Layout from, const ConcreteType& type, std::int64_t members) {
  switch (without_last(from)) {
    case Layout::kShared:
      return tensor.expand(physical_shape(type, Layout::kFront, members));
    case Layout::kFolded:
      return tensor.unflatten(0, {members, type.shape[0]});
    case Layout::kPacked:
      return tensor.unflatten(1, {members, type.shape[1]}).movedim(1, 0);
    default:
      return tensor;
  }
}

}  // namespace

std::string_view name(Layout layout) {
  for (const auto& known : kNames) {
    if (known.layout == layout) return known.name;
  }
  return "?";
}

std::optional<Layout> find_layout(std::string_view name) {
  for (const auto& known : kNames) {
    if (known.name == name) return known.layout;
  }
  return std::nullopt;
}

at::MemoryFormat memory_format(Layout layout, std::int64_t rank) {
  if (!is_last(layout)) return at::MemoryFormat::Contiguous;
  return rank == 5 ? at::MemoryFormat::ChannelsLast3d : at::MemoryFormat::ChannelsLast;
}

std::vector<std::int64_t> physical_shape(const ConcreteType& type, Layout layout, std::int64_t members) {
  auto shape = type.shape;
  switch (without_last(layout)) {
    case Layout::kFront:
      shape.insert(shape.begin(), members);
      break;
    case Layout::kFolded:
      shape.at(0) *= members;
      break;
    case Layout::kPacked:
      shape.at(1) *= members;
      break;
    default:
      break;
  }
  return shape;
}

bool can_hold(Layout layout, const ConcreteType& type) {
  if (is_last(layout)) return type.rank() == 4 || type.rank() == 5;
  if (layout == Layout::kFolded) return type.rank() >= 1;
  if (layout == Layout::kPacked) return type.rank() >= 2;
  return true;
}

bool is_free(Layout from, Layout to, const ConcreteType& type, std::int64_t members) {
  if (from == to) return true;
  if (from == Layout::kShared) {
    if (to == Layout::kFront) return true;
    from = Layout::kFront;
    if (members != 1) return false;
  }
  return dense_strides(from, type, members) == dense_strides(to, type, members);
}

at::Tensor convert(const at::Tensor& tensor, Layout from, Layout to, const ConcreteType& type,
                   std::int64_t members) {
  if (from == to) return tensor;
  TORCH_INTERNAL_ASSERT(to != Layout::kShared, "a mapped value cannot become shared");
  const auto front = front_view(tensor, from, type, members);
  const auto shape = physical_shape(type, to, members);
  if (is_free(from, to, type, members)) {
    return to == Layout::kPacked || to == Layout::kPackedLast ? front.movedim(0, 1).reshape(shape)
                                                              : front.reshape(shape);
  }
  // One copy, into the order in memory; then the axes are named in the order of the shape.
  const auto dense = dense_copy(front.permute(memory_order(to, type.rank())));
  switch (to) {
    case Layout::kFolded:
    case Layout::kPacked:
      return dense.reshape(shape);
    case Layout::kFoldedLast:
      return dense.flatten(0, 1).movedim(-1, 1);
    case Layout::kPackedLast:
      return dense.flatten(-2, -1).movedim(-1, 1);
    default:
      return dense;
  }
}

at::Tensor member_view(const at::Tensor& tensor, Layout layout, const ConcreteType& type, std::int64_t member,
                       std::int64_t members) {
  TORCH_INTERNAL_ASSERT(member < members);
  switch (without_last(layout)) {
    case Layout::kFront:
      if (const auto each = each_member(tensor); !each.empty()) return each[static_cast<std::size_t>(member)];
      return tensor.select(0, member);
    case Layout::kFolded:
      return tensor.narrow(0, member * type.shape[0], type.shape[0]);
    case Layout::kPacked:
      return tensor.narrow(1, member * type.shape[1], type.shape[1]);
    default:
      return tensor;
  }
}

}  // namespace wide
