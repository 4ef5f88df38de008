#pragma once
// Functions of a float32, made to be inlined into loops that the compiler turns into vectors: no branches, no
// calls, no table.

#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>

namespace wide::kernels {

// exp and tanh by the polynomials of Cephes (S. L. Moshier), in float32 and without branches: within 2 units
// in the last place of libm's. NaN stays NaN; what would overflow is the largest number that does not.
[[gnu::always_inline]] inline float exp_of(float x) {
  constexpr float kMost = 88.72283F, kLeast = -86.0F,
                  kRounder = 12582912.0F;  // 1.5 · 2^23: adding it rounds to a whole number
  const bool overflows = x > kMost;
  x = overflows ? 0.0F : x;
  x = x < kLeast ? kLeast : x;
  const float rounded = x * 1.44269504088896341F + kRounder, n = rounded - kRounder;
  const float r = (x - n * 0.693359375F) + n * 2.12194440e-4F;
  float y = 1.9875691500E-4F;
  y = y * r + 1.3981999507E-3F;
  y = y * r + 8.3334519073E-3F;
  y = y * r + 4.1665795894E-2F;
  y = y * r + 1.6666665459E-1F;
  y = y * r + 5.0000001201E-1F;
  y = y * r * r + r + 1.0F;
  const auto exponent = std::bit_cast<std::uint32_t>(rounded) - std::bit_cast<std::uint32_t>(kRounder) + 126U;
  return overflows ? std::numeric_limits<float>::infinity()
                   : y * std::bit_cast<float>(exponent << 23U) * 2.0F;
}
[[gnu::always_inline]] inline float sigmoid_of(float x) {
  return 1.0F / (1.0F + exp_of(-x));
}
[[gnu::always_inline]] inline float tanh_of(float x) {
  constexpr float kSmall = 0.625F;
  const float size = std::fabs(x), square = x * x;
  float y = -5.70498872745E-3F;
  y = y * square + 2.06390887954E-2F;
  y = y * square - 5.37397155531E-2F;
  y = y * square + 1.33314422036E-1F;
  y = y * square - 3.33332819422E-1F;
  const float near = y * square * x + x;
  const float far = std::copysign(1.0F - 2.0F / (exp_of(2.0F * size) + 1.0F), x);
  return size < kSmall ? near : far;
}
// 1 - erf(x) of x ≥ 0, within 1.2e-7 of its own value also where that is tiny: the fit of Press et al.,
// Numerical Recipes, 6.2.
[[gnu::always_inline]] inline float erfc_of(float x) {
  const float t = 1.0F / (1.0F + 0.5F * x);
  float y = 0.17087277F;
  y = y * t - 0.82215223F;
  y = y * t + 1.48851587F;
  y = y * t - 1.13520398F;
  y = y * t + 0.27886807F;
  y = y * t - 0.18628806F;
  y = y * t + 0.09678418F;
  y = y * t + 0.37409196F;
  y = y * t + 1.00002368F;
  y = y * t - 1.26551223F;
  return t * exp_of(y - x * x);
}
/// NaN for both infinities, as in ATen.
[[gnu::always_inline]] inline float gelu_of(float x) {
  const float size = std::fabs(x), tail = 0.5F * size * erfc_of(size * 0.70710678118654752440F);
  return (x > 0 ? x : 0.0F) - tail;
}
[[gnu::always_inline]] inline float gelu_tanh_of(float x) {
  return 0.5F * x * (1.0F + tanh_of(0.79788456080286535588F * (x + 0.044715F * x * x * x)));
}
[[gnu::always_inline]] inline float silu_of(float x) {
  return x / (1.0F + exp_of(-x));
}
/// NaN stays NaN.
[[gnu::always_inline]] inline float relu_of(float x) {
  return x <= 0 ? 0 : x;
}

}  // namespace wide::kernels
