#pragma once
// Many small float32 matrix products on the CPU, by kernels that libxsmm generates for their exact size.

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <string>

#include "core/strategy/activation.h"

namespace wide::kernels {

/// y[n] = x[n] · w[n] + bias[n] for n in [0, N): x [N, rows, inner], w [N, inner, columns], y [N, rows,
/// columns].
class SmallGemm {
 public:
  /// `y_step`: numbers from one row of y to the next, for add() only; 0: as many as there are columns. Throws
  /// std::runtime_error when libxsmm generates no code on this processor.
  SmallGemm(std::int64_t rows, std::int64_t inner, std::int64_t columns, bool biased,
            std::int64_t y_step = 0);

  /// All tensors dense float32; `bias` [N, columns] where the product is biased. `epilogue`, when given, is
  /// applied to a few members' products while they are in the cache, on any thread. Not differentiable.
  at::Tensor run(const at::Tensor& x, const at::Tensor& w, const at::Tensor& bias,
                 const Activation* epilogue = nullptr) const;

  /// y[n] = c[n] + x[n] · w[n], with c [N, rows, columns]; the product must be biased.
  at::Tensor run_onto(const at::Tensor& c, const at::Tensor& x, const at::Tensor& w) const;

  /// y += x · w of one member: x [rows, inner], w [inner, columns]; the product must be biased.
  void add(const float* x, const float* w, float* y) const { function_(w, x, y); }

  /// Why such products are not worth generating, or "".
  static std::string refusal(std::int64_t rows, std::int64_t inner, std::int64_t columns);

 private:
  using Function = void (*)(const float*, const float*, float*, ...);
  std::int64_t rows_, inner_, columns_;
  bool biased_;
  Function function_;
};

}  // namespace wide::kernels
