#pragma once
// Tensors in the order of their axes.

#include <ATen/core/Tensor.h>

namespace wide {

/// `view.contiguous()`. Where it moves axes of numbers of four bytes on the CPU, tile by tile: ATen then goes
/// number by number, with an index of its own for each axis.
at::Tensor dense_copy(const at::Tensor& view);

/// `tensor.contiguous()`, with the strides of that along axes of one element, too, which otherwise may have
/// any: there are operators that take a memory format from them.
at::Tensor in_order(const at::Tensor& tensor);

}  // namespace wide
