#include "primitives/kernels/activate.h"

#include <ATen/ATen.h>
#include <ATen/ops/gelu_cpu_dispatch.h>
#include <ATen/record_function.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <vector>

#include "core/aten/parallel.h"
#include "primitives/kernels/clones.h"
#include "primitives/kernels/functions.h"

// `x` and `y` may be the same or lie apart, and nothing between: the loops need not ask at each call whether
// they overlap.
#define WIDE_IN_PLACE _Pragma("GCC ivdep")

namespace wide::kernels {
namespace {

WIDE_CLONES void relu_all(const float* x, float* y, std::int64_t count) {
  WIDE_IN_PLACE for (std::int64_t i = 0; i < count; ++i) y[i] = relu_of(x[i]);
}
WIDE_CLONES void gelu_all(const float* x, float* y, std::int64_t count) {
  const float of_infinity = gelu_of_infinity();
  WIDE_IN_PLACE for (std::int64_t i = 0; i < count; ++i) y[i] = gelu_of(x[i], of_infinity);
}
WIDE_CLONES void gelu_tanh_all(const float* x, float* y, std::int64_t count) {
  WIDE_IN_PLACE for (std::int64_t i = 0; i < count; ++i) y[i] = gelu_tanh_of(x[i]);
}
WIDE_CLONES void silu_all(const float* x, float* y, std::int64_t count) {
  WIDE_IN_PLACE for (std::int64_t i = 0; i < count; ++i) y[i] = silu_of(x[i]);
}
WIDE_CLONES void sigmoid_all(const float* x, float* y, std::int64_t count) {
  WIDE_IN_PLACE for (std::int64_t i = 0; i < count; ++i) y[i] = sigmoid_of(x[i]);
}
WIDE_CLONES void tanh_all(const float* x, float* y, std::int64_t count) {
  WIDE_IN_PLACE for (std::int64_t i = 0; i < count; ++i) y[i] = tanh_of(x[i]);
}
WIDE_CLONES void relu6_all(const float* x, float* y, std::int64_t count) {
  WIDE_IN_PLACE for (std::int64_t i = 0; i < count; ++i) y[i] = at_most(at_least(x[i], 0.0F), 6.0F);
}
WIDE_CLONES void hardswish_all(const float* x, float* y, std::int64_t count) {
  WIDE_IN_PLACE for (std::int64_t i = 0; i < count; ++i) y[i] = x[i] * up_to_six(x[i]) / 6.0F;
}
WIDE_CLONES void hardsigmoid_all(const float* x, float* y, std::int64_t count) {
  WIDE_IN_PLACE for (std::int64_t i = 0; i < count; ++i) y[i] = up_to_six(x[i]) / 6.0F;
}
[[gnu::always_inline]] inline float leaky(float x, float slope) {
  return x > 0 ? x : x * slope;
}
WIDE_CLONES void leaky_relu_1_all(const float* x, float* y, std::int64_t count) {
  WIDE_IN_PLACE for (std::int64_t i = 0; i < count; ++i) y[i] = leaky(x[i], 0.01F);
}
WIDE_CLONES void leaky_relu_10_all(const float* x, float* y, std::int64_t count) {
  WIDE_IN_PLACE for (std::int64_t i = 0; i < count; ++i) y[i] = leaky(x[i], 0.1F);
}
WIDE_CLONES void leaky_relu_20_all(const float* x, float* y, std::int64_t count) {
  WIDE_IN_PLACE for (std::int64_t i = 0; i < count; ++i) y[i] = leaky(x[i], 0.2F);
}

constexpr std::int64_t kBlock = 256;
using Block = std::array<float, kBlock>;

// What `near` gives, and of angles that are far what `far` does. `x` and `y` may be the same.
template <typename Near, typename Far>
[[gnu::always_inline]] inline void turn(const float* x, float* y, std::int64_t count, Near near, Far far) {
  for (std::int64_t first = 0; first < count; first += kBlock) {
    const auto some = std::min(kBlock, count - first);
    Block angles;
    std::copy_n(x + first, some, angles.data());
    unsigned any = 0;
    for (std::int64_t i = 0; i < some; ++i) {
      const float angle = angles[static_cast<std::size_t>(i)];
      any |= is_far(angle);
      y[first + i] = near(angle);
    }
    if (any == 0) continue;
    for (std::int64_t i = 0; i < some; ++i) {
      const float angle = angles[static_cast<std::size_t>(i)];
      if (is_far(angle) != 0) y[first + i] = far(angle);
    }
  }
}
WIDE_CLONES void sin_all(const float* x, float* y, std::int64_t count) {
  turn(
      x, y, count, [](float angle) { return sin_of(angle); }, [](float angle) { return std::sin(angle); });
}
WIDE_CLONES void cos_all(const float* x, float* y, std::int64_t count) {
  turn(
      x, y, count, [](float angle) { return cos_of(angle); }, [](float angle) { return std::cos(angle); });
}

struct Named {
  std::string_view name;
  RowFunction function;
};
constexpr std::array kFunctions = {Named{"relu", relu_all},
                                   Named{"gelu", gelu_all},
                                   Named{"gelu_tanh", gelu_tanh_all},
                                   Named{"silu", silu_all},
                                   Named{"sigmoid", sigmoid_all},
                                   Named{"tanh", tanh_all},
                                   Named{"sin", sin_all},
                                   Named{"cos", cos_all},
                                   Named{"relu6", relu6_all},
                                   Named{"hardswish", hardswish_all},
                                   Named{"hardsigmoid", hardsigmoid_all},
                                   Named{"leaky_relu 0.01", leaky_relu_1_all},
                                   Named{"leaky_relu 0.1", leaky_relu_10_all},
                                   Named{"leaky_relu 0.2", leaky_relu_20_all}};

void run(RowFunction function, const float* x, float* y, std::int64_t count) {
  RECORD_FUNCTION("wide::activation", std::vector<c10::IValue>());
  parallel_ranges(count, kNumbersPerThread,
                  [&](std::int64_t begin, std::int64_t end) { function(x + begin, y + begin, end - begin); });
}

}  // namespace

float gelu_of_infinity() {
  static const float answer = [] {
    // No dispatcher: nothing that watches operators sees the question.
    std::array<float, 64> x, y;
    x.fill(std::numeric_limits<float>::infinity());
    const auto size = static_cast<std::int64_t>(x.size());
    auto result = at::from_blob(y.data(), {size});
    at::cpu::gelu_out(result, at::from_blob(x.data(), {size}));
    return y[0];
  }();
  return answer;
}

RowFunction row_function(std::string_view activation) {
  const auto found = std::find_if(kFunctions.begin(), kFunctions.end(),
                                  [&](const Named& one) { return one.name == activation; });
  return found == kFunctions.end() ? nullptr : found->function;
}

at::Tensor apply(RowFunction function, const at::Tensor& x) {
  auto y = at::empty_like(x);
  run(function, x.const_data_ptr<float>(), y.mutable_data_ptr<float>(), x.numel());
  return y;
}

void apply_in_place(RowFunction function, at::Tensor& x) {
  run(function, x.const_data_ptr<float>(), x.mutable_data_ptr<float>(), x.numel());
}

}  // namespace wide::kernels
