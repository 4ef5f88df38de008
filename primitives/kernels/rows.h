#pragma once
// Kernels of our own on rows of numbers, for the CPU: one pass where ATen needs several. Autograd does not
// see them.

#include <ATen/core/Tensor.h>

#include "primitives/kernels/activate.h"

namespace wide::kernels {

/// float32, float64 or bfloat16 on the CPU: what the kernels below take.
bool can_run_rows(at::ScalarType dtype);

/// `x` [N, …] without gaps; [1, …] where it is one tensor that stands for all members (a stride of 0).
/// Moments of that are computed once, and each member's result follows while the numbers are in the cache.
at::Tensor once_where_same(const at::Tensor& x);

/// y[n, b, c, s] = x[n, b, c, s] · scale[n, c] + shift[n, c]. x [N, B, C, …]; scale, shift [N, C] in x's
/// dtype.
at::Tensor scale_shift(const at::Tensor& x, const at::Tensor& scale, const at::Tensor& shift);

enum class Norm { kLayer, kRms, kGroup, kInstance };

/// Each row of D numbers less its mean (kLayer only), over its standard deviation or root mean square, then
/// · weight + bias. x [N, R, D]; weight, bias [N, D] or undefined, in x's dtype.
at::Tensor normalize_rows(const at::Tensor& x, const at::Tensor& weight, const at::Tensor& bias, double eps,
                          Norm norm);

/// Each group of C / groups channels less its mean, over its standard deviation, then · weight + bias by
/// channel: group norm (kGroup), and instance norm (kInstance) where every channel is a group. x [N, B, C,
/// …]; weight, bias [N, C] or undefined, in x's dtype. Then `after`, of float32 alone, while a group's
/// numbers are in the cache.
at::Tensor normalize_groups(const at::Tensor& x, std::int64_t groups, const at::Tensor& weight,
                            const at::Tensor& bias, double eps, Norm norm, RowFunction after = nullptr);

}  // namespace wide::kernels
