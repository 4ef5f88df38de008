#include "primitives/kernels/within.h"

#include <algorithm>
#include <atomic>
#include <bit>
#include <cstdint>

#include "core/aten/parallel.h"
#include "primitives/kernels/clones.h"

namespace wide::kernels {
namespace {

// The largest of the bits without signs: sizes have the order of their bits, and NaN is above them all.
WIDE_CLONES std::uint32_t largest_bits(const float* x, std::int64_t count) {
  std::uint32_t most = 0;
  for (std::int64_t i = 0; i < count; ++i) most = std::max(most, std::bit_cast<std::uint32_t>(x[i]) << 1U);
  return most;
}

}  // namespace

bool all_within(const at::Tensor& numbers, float limit) {
  constexpr std::int64_t kBlock = 4096;
  const auto dense = numbers.is_non_overlapping_and_dense() ? numbers : numbers.contiguous();
  const auto* x = dense.const_data_ptr<float>();
  const auto most = std::bit_cast<std::uint32_t>(limit) << 1U;
  std::atomic<bool> within = true;
  parallel_ranges(dense.numel(), kNumbersPerThread, [&](std::int64_t begin, std::int64_t end) {
    for (auto i = begin; i < end && within.load(std::memory_order_relaxed); i += kBlock) {
      if (largest_bits(x + i, std::min(kBlock, end - i)) > most) within = false;
    }
  });
  return within;
}

}  // namespace wide::kernels
