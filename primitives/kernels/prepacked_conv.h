#pragma once
// Convolutions by oneDNN from weights that were brought into its own order once: libtorch's own convolution
// does that in every pass.

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <string>
#include <vector>

namespace wide::kernels {

struct ConvolutionSizes {
  std::vector<std::int64_t> stride, padding, dilation;  ///< one per spatial axis
  std::vector<std::int64_t> output_padding;             ///< transposed only
  std::int64_t groups = 1;
  bool transposed = false;
};

/// Why this libtorch packs no weights, or "".
std::string prepacking_refusal(bool transposed);

/// `w` [Co, Ci/g, …], transposed [Ci, Co/g, …], float32 on the CPU, as oneDNN reads it for inputs of shape
/// `input`; opaque.
at::Tensor prepack(const ConvolutionSizes& sizes, const at::Tensor& w,
                   const std::vector<std::int64_t>& input);

/// conv(x, w) + bias: x [B, Ci, …], images or volumes, of the shape told; `packed` by prepack(); bias [Co] or
/// undefined. The result has channels innermost. Not differentiable.
at::Tensor prepacked_conv(const ConvolutionSizes& sizes, const at::Tensor& x, const at::Tensor& packed,
                          const at::Tensor& bias);

}  // namespace wide::kernels
