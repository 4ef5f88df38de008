#pragma once
// Activations of float32 numbers by loops of our own.

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <string_view>

namespace wide::kernels {

/// f of each of `count` numbers, from `x` to `y`, which may be the same.
using RowFunction = void (*)(const float* x, float* y, std::int64_t count);

/// By the name of an Activation ("gelu_tanh"), or null: there is none of our own.
RowFunction row_function(std::string_view activation);

/// ATen's own gelu(+Inf), which its code for AVX-512 gives as NaN and the others as +Inf.
float gelu_of_infinity();

/// f of a tensor without gaps in memory, on libtorch's threads; the result has the same order in memory.
at::Tensor apply(RowFunction function, const at::Tensor& x);
/// The same in place.
void apply_in_place(RowFunction function, at::Tensor& x);

}  // namespace wide::kernels
