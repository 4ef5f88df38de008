#pragma once
// Where the model axis N lies in a tensor, and how to move it.

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <string_view>

#include "core/graph.h"

namespace wide {

/// For a logical (one member's) shape [d0, d1, d2, …]:
enum class Layout : std::uint8_t {
  kShared,  ///< [d0, d1, …]       one tensor for all members
  kFront,   ///< [N, d0, d1, …]    model axis in front
  kFolded,  ///< [N*d0, d1, …]     folded into the first axis: batch of activations, output channels of
            ///< weights
  kPacked,  ///< [d0, N*d1, …]     packed into the channels
};

/// "shared", "front", "folded", "packed".
std::string_view name(Layout layout);

/// The shape that a tensor of logical type `type` has in `layout`.
std::vector<std::int64_t> physical_shape(const ConcreteType& type, Layout layout, std::int64_t members);

/// False where the logical rank is too small for the layout.
bool can_hold(Layout layout, const ConcreteType& type);

/// True when convert() moves no data: views, and one member's copy stood beside itself by a zero stride.
bool is_free(Layout from, Layout to, const ConcreteType& type, std::int64_t members);

/// `tensor` of logical type `type` from one layout to another; a view where possible. kShared as target is an
/// error.
at::Tensor convert(const at::Tensor& tensor, Layout from, Layout to, const ConcreteType& type,
                   std::int64_t members);

/// One member's tensor, a view: [d0, d1, …].
at::Tensor member_view(const at::Tensor& tensor, Layout layout, const ConcreteType& type, std::int64_t member,
                       std::int64_t members);

}  // namespace wide
