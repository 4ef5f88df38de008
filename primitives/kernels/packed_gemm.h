#pragma once
// float32 products of any size on the CPU: weights in panels of columns, tiles of the result small enough for
// the caches, each by a kernel that libxsmm generates for the tile's size.

#include <ATen/core/Tensor.h>

#include <array>
#include <cstdint>
#include <string>

#include "primitives/kernels/activate.h"

namespace wide::kernels {

/// What becomes of a product's result while a tile of it is in the cache: y = function(y), then y + other or
/// y · other.
struct Epilogue {
  RowFunction function = nullptr;  ///< or none
  enum class With { kNothing, kAdd, kMultiply } with = With::kNothing;
  at::Tensor other;  ///< [N, rows, columns], or [1, rows, columns] for all members; dense float32
};

/// y[n] = x[n] · w[n]ᵀ + bias[n], and what an epilogue makes of it, for n in [0, N): x [N, rows, inner], w
/// [N, columns, inner], y [N, rows, columns].
class PackedGemm {
 public:
  /// Throws std::runtime_error when libxsmm generates no code on this processor.
  PackedGemm(std::int64_t rows, std::int64_t inner, std::int64_t columns);

  /// w [N, columns, inner] as run() reads it: panels of columns, one after the other, transposed.
  at::Tensor pack(const at::Tensor& w) const;

  /// x [N, rows, inner], or [1, rows, inner] where all members share it; `packed` by pack(); `bias`
  /// [N, columns] or undefined; all dense float32. Not differentiable.
  at::Tensor run(const at::Tensor& x, const at::Tensor& packed, const at::Tensor& bias,
                 const Epilogue& epilogue = {}) const;

  /// Why libxsmm generates no such product, or "".
  static std::string refusal(std::int64_t rows, std::int64_t inner, std::int64_t columns);

 private:
  using Function = void (*)(const float*, const float*, float*, ...);
  /// How an axis is cut: `count` blocks of `size`, of which the last has `last`.
  struct Cut {
    Cut(std::int64_t extent, std::int64_t most, bool even);
    std::int64_t extent, size, count, last;
    std::int64_t at(std::int64_t block) const { return block + 1 < count ? size : last; }
    bool is_last(std::int64_t block) const { return block + 1 == count; }
  };
  struct Operands {  ///< of one member
    const float *x, *packed, *bias, *other;
  };
  /// f of y[rows of block r, panels [first, end)] of one member.
  void run_tile(const Operands& of, float* y, std::int64_t r, std::int64_t first, std::int64_t end,
                const Epilogue& epilogue) const;

  Cut rows_, inner_, columns_;
  std::array<Function, 8> functions_{};  ///< by whether rows, inner and columns are the last of their axis
};

}  // namespace wide::kernels
