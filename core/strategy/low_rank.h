#pragma once
// What an adapter does to its layer: wide::add_matmul(c, a, b, alpha) = c + alpha · a · b, as one operator,
// made of ATen's own for gradients and for every device.

#include <string_view>

namespace wide {

inline constexpr std::string_view kAddMatmul = "wide.add_matmul.default";
/// Above so many columns of a, a product is no change of low rank but a layer of its own.
inline constexpr int kMostRank = 64;

}  // namespace wide
