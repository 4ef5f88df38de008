#include "primitives/kernels/reduce.h"

#include <ATen/ATen.h>
#include <ATen/record_function.h>

#include <algorithm>
#include <vector>

#include "core/aten/parallel.h"
#include "primitives/kernels/clones.h"
#include "primitives/kernels/sums.h"

namespace wide::kernels {
namespace {

// x [outer, count, inner]; y [outer, inner]. What is more than a float32 holds is infinite before it is
// divided, as in ATen.
struct Sums {
  std::int64_t count, inner;
  float divisor;
};

WIDE_CLONES void sum_rows(const float* x, float* y, std::int64_t outer, const Sums& sums) {
  for (std::int64_t i = 0; i < outer; ++i)
    y[i] = static_cast<float>(sum_of(x + i * sums.count, sums.count)) / sums.divisor;
}
WIDE_CLONES void sum_columns(const float* x, float* y, std::int64_t outer, const Sums& sums, double* all,
                             float* some) {
  for (std::int64_t i = 0; i < outer; ++i, x += sums.count * sums.inner, y += sums.inner) {
    add_rows(x, sums.count, sums.inner, all, some);
    for (std::int64_t k = 0; k < sums.inner; ++k) y[k] = static_cast<float>(all[k]) / sums.divisor;
  }
}

}  // namespace

at::Tensor sum_along(const at::Tensor& given, std::int64_t first, std::int64_t count, bool mean) {
  const auto x = given.contiguous();
  auto shape = x.sizes().vec();
  const auto begin = shape.begin() + first, end = begin + count;
  Sums sums{1, 1, 1};
  for (auto size = begin; size != end; ++size) sums.count *= *size;
  for (auto size = end; size != shape.end(); ++size) sums.inner *= *size;
  if (mean) sums.divisor = static_cast<float>(sums.count);
  shape.erase(begin, end);
  auto y = at::empty(shape, x.options());
  RECORD_FUNCTION("wide::sum_along", std::vector<c10::IValue>());
  const auto* from = x.const_data_ptr<float>();
  auto* to = y.mutable_data_ptr<float>();
  const auto numbers = sums.count * sums.inner;
  parallel_ranges(x.numel() / numbers, std::max<std::int64_t>(1, kNumbersPerThread / numbers),
                  [&](std::int64_t i, std::int64_t last) {
                    if (sums.inner == 1) {
                      sum_rows(from + i * numbers, to + i, last - i, sums);
                      return;
                    }
                    std::vector<double> all(static_cast<std::size_t>(sums.inner));
                    std::vector<float> some(all.size());
                    sum_columns(from + i * numbers, to + i * sums.inner, last - i, sums, all.data(),
                                some.data());
                  });
  return y;
}

}  // namespace wide::kernels
