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
/// `of_infinity`: gelu(+Inf), see gelu_of_infinity(); gelu(-Inf) is NaN, as in ATen.
[[gnu::always_inline]] inline float gelu_of(float x, float of_infinity) {
  const float size = std::fabs(x), tail = 0.5F * size * erfc_of(size * 0.70710678118654752440F);
  const float y = (x > 0 ? x : 0.0F) - tail;
  return x == std::numeric_limits<float>::infinity() ? of_infinity : y;
}
[[gnu::always_inline]] inline float gelu_tanh_of(float x) {
  return 0.5F * x * (1.0F + tanh_of(0.79788456080286535588F * (x + 0.044715F * x * x * x)));
}
[[gnu::always_inline]] inline float silu_of(float x) {
  return x / (1.0F + exp_of(-x));
}
/// exp down to the smallest numbers there are, where exp_of() stops at those that are not denormal.
[[gnu::always_inline]] inline float whole_exp_of(float x) {
  // Two factors: the power of two alone may be too small for a float.
  const bool tiny = x < -80.0F;
  const float shifted = exp_of(tiny ? x + 44.361419555836499F : x);  // 64 · ln 2
  return shifted * (tiny ? 5.421010862427522e-20F : 1.0F);
}
/// The natural logarithm by the polynomial of Cephes; denormal numbers too.
[[gnu::always_inline]] inline float log_of(float x) {
  constexpr float kInfinity = std::numeric_limits<float>::infinity();
  const bool denormal = x < std::numeric_limits<float>::min();
  const auto bits = std::bit_cast<std::uint32_t>(denormal ? x * 8388608.0F : x);
  float exponent =
      static_cast<float>(static_cast<std::int32_t>(bits >> 23U) - 126) - (denormal ? 23.0F : 0.0F);
  float r = std::bit_cast<float>((bits & 0x007FFFFFU) | 0x3F000000U);  // in [0.5, 1)
  const bool low = r < 0.707106781186547524F;
  exponent -= low ? 1.0F : 0.0F;
  r = (low ? r + r : r) - 1.0F;
  const float square = r * r;
  float y = 7.0376836292E-2F;
  y = y * r - 1.1514610310E-1F;
  y = y * r + 1.1676998740E-1F;
  y = y * r - 1.2420140846E-1F;
  y = y * r + 1.4249322787E-1F;
  y = y * r - 1.6668057665E-1F;
  y = y * r + 2.0000714765E-1F;
  y = y * r - 2.4999993993E-1F;
  y = y * r + 3.3333331174E-1F;
  y = y * r * square - 2.12194440e-4F * exponent - 0.5F * square;
  const float positive = r + y + 0.693359375F * exponent;
  const float other = x == 0 ? -kInfinity : std::numeric_limits<float>::quiet_NaN();
  return x > 0 ? (x < kInfinity ? positive : x) : other;
}
/// sin_of() and cos_of() are for angles up to this.
inline constexpr float kMostAngle = 8192;
// The angle less a whole number of quarter turns, and that number.
struct Quarter {
  float rest;
  std::uint32_t count;
};
[[gnu::always_inline]] inline Quarter quarter_of(float x) {
  constexpr float kRounder = 12582912.0F;
  const float rounded = x * 0.63661977236758134F + kRounder, n = rounded - kRounder;
  // π/2 in four parts, each but the last of few bits: their products with n are exact.
  float rest = x - n * 1.5703125F;
  rest = rest - n * 4.837512969970703125e-4F;
  rest = rest - n * 7.54978995489188216e-8F;
  return {rest, std::bit_cast<std::uint32_t>(rounded) - std::bit_cast<std::uint32_t>(kRounder)};
}
[[gnu::always_inline]] inline float sin_of_quarter(Quarter angle, std::uint32_t ahead) {
  const float x = angle.rest, square = x * x;
  float s = -1.9515295891E-4F;
  s = s * square + 8.3321608736E-3F;
  s = s * square - 1.6666654611E-1F;
  s = s * square * x + x;
  float c = 2.443315711809948E-5F;
  c = c * square - 1.388731625493765E-3F;
  c = c * square + 4.166664568298827E-2F;
  c = c * square * square - 0.5F * square + 1.0F;
  const auto quarter = angle.count + ahead;
  const float y = (quarter & 1U) != 0 ? c : s;
  return (quarter & 2U) != 0 ? -y : y;
}
[[gnu::always_inline]] inline float sin_of(float x) {
  return sin_of_quarter(quarter_of(x), 0);
}
[[gnu::always_inline]] inline float cos_of(float x) {
  return sin_of_quarter(quarter_of(x), 1);
}
/// NaN stays NaN.
[[gnu::always_inline]] inline float relu_of(float x) {
  return x <= 0 ? 0 : x;
}

}  // namespace wide::kernels
