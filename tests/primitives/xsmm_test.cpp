// What initialising libxsmm leaves in the process.
#include <gtest/gtest.h>

#include <cstdlib>
#include <fstream>
#include <iterator>
#include <string>

#include "primitives/kernels/small_gemm.h"

namespace {

TEST(Xsmm, ProgramsThatAreStartedAreNotPinned) {
  (void)wide::kernels::SmallGemm::refusal(4, 4, 4);
  std::ifstream file("/proc/self/environ", std::ios::binary);  // as this process was started
  const std::string before{std::istreambuf_iterator<char>(file), {}};
  EXPECT_EQ(::getenv("OMP_PROC_BIND") != nullptr, before.find("OMP_PROC_BIND=") != std::string::npos);
}

}  // namespace
