#include "core/layout.h"

#include <ATen/ATen.h>

namespace wide {

std::string_view name(Layout layout) {
  switch (layout) {
    case Layout::kShared:
      return "shared";
    case Layout::kFront:
      return "front";
    case Layout::kFolded:
      return "folded";
    case Layout::kPacked:
      return "packed";
  }
  return "?";
}

std::vector<std::int64_t> physical_shape(const ConcreteType& type, Layout layout, std::int64_t members) {
  auto shape = type.shape;
  switch (layout) {
    case Layout::kShared:
      break;
    case Layout::kFront:
      shape.insert(shape.begin(), members);
      break;
    case Layout::kFolded:
      shape.at(0) *= members;
      break;
    case Layout::kPacked:
      shape.at(1) *= members;
      break;
  }
  return shape;
}

bool can_hold(Layout layout, const ConcreteType& type) {
  if (layout == Layout::kFolded) return type.rank() >= 1;
  if (layout == Layout::kPacked) return type.rank() >= 2;
  return true;
}

bool is_free(Layout from, Layout to, const ConcreteType& type, std::int64_t members) {
  if (from == to || members == 1) return true;
  if (from == Layout::kShared) return to == Layout::kFront;
  const bool one_row = type.rank() >= 1 && type.shape[0] == 1;
  if (from == Layout::kPacked || to == Layout::kPacked) return one_row;
  return true;
}

at::Tensor convert(const at::Tensor& tensor, Layout from, Layout to, const ConcreteType& type,
                   std::int64_t members) {
  if (from == to) return tensor;
  TORCH_INTERNAL_ASSERT(to != Layout::kShared, "a mapped value cannot become shared");
  if (from == Layout::kPacked) {
    const auto front = tensor.unflatten(1, {members, type.shape[1]}).movedim(1, 0);
    return convert(front, Layout::kFront, to, type, members);
  }
  if (from == Layout::kFolded) {
    const auto front = tensor.unflatten(0, {members, type.shape[0]});
    return convert(front, Layout::kFront, to, type, members);
  }
  const auto front =
      from == Layout::kShared ? tensor.expand(physical_shape(type, Layout::kFront, members)) : tensor;
  switch (to) {
    case Layout::kFolded:
      return front.flatten(0, 1);
    case Layout::kPacked:
      return front.movedim(0, 1).flatten(1, 2);
    default:
      return front;
  }
}

at::Tensor member_view(const at::Tensor& tensor, Layout layout, const ConcreteType& type, std::int64_t member,
                       std::int64_t members) {
  TORCH_INTERNAL_ASSERT(member < members);
  switch (layout) {
    case Layout::kShared:
      return tensor;
    case Layout::kFront:
      return tensor.select(0, member);
    case Layout::kFolded:
      return tensor.narrow(0, member * type.shape[0], type.shape[0]);
    case Layout::kPacked:
      return tensor.narrow(1, member * type.shape[1], type.shape[1]);
  }
  return tensor;
}

}  // namespace wide
