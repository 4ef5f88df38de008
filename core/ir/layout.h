#pragma once
// Where the model axis N lies in a tensor, and how to move it.

#include <ATen/core/Tensor.h>

#include <array>
#include <cstdint>
#include <optional>
#include <string_view>

#include "core/ir/graph.h"

namespace wide {

/// For a logical (one member's) shape [d0, d1, d2, …]:
enum class Layout : std::uint8_t {
  kShared,  ///< [d0, d1, …]       one tensor for all members
  kFront,   ///< [N, d0, d1, …]    model axis in front
  kFolded,  ///< [N*d0, d1, …]     folded into the first axis: batch of activations, output channels of
            ///< weights
  kPacked,  ///< [d0, N*d1, …]     packed into the channels
  // Images and volumes (rank 4 and 5) with their channels innermost in memory; the shapes are as above.
  kFoldedLast,  ///< [N*d0, d1, …]
  kPackedLast,  ///< [d0, N*d1, …]
};

/// Every layout of a value that differs per member.
inline constexpr std::array kMappedLayouts = {Layout::kFront, Layout::kFolded, Layout::kPacked,
                                              Layout::kFoldedLast, Layout::kPackedLast};

/// "shared", "front", "folded", "packed", "folded_last", "packed_last".
std::string_view name(Layout layout);

/// The layout of the name, or nothing.
std::optional<Layout> find_layout(std::string_view name);

/// Channels are innermost in memory.
inline bool is_last(Layout layout) {
  return layout == Layout::kFoldedLast || layout == Layout::kPackedLast;
}
/// The layout of the same shape with the axes in memory in the order of the shape.
inline Layout without_last(Layout layout) {
  if (layout == Layout::kFoldedLast) return Layout::kFolded;
  return layout == Layout::kPackedLast ? Layout::kPacked : layout;
}
/// What tensors of `layout` and `rank` axes are dense in.
at::MemoryFormat memory_format(Layout layout, std::int64_t rank);

/// The shape that a tensor of logical type `type` has in `layout`.
std::vector<std::int64_t> physical_shape(const ConcreteType& type, Layout layout, std::int64_t members);

/// False where the logical rank does not fit the layout.
bool can_hold(Layout layout, const ConcreteType& type);

/// True when convert() of a dense tensor moves no data: both layouts put every number in the same place, or a
/// shared tensor is stood beside itself by a zero stride.
bool is_free(Layout from, Layout to, const ConcreteType& type, std::int64_t members);

/// `tensor` of logical type `type` from one layout to another: a view where is_free(), else a dense copy, so
/// that no later kernel pays for odd strides. kShared as target is an error.
at::Tensor convert(const at::Tensor& tensor, Layout from, Layout to, const ConcreteType& type,
                   std::int64_t members);

/// One member's tensor, a view: [d0, d1, …].
at::Tensor member_view(const at::Tensor& tensor, Layout layout, const ConcreteType& type, std::int64_t member,
                       std::int64_t members);

}  // namespace wide
