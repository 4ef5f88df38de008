#pragma once
// Max pooling of planes without a branch that depends on the numbers: ATen's guesses wrong on every other one
// of them.

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

}  // namespace wide::kernels
