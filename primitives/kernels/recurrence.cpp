#include "primitives/kernels/recurrence.h"

#include <ATen/ATen.h>
#include <ATen/record_function.h>

#include <algorithm>
#include <vector>

#include "core/aten/pages.h"
#include "core/aten/parallel.h"
#include "primitives/kernels/clones.h"
#include "primitives/kernels/functions.h"

namespace wide::kernels {
namespace {

// Columns of a product that are computed together: their sums fit the registers, and what they read of the
// weights lies in one piece.
constexpr std::int64_t kBlock = 32;

std::int64_t count_of(Gates gates) {
  return gates == Gates::kLstm ? 4 : gates == Gates::kGru ? 3 : 1;
}

// Each takes the gates of a row to the next hidden state, which is kept and written out.
WIDE_CLONES void lstm_row(const float* __restrict gates, float* __restrict c, float* __restrict h,
                          float* __restrict out, std::int64_t hidden) {
  for (std::int64_t i = 0; i < hidden; ++i) {
    const float kept = sigmoid_of(gates[hidden + i]) * c[i];
    const float cell = kept + sigmoid_of(gates[i]) * tanh_of(gates[2 * hidden + i]);
    const float next = sigmoid_of(gates[3 * hidden + i]) * tanh_of(cell);
    c[i] = cell;
    h[i] = next;
    out[i] = next;
  }
}
WIDE_CLONES void gru_row(const float* __restrict input, const float* __restrict gates, float* __restrict h,
                         float* __restrict out, std::int64_t hidden) {
  for (std::int64_t i = 0; i < hidden; ++i) {
    const float reset = sigmoid_of(input[i] + gates[i]),
                update = sigmoid_of(input[hidden + i] + gates[hidden + i]);
    const float made = tanh_of(input[2 * hidden + i] + reset * gates[2 * hidden + i]);
    const float next = made + update * (h[i] - made);
    h[i] = next;
    out[i] = next;
  }
}
WIDE_CLONES void tanh_row(const float* gates, float* h, float* out, std::int64_t hidden) {
  for (std::int64_t i = 0; i < hidden; ++i) out[i] = h[i] = tanh_of(gates[i]);
}
WIDE_CLONES void relu_row(const float* gates, float* h, float* out, std::int64_t hidden) {
  for (std::int64_t i = 0; i < hidden; ++i) out[i] = h[i] = gates[i] <= 0 ? 0 : gates[i];
}

}  // namespace

std::string Recurrence::refusal(Gates gates, std::int64_t batch, std::int64_t hidden) {
  return SmallGemm::refusal(batch, hidden, count_of(gates) * hidden);
}

Recurrence::Recurrence(Gates gates, std::int64_t batch, std::int64_t hidden)
    : gates_(gates),
      batch_(batch),
      hidden_(hidden),
      width_(count_of(gates) * hidden),
      block_(width_ % kBlock == 0 ? kBlock : width_),
      product_(batch, hidden, block_, /*biased=*/true, width_) {}

at::Tensor Recurrence::pack(const at::Tensor& w) const {
  const auto blocks = w.unflatten(1, {width_ / block_, block_}).transpose(2, 3);  // [N, blocks, H, columns]
  return empty_in_pages(blocks.sizes(), w.options()).copy_(blocks);
}

at::Tensor Recurrence::run(const at::Tensor& inputs, const at::Tensor& w, const at::Tensor& bias,
                           std::int64_t time_axis, bool backwards, State& state) const {
  const auto members = inputs.size(0), steps = inputs.size(time_axis), width = width_;
  auto shape = inputs.sizes().vec();
  shape.back() = hidden_;
  auto y = at::empty(shape, inputs.options());
  state.h = state.h.clone(at::MemoryFormat::Contiguous);
  if (gates_ == Gates::kLstm) state.c = state.c.clone(at::MemoryFormat::Contiguous);
  RECORD_FUNCTION("wide::recurrence", std::vector<c10::IValue>());
  const auto row_step = time_axis == 1 ? 1 : steps, time_step = time_axis == 1 ? batch_ : 1;  // in rows
  const float *xs = inputs.const_data_ptr<float>(), *ws = w.const_data_ptr<float>(),
              *biases = bias.defined() ? bias.const_data_ptr<float>() : nullptr;
  float *ys = y.mutable_data_ptr<float>(), *hs = state.h.mutable_data_ptr<float>(),
        *cs = gates_ == Gates::kLstm ? state.c.mutable_data_ptr<float>() : nullptr;
  const auto whole_sequence = [&](std::int64_t n, float* gates) {
    const float* x = xs + n * steps * batch_ * width;
    float *out = ys + n * steps * batch_ * hidden_, *h = hs + n * batch_ * hidden_;
    float* c = cs ? cs + n * batch_ * hidden_ : nullptr;
    for (std::int64_t i = 0; i < steps; ++i) {
      const auto first = (backwards ? steps - 1 - i : i) * time_step;
      for (std::int64_t row = 0; row < batch_; ++row) {
        float* to = gates + row * width;
        if (gates_ != Gates::kGru) {
          std::copy_n(x + (first + row * row_step) * width, width, to);
        } else if (biases) {
          std::copy_n(biases + n * width, width, to);
        } else {
          std::fill_n(to, width, 0.0F);
        }
      }
      for (std::int64_t column = 0; column < width; column += block_)
        product_.add(h, ws + (n * width + column) * hidden_, gates + column);
      for (std::int64_t row = 0; row < batch_; ++row) {
        const auto place = first + row * row_step;
        const float *input = x + place * width, *sums = gates + row * width;
        float *to = out + place * hidden_, *own = h + row * hidden_;
        switch (gates_) {
          case Gates::kTanh:
            tanh_row(sums, own, to, hidden_);
            break;
          case Gates::kRelu:
            relu_row(sums, own, to, hidden_);
            break;
          case Gates::kGru:
            gru_row(input, sums, own, to, hidden_);
            break;
          case Gates::kLstm:
            lstm_row(sums, c + row * hidden_, own, to, hidden_);
            break;
        }
      }
    }
  };
  parallel_ranges(members, 1, [&](std::int64_t begin, std::int64_t end) {
    std::vector<float> gates(static_cast<std::size_t>(batch_ * width));
    for (auto n = begin; n < end; ++n) whole_sequence(n, gates.data());
  });
  return y;
}

}  // namespace wide::kernels
