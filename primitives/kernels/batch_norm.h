#pragma once
// Batch norm by the statistics of the batch, each channel read from memory once: ATen reads it three times.

#include <ATen/core/Tensor.h>

namespace wide::kernels {

struct BatchNorm {
  at::Tensor y, mean, invstd;            ///< like x; [N, C] each
  at::Tensor running_mean, running_var;  ///< [N, C], moved; undefined where none were given
};

/// Numbers in a row of a channel below which ATen's own kernel is the better one.
inline constexpr std::int64_t kShortestRow = 16;

/// x [N, B, C, …] float32 on the CPU; weight, bias, running statistics [N, C] or [1, C] float32, or
/// undefined. Sums are float64, as ATen's. Not differentiable.
BatchNorm batch_norm(const at::Tensor& x, const at::Tensor& weight, const at::Tensor& bias,
                     const at::Tensor& running_mean, const at::Tensor& running_var, double momentum,
                     double eps);

}  // namespace wide::kernels
