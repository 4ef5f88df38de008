#pragma once
// 3x3 convolutions with fewer multiplications: Winograd's F(2x2, 3x3) and F(4x4, 3x3), as products generated
// by libxsmm between the transforms. After A. Lavin and S. Gray, "Fast Algorithms for Convolutional Neural
// Networks", 2016; points of F(4x4) of small error after B. Barabasz et al., "Error Analysis and Improving
// the Accuracy of Winograd Convolution", 2020.

#include <ATen/core/Tensor.h>

#include <array>
#include <cstdint>
#include <functional>
#include <string>

#include "primitives/kernels/activate.h"

namespace wide::kernels {

/// y[g, b] = conv(x[g, b], w[g]) + bias[g] for 3x3 kernels, stride 1, float32, by tiles of m x m results.
/// Against float64 on normal numbers its errors are about those of oneDNN (m = 2) or some three times as
/// large (m = 4). By m = 4 the error of a result is relative to the largest number of its tile, not of its
/// own nine pixels.
class Winograd {
 public:
  /// `tile` m: 2 or 4; `in`, `out`: channels; `members`: how many share the channels of the result alike.
  Winograd(int tile, std::int64_t in, std::int64_t out, std::int64_t members = 1);

  /// w [G, out, in, 3, 3] as run() reads it.
  at::Tensor pack(const at::Tensor& w) const;
  /// [out / members, in, 3, 3] of a member of a group, numbered through all groups.
  using WeightsOf = std::function<at::Tensor(std::int64_t)>;

  /// x [G, B, H, W, in] and y [G, B, H + 2·padding - 2, …, out], both with their channels innermost, or as
  /// seen of whole planes [H, W]; `packed` by pack(); bias [G, out] or undefined. What a member gives of an
  /// image is computed again by ATen from `weights_of` it where it is not all finite, so that NaN and
  /// infinities are those of a plain convolution. `after`, where it is given, is applied to the results; then
  /// the members of a group must be one. Not differentiable.
  void run(const at::Tensor& x, const WeightsOf& weights_of, const at::Tensor& packed, const at::Tensor& bias,
           std::array<std::int64_t, 2> padding, const at::Tensor& y, RowFunction after = nullptr) const;

  /// Why there is no such product, or "".
  static std::string refusal(std::int64_t in, std::int64_t out);

 private:
  using Function = void (*)(const float*, const float*, float*, ...);
  struct Size {
    std::int64_t tiles, columns, depth, step;  ///< step: from a tile's sums to the next one's
  };
  Function function(const Size& size) const;

  std::int64_t products() const { return (tile_ + 2) * (tile_ + 2); }  ///< of a tile
  struct Images;
  struct Block;
  class Pass;

  int tile_;               ///< results along an edge
  std::int64_t in_, out_;  ///< channels
  std::int64_t members_;
  std::int64_t inner_, columns_;  ///< the same, filled up to whole blocks of the transforms
  std::int64_t block_;            ///< tiles that are worked on together
};

}  // namespace wide::kernels
