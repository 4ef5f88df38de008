#pragma once
// One layer of a recurrent network in one direction, a member's whole sequence on one thread: its weights
// stay in the cache from step to step, and a step is one product and one pass over the gates.

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <string>

#include "primitives/kernels/small_gemm.h"

namespace wide::kernels {

enum class Gates { kTanh, kRelu, kGru, kLstm };

class Recurrence {
 public:
  /// `batch` rows, `hidden` units. Throws std::runtime_error when libxsmm generates no code for it.
  Recurrence(Gates gates, std::int64_t batch, std::int64_t hidden);

  /// What the sequence starts from and what it ends with, [N, B, H]; c of an LSTM only.
  struct State {
    at::Tensor h, c;
  };
  /// `inputs` is what x contributes to the gates, biases included (GRU: that of x only), [N, T, B, G·H], or
  /// [N, B, T, G·H] where `time_axis` is 2; w as pack() gives it; bias [N, G·H], of a GRU's hidden part, or
  /// undefined. Gives the hidden states [N, T, B, H], or [N, B, T, H], and moves `state` to the end. float32,
  /// dense, on the CPU; not differentiable.
  at::Tensor run(const at::Tensor& inputs, const at::Tensor& w, const at::Tensor& bias,
                 std::int64_t time_axis, bool backwards, State& state) const;

  /// The recurrent weights [N, G·H, H] in blocks of columns that follow one another, as a product reads them.
  at::Tensor pack(const at::Tensor& w) const;

  /// Why such a network is not worth it, or "".
  static std::string refusal(Gates gates, std::int64_t batch, std::int64_t hidden);

 private:
  Gates gates_;
  std::int64_t batch_, hidden_, width_, block_;  ///< width: of all gates
  SmallGemm product_;
};

}  // namespace wide::kernels
