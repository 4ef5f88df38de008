#pragma once
// Rough costs for choosing between strategies before anything is measured.

#include <cstdint>

namespace wide {

// Order-of-magnitude constants of one CPU core; only ratios matter. Measured strategies replace them.
inline constexpr double kNanosecondsPerByte = 0.1;
inline constexpr double kNanosecondsPerFlop = 0.02;
inline constexpr double kNanosecondsPerCall = 1500;

/// One kernel that reads or writes `bytes` and does `flops` floating-point operations, in nanoseconds.
inline double kernel_cost(double bytes, double flops = 0) {
  const double memory = bytes * kNanosecondsPerByte, arithmetic = flops * kNanosecondsPerFlop;
  return kNanosecondsPerCall + (memory > arithmetic ? memory : arithmetic);
}

}  // namespace wide
