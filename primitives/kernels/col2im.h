#pragma once
// Columns of patches added up to images, as at::col2im, on all threads and with the bias.

#include <ATen/core/Tensor.h>

#include <array>
#include <cstdint>

namespace wide::kernels {

/// Sizes of height and width.
struct Patches {
  std::array<std::int64_t, 2> input, output, kernel, stride, padding, dilation;
};

/// y[p] = bias[p] + the sum of what `columns` [P, kernel, input] has for each place; y [P, output]; all dense
/// float32, `bias` [P] or undefined. Not differentiable.
at::Tensor add_patches(const at::Tensor& columns, const at::Tensor& bias, const Patches& patches);

}  // namespace wide::kernels
