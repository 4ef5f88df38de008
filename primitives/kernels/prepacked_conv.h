#pragma once
// Convolutions by oneDNN from weights that were brought into its own order once: libtorch's own convolution
// does that in every pass.

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
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

/// [members, Co, Ci/g, …], of which each member has `sizes`, in the order that prepack() reads: channels
/// innermost. Values are not set.
at::Tensor weights_to_pack(std::int64_t members, at::IntArrayRef sizes, const at::TensorOptions& options);

/// prepack() of the weights of `members` one behind the other, where `sizes` are of all of them as groups of
/// one convolution, in the memory of three members' weights besides the result. Undefined where that is not
/// known to be what oneDNN reads.
at::Tensor prepack_members(const ConvolutionSizes& sizes, std::int64_t members,
                           const std::function<at::Tensor(std::int64_t)>& weights_of,
                           const std::vector<std::int64_t>& input);

/// What a convolution and its bias may reach so that no sum on the way overflows, and every epilogue is
/// exact.
inline constexpr float kFarFromOverflow = 1e37F;

/// What oneDNN does to each result before it is stored, as libtorch's operators take it.
struct Epilogue {
  std::string_view name = "none";
  std::vector<double> numbers;
  bool far_from_overflow = false;  ///< the activation of results up to kFarFromOverflow only, and not of NaN
};

/// The activation of that name (core/strategy/activation.h) as an epilogue; nullptr where oneDNN has none, or
/// computes another function on this processor.
const Epilogue* epilogue_of(std::string_view activation);

/// conv(x, w) + bias, then `epilogue`: x [B, Ci, …], images or volumes, of the shape told; `packed` by
/// prepack(); bias [Co] or undefined. The result has channels innermost. Not differentiable.
at::Tensor prepacked_conv(const ConvolutionSizes& sizes, const at::Tensor& x, const at::Tensor& packed,
                          const at::Tensor& bias, const Epilogue& epilogue = {});

}  // namespace wide::kernels
