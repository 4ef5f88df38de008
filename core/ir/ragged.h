#pragma once
// Members' tensors of shapes of their own, where a value has one tensor.

#include <ATen/core/Tensor.h>

#include <span>
#include <vector>

namespace wide {

/// The members' tensors, of any sizes and numbers of axes, as one that only each_member() can take apart:
/// libtorch's operators refuse it. At least one.
at::Tensor ragged(std::vector<at::Tensor> members);

/// What ragged() was given; empty for other tensors.
std::span<const at::Tensor> each_member(const at::Tensor& tensor);

}  // namespace wide
