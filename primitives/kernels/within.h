#pragma once
// Whether numbers stay within a bound, so that what is made of them stays finite.

#include <ATen/core/Tensor.h>

namespace wide::kernels {

/// Each of `numbers`, float32 on the CPU, is at most `limit` (finite, not negative) in size, and none is NaN.
bool all_within(const at::Tensor& numbers, float limit);

}  // namespace wide::kernels
