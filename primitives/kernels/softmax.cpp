#include "primitives/kernels/softmax.h"

#include <ATen/ATen.h>
#include <ATen/record_function.h>

#include <algorithm>
#include <vector>

#include "core/aten/parallel.h"
#include "primitives/kernels/clones.h"
#include "primitives/kernels/functions.h"

namespace wide::kernels {
namespace {

constexpr std::int64_t kVector = 16;  ///< numbers of a row that are looked at side by side
constexpr std::int64_t kRoom = 512;   ///< numbers of short rows that are raised to powers at once

// A NaN is passed over: it stands in its own place, and so comes into the sum.
[[gnu::always_inline]] inline float larger(float most, float x) {
  return x > most ? x : most;
}

[[gnu::always_inline]] inline float largest(const float* x, std::int64_t count) {
  float lanes[kVector];
  std::fill_n(lanes, kVector, -__builtin_inff());
  std::int64_t i = 0;
  for (; i + kVector <= count; i += kVector)
    for (std::int64_t l = 0; l < kVector; ++l) lanes[l] = larger(lanes[l], x[i + l]);
  for (std::int64_t l = 0; i < count; ++i, ++l) lanes[l] = larger(lanes[l], x[i]);
  return *std::max_element(lanes, lanes + kVector);
}

[[gnu::always_inline]] inline void long_row(const float* x, float* y, std::int64_t count) {
  const float most = largest(x, count);
  float lanes[kVector] = {};
  std::int64_t i = 0;
  for (; i + kVector <= count; i += kVector) {
    for (std::int64_t l = 0; l < kVector; ++l) {
      const float power = exp_below(x[i + l] - most);
      y[i + l] = power;
      lanes[l] += power;
    }
  }
  for (std::int64_t l = 0; i < count; ++i, ++l) {
    y[i] = exp_below(x[i] - most);
    lanes[l] += y[i];
  }
  float sum = 0;
  for (const float lane : lanes) sum += lane;
  const float factor = 1 / sum;
  for (std::int64_t k = 0; k < count; ++k) y[k] *= factor;
}

[[gnu::always_inline]] inline void short_rows(const float* x, float* y, std::int64_t rows,
                                              std::int64_t length) {
  float room[kRoom];
  for (std::int64_t row = 0; row < rows; ++row) {
    const float* own = x + row * length;
    float most = own[0];
    for (std::int64_t i = 1; i < length; ++i) most = larger(most, own[i]);
    for (std::int64_t i = 0; i < length; ++i) room[row * length + i] = own[i] - most;
  }
  for (std::int64_t i = 0; i < rows * length; ++i) room[i] = exp_below(room[i]);
  for (std::int64_t row = 0; row < rows; ++row) {
    const float* own = room + row * length;
    float sum = 0;
    for (std::int64_t i = 0; i < length; ++i) sum += own[i];
    const float factor = 1 / sum;
    for (std::int64_t i = 0; i < length; ++i) y[row * length + i] = own[i] * factor;
  }
}

WIDE_CLONES void all_rows(const float* x, float* y, std::int64_t rows, std::int64_t length) {
  const auto at_once = length < 2 * kVector ? kRoom / length : 1;
  for (std::int64_t row = 0; row < rows; row += at_once) {
    const auto place = row * length;
    if (length < 2 * kVector) {
      short_rows(x + place, y + place, std::min(at_once, rows - row), length);
    } else {
      long_row(x + place, y + place, length);
    }
  }
}

}  // namespace

at::Tensor softmax(const at::Tensor& given) {
  const auto x = given.contiguous();
  auto y = at::empty_like(x);
  if (y.numel() == 0) return y;
  RECORD_FUNCTION("wide::softmax", std::vector<c10::IValue>());
  const auto* from = x.const_data_ptr<float>();
  auto* to = y.mutable_data_ptr<float>();
  const auto length = x.size(-1);
  parallel_ranges(x.numel() / length, std::max<std::int64_t>(1, kNumbersPerThread / length),
                  [&](std::int64_t begin, std::int64_t end) {
                    all_rows(from + begin * length, to + begin * length, end - begin, length);
                  });
  return y;
}

}  // namespace wide::kernels
