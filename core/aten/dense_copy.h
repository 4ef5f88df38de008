#pragma once
// Copies of permuted tensors into dense memory.

#include <ATen/core/Tensor.h>

namespace wide {

/// `view.contiguous()`. Where it moves axes of numbers of four bytes on the CPU, tile by tile: ATen then goes
/// number by number, with an index of its own for each axis.
at::Tensor dense_copy(const at::Tensor& view);

}  // namespace wide
