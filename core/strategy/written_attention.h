#pragma once
// Attention as models write it out, as one operator made of ATen's own:
//
//   wide::written_attention(q, keys, v, added, masked, value, scale)
//     = softmax(masked_fill(q · keys · scale + added, masked, value)) · v
//
// q [..., L, E], keys [..., E, S], v [..., S, V]; added and masked are none, or broadcast to [..., L, S].
// Unlike scaled_dot_product_attention, what sees no key is NaN, and `value` may be any number.

#include <ATen/core/Tensor.h>

#include <optional>
#include <string_view>

namespace wide {

inline constexpr std::string_view kWrittenAttention = "wide.written_attention.default";

at::Tensor written_attention(const at::Tensor& q, const at::Tensor& keys, const at::Tensor& v,
                             const std::optional<at::Tensor>& added, const std::optional<at::Tensor>& masked,
                             double value, double scale);

}  // namespace wide
