// Kernels compiled for several processors: the best that this one has is what runs.
#include <gtest/gtest.h>

#include "primitives/kernels/clones.h"

namespace wide::kernels {
namespace {

TEST(Clones, TheBestOfThisProcessorRuns) {
  // What the levels consist of, beyond what came before.
  const bool v3 =
      __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") && __builtin_cpu_supports("bmi2");
  const bool v4 = v3 && __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
                  __builtin_cpu_supports("avx512vl") && __builtin_cpu_supports("avx512dq") &&
                  __builtin_cpu_supports("avx512cd");
  EXPECT_EQ(instruction_set(), v4 ? "x86-64-v4" : v3 ? "x86-64-v3" : "x86-64");
}

}  // namespace
}  // namespace wide::kernels
