#pragma once
// Pooling of planes without a branch that depends on the numbers, a row of windows at a time: ATen takes one
// window after the other, and its maximum guesses wrong on every other number.

#include <ATen/core/Tensor.h>

#include <array>
#include <cstdint>

namespace wide::kernels {

struct Window {  ///< rows, columns
  std::array<std::int64_t, 2> size, stride, padding, dilation;
};

/// How planes lie in memory.
enum class Order {
  kPlanes,        ///< x [..., H, W], the result [..., rows, columns], one plane after the other
  kChannelsLast,  ///< x [B, C, H, W] and the result [B, C, rows, columns], the channels of a place side by
                  ///< side
};

/// The largest number of each window; a NaN in it wins. float32 on the CPU. Not differentiable.
at::Tensor max_pool2d(const at::Tensor& x, const Window& window, std::int64_t rows, std::int64_t columns,
                      Order order);

/// The sum of each window over `divisor`, or, where that is 0, over how many numbers lie in it; with
/// `counts_padding` those of the padding count too. Shapes as above; no dilation.
at::Tensor avg_pool2d(const at::Tensor& x, const Window& window, std::int64_t rows, std::int64_t columns,
                      bool counts_padding, std::int64_t divisor, Order order);

/// Means of windows that share out the plane: along an axis of E numbers, window i of n has those from
/// floor(i E / n) to ceil((i + 1) E / n). Planes in order; H and W are not 0.
at::Tensor adaptive_avg_pool2d(const at::Tensor& x, std::int64_t rows, std::int64_t columns);

}  // namespace wide::kernels
