#pragma once
// Softmax along the last axis; rows of a few numbers share vectors, where ATen takes one row after the other.

#include <ATen/core/Tensor.h>

namespace wide::kernels {

/// exp(x) over the sum of its row. x [..., D] float32 on the CPU; the result has no gaps. Not differentiable.
at::Tensor softmax(const at::Tensor& x);

}  // namespace wide::kernels
