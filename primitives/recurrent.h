#pragma once
// One step of the recurrent cells for all members at once, in the gate order of ATen. B rows, H hidden units.

#include <ATen/ATen.h>

#include <array>
#include <string_view>

namespace wide::recurrent {

enum class Cell { kTanh, kRelu, kGru, kLstm };

/// "aten.lstm.input", "aten.gru_cell.default", … -> the cell that it runs.
inline Cell cell_of(std::string_view op) {
  if (op.find("lstm") != std::string_view::npos) return Cell::kLstm;
  if (op.find("gru") != std::string_view::npos) return Cell::kGru;
  return op.find("relu") != std::string_view::npos ? Cell::kRelu : Cell::kTanh;
}

/// Kernels of one step, for estimating what it costs.
inline int kernels_per_step(Cell cell) {
  constexpr std::array kernels = {3, 3, 10, 10};
  return kernels[static_cast<std::size_t>(cell)];
}

/// a · wᵀ + b for each member: a [N, B, K], w [N, M, K], b [N, 1 or B, M] or undefined.
inline at::Tensor product(const at::Tensor& a, const at::Tensor& w, const at::Tensor& b) {
  return b.defined() ? at::baddbmm(b, a, w.transpose(1, 2)) : at::bmm(a, w.transpose(1, 2));
}

/// Hidden state [N, B, H], and the LSTM's cell state.
struct State {
  at::Tensor h, c;
};

/// `input` is what x contributes to all gates, [N, B, G·H], both biases included (GRU: that of x only).
/// w_hh [N, G·H, H]; b_hh [N, 1, G·H], GRU only, may be undefined.
inline State step(Cell cell, const at::Tensor& input, const State& state, const at::Tensor& w_hh,
                  const at::Tensor& b_hh) {
  if (cell == Cell::kGru) {
    const auto hidden = product(state.h, w_hh, b_hh);
    const auto h = input.size(-1) / 3;
    const auto gates = (input.narrow(-1, 0, 2 * h) + hidden.narrow(-1, 0, 2 * h)).sigmoid();  // reset, update
    const auto next =
        at::addcmul(input.narrow(-1, 2 * h, h), gates.narrow(-1, 0, h), hidden.narrow(-1, 2 * h, h)).tanh();
    return {at::addcmul(next, gates.narrow(-1, h, h), state.h - next), {}};
  }
  const auto gates = product(state.h, w_hh, input);
  if (cell == Cell::kTanh) return {gates.tanh(), {}};
  if (cell == Cell::kRelu) return {gates.relu(), {}};
  const auto h = gates.size(-1) / 4;  // input, forget, cell, output
  const auto open = gates.narrow(-1, 0, 2 * h).sigmoid();
  const auto next =
      at::addcmul(open.narrow(-1, h, h) * state.c, open.narrow(-1, 0, h), gates.narrow(-1, 2 * h, h).tanh());
  return {gates.narrow(-1, 3 * h, h).sigmoid() * next.tanh(), next};
}

}  // namespace wide::recurrent
