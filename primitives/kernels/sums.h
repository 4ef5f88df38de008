#pragma once
// Sums of many float32 numbers, exact to about the last place of a float32: a few in single precision, and
// those sums in double. For functions that WIDE_CLONES compiles.

#include <algorithm>
#include <cstdint>

namespace wide::kernels {

/// sums[i] = x[i] + x[i + width] + … of `count` rows. `some` is room for a row.
[[gnu::always_inline]] inline void add_rows(const float* x, std::int64_t count, std::int64_t width,
                                            double* __restrict sums, float* __restrict some) {
  constexpr std::int64_t kFew = 32;
  std::fill_n(sums, width, 0.0);
  for (std::int64_t first = 0; first < count; first += kFew) {
    std::fill_n(some, width, 0.0F);
    for (std::int64_t row = first; row < std::min(count, first + kFew); ++row)
      for (std::int64_t i = 0; i < width; ++i) some[i] += x[row * width + i];
    for (std::int64_t i = 0; i < width; ++i) sums[i] += static_cast<double>(some[i]);
  }
}

/// Of `count` numbers side by side.
[[gnu::always_inline]] inline double sum_of(const float* x, std::int64_t count) {
  constexpr std::int64_t kLanes = 64;
  double sum = 0;
  const auto rows = count / kLanes;
  if (rows > 0) {
    double sums[kLanes];
    float some[kLanes];
    add_rows(x, rows, kLanes, sums, some);
    for (const double one : sums) sum += one;
  }
  for (auto i = rows * kLanes; i < count; ++i) sum += static_cast<double>(x[i]);
  return sum;
}

}  // namespace wide::kernels
