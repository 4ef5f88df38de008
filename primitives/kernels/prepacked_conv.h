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

/// y = conv(x, w) + bias for images and volumes with channels innermost, float32, on the CPU. Not
/// differentiable.
class PrepackedConv {
 public:
  /// `packed` by pack().
  PrepackedConv(ConvolutionSizes sizes, at::Tensor packed);

  /// `w` [Co, Ci/g, …], transposed [Ci, Co/g, …], as oneDNN reads it for inputs of shape `input`; opaque.
  static at::Tensor pack(const ConvolutionSizes& sizes, const at::Tensor& w,
                         const std::vector<std::int64_t>& input);

  /// x [B, Ci, …] of the shape told; bias [Co] or undefined. The result has channels innermost.
  at::Tensor run(const at::Tensor& x, const at::Tensor& bias) const;

  /// Why this libtorch cannot, or "".
  static std::string refusal(bool transposed);

 private:
  ConvolutionSizes sizes_;
  at::Tensor packed_;
};

}  // namespace wide::kernels
