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

/// The largest number of each window; a NaN in it wins. x [..., H, W] float32 on the CPU; the result
/// [..., rows, columns]. Not differentiable.
at::Tensor max_pool2d(const at::Tensor& x, const Window& window, std::int64_t rows, std::int64_t columns);

/// The sum of each window over `divisor`, or, where that is 0, over how many numbers lie in it; with
/// `counts_padding` those of the padding count too. Shapes as above; no dilation.
at::Tensor avg_pool2d(const at::Tensor& x, const Window& window, std::int64_t rows, std::int64_t columns,
                      bool counts_padding, std::int64_t divisor);

/// Means of windows that share out the plane: along an axis of E numbers, window i of n has those from
/// floor(i E / n) to ceil((i + 1) E / n). Shapes as above; H and W are not 0.
at::Tensor adaptive_avg_pool2d(const at::Tensor& x, std::int64_t rows, std::int64_t columns);

}  // namespace wide::kernels
