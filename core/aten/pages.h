#pragma once
// Memory that goes back to the system.

#include <ATen/core/Tensor.h>

#include <cstddef>

namespace wide {

/// Memory that is the system's again as soon as it is free, where it is large: the C library keeps what it
/// has. Throws std::bad_alloc.
at::DataPtr in_pages(std::size_t bytes, at::Device device);
/// A contiguous tensor in such memory, whose values are not set.
at::Tensor empty_in_pages(at::IntArrayRef sizes, const at::TensorOptions& options);

/// Gives what the C library keeps of freed memory back to the system.
void return_free_memory();

}  // namespace wide
