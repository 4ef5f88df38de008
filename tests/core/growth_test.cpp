// Builds for hundreds of numbers of members and of input sizes leave the memory of the process as it was.
#include <gtest/gtest.h>
#include <malloc.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <fstream>

#include "core/support.h"

namespace wide::test {
namespace {

using zoo::ref;

#ifdef __SANITIZE_ADDRESS__
constexpr bool kMeasured = false;  // freed memory is kept in quarantine
#else
constexpr bool kMeasured = true;
#endif

/// Builds made, WIDEBENCH_BUILDS or 60.
int builds() {
  const char* count = std::getenv("WIDEBENCH_BUILDS");
  return count == nullptr ? 60 : std::max(40, std::atoi(count));
}

/// Bytes that the process has in memory, what was freed given back to the system.
double trimmed_bytes() {
  ::malloc_trim(0);
  std::ifstream file("/proc/self/statm");
  double size = 0, resident = 0;
  file >> size >> resident;
  return resident * static_cast<double>(::sysconf(_SC_PAGESIZE));
}

zoo::Architecture two_layers(std::int64_t rows) {
  zoo::Builder b("two_layers");
  auto x = b.input("x", normal({rows, 8}));
  x = b.op("aten.linear.default",
           {ref(x), ref(b.parameter("0.weight", normal({16, 8}))), ref(b.parameter("0.bias", normal({16})))});
  x = b.op("aten.relu.default", {ref(x)});
  x = b.op("aten.linear.default", {ref(x), ref(b.parameter("2.weight", normal({4, 16})))});
  b.output(x);
  return b.take();
}

/// `make(i)` for as many builds; the memory after all of them is within 5 % of that after the first quarter.
template <typename Make>
void expect_no_growth(const char* what, Make make) {
  const int count = builds(), settled = count / 4;
  double before = 0;
  for (int i = 0; i < count; ++i) {
    if (i == settled) before = trimmed_bytes();
    make(i);
  }
  const double after = trimmed_bytes();
  std::printf("%s: %d builds, %.1f MiB after %d of them, %.1f MiB after all\n", what, count,
              before / (1 << 20), settled, after / (1 << 20));
  if (kMeasured) {
    EXPECT_LT(after, 1.05 * before) << what;
  }
}

TEST(Growth, ModelsOfManyNumbersOfMembers) {
  const auto architecture = two_layers(4);
  expect_no_growth("a model for each N", [&](int i) {
    auto model = wide_model(architecture, 1 + i);
    model.forward(wide_inputs(architecture, 1 + i));
  });
}

TEST(Growth, OneModelWithInputsOfManySizes) {
  auto model = wide_model(two_layers(4), kMembers);
  expect_no_growth("one model, inputs of each size", [&](int i) {
    const std::vector<ModelInput> inputs{ModelInput::shared(at::randn({2 + i, 8}))};
    model.forward(inputs);
  });
}

}  // namespace
}  // namespace wide::test
