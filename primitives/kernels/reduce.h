#pragma once
// Sums and means along neighbouring axes.

#include <ATen/core/Tensor.h>

#include <cstdint>

namespace wide::kernels {

/// The sum of x over `count` axes from axis `first` on, or, if `mean`, that over how many numbers it is of;
/// float32 on the CPU, not empty. The result has the other axes, in order. Sums are in float64. Not
/// differentiable.
at::Tensor sum_along(const at::Tensor& x, std::int64_t first, std::int64_t count, bool mean);

}  // namespace wide::kernels
