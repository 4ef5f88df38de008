#include "primitives/kernels/tile_functions.h"

#include <algorithm>
#include <array>
#include <cmath>

#include "primitives/kernels/activate.h"
#include "primitives/kernels/clones.h"
#include "primitives/kernels/functions.h"

namespace wide::kernels {
namespace {

// A function of tiles by what it does to one number of each operand, a, b and c.
#define WIDE_TILE_1(name, expression)                                                        \
  WIDE_CLONES void name(const float* const* in, float* __restrict out, std::int64_t count) { \
    const float* const x = in[0];                                                            \
    for (std::int64_t i = 0; i < count; ++i) {                                               \
      const float a = x[i];                                                                  \
      out[i] = expression;                                                                   \
    }                                                                                        \
  }
#define WIDE_TILE_2(name, expression)                                                        \
  WIDE_CLONES void name(const float* const* in, float* __restrict out, std::int64_t count) { \
    const float *const x = in[0], *const y = in[1];                                          \
    for (std::int64_t i = 0; i < count; ++i) {                                               \
      const float a = x[i], b = y[i];                                                        \
      out[i] = expression;                                                                   \
    }                                                                                        \
  }
#define WIDE_TILE_3(name, expression)                                                        \
  WIDE_CLONES void name(const float* const* in, float* __restrict out, std::int64_t count) { \
    const float *const x = in[0], *const y = in[1], *const z = in[2];                        \
    for (std::int64_t i = 0; i < count; ++i) {                                               \
      const float a = x[i], b = y[i], c = z[i];                                              \
      out[i] = expression;                                                                   \
    }                                                                                        \
  }

// NaN stays NaN in all of them.
[[gnu::always_inline]] inline float most(float a, float b) {
  return a != a || a > b ? a : b;
}
[[gnu::always_inline]] inline float least(float a, float b) {
  return a != a || a < b ? a : b;
}
[[gnu::always_inline]] inline float up_to_six(float a) {
  return least(most(a + 3.0F, 0.0F), 6.0F);
}

WIDE_TILE_2(add_tile, a + b)
WIDE_TILE_2(sub_tile, a - b)
WIDE_TILE_2(mul_tile, a* b)
WIDE_TILE_2(div_tile, a / b)
WIDE_TILE_3(add_scaled_tile, a + c * b)
WIDE_TILE_3(sub_scaled_tile, a - c * b)
WIDE_TILE_2(maximum_tile, most(a, b))
WIDE_TILE_2(minimum_tile, least(a, b))
WIDE_TILE_3(clamp_tile, least(most(a, b), c))
WIDE_TILE_1(neg_tile, -a)
WIDE_TILE_1(abs_tile, std::fabs(a))
WIDE_TILE_1(square_tile, a* a)
WIDE_TILE_1(cube_tile, a* a* a)
WIDE_TILE_1(sqrt_tile, std::sqrt(a))
WIDE_TILE_1(rsqrt_tile, 1.0F / std::sqrt(a))
WIDE_TILE_1(reciprocal_tile, 1.0F / a)
WIDE_TILE_1(exp_tile, whole_exp_of(a))
WIDE_TILE_1(log_tile, log_of(a))
WIDE_TILE_1(relu_tile, relu_of(a))
WIDE_TILE_1(gelu_tanh_tile, gelu_tanh_of(a))
WIDE_TILE_1(silu_tile, silu_of(a))
WIDE_TILE_1(sigmoid_tile, sigmoid_of(a))
WIDE_TILE_1(tanh_tile, tanh_of(a))
WIDE_TILE_2(leaky_relu_tile, a > 0 ? a : a * b)
WIDE_TILE_1(hardswish_tile, a* up_to_six(a) / 6.0F)
WIDE_TILE_1(hardsigmoid_tile, up_to_six(a) / 6.0F)
WIDE_TILE_3(where_tile, a != 0 ? b : c)
WIDE_TILE_2(gt_tile, a > b ? 1.0F : 0.0F)
WIDE_TILE_2(ge_tile, a >= b ? 1.0F : 0.0F)
WIDE_TILE_1(not_tile, a != 0 ? 0.0F : 1.0F)

WIDE_CLONES bool few_turns(const float* x, std::int64_t count) {
  std::uint32_t far = 0;
  for (std::int64_t i = 0; i < count; ++i) far |= std::fabs(x[i]) <= kMostAngle ? 0U : 1U;
  return far == 0;
}
WIDE_TILE_1(near_sin, sin_of(a))
WIDE_TILE_1(near_cos, cos_of(a))

// Angles of many turns are rare, and left to libm.
void sin_tile(const float* const* in, float* out, std::int64_t count) {
  if (few_turns(in[0], count)) return near_sin(in, out, count);
  for (std::int64_t i = 0; i < count; ++i) out[i] = std::sin(in[0][i]);
}
void cos_tile(const float* const* in, float* out, std::int64_t count) {
  if (few_turns(in[0], count)) return near_cos(in, out, count);
  for (std::int64_t i = 0; i < count; ++i) out[i] = std::cos(in[0][i]);
}

void gelu_tile(const float* const* in, float* out, std::int64_t count) {
  static const auto gelu = row_function("gelu");
  gelu(in[0], out, count);
}

struct Named {
  std::string_view name;
  TileFunction function;
};
constexpr std::array kFunctions = std::to_array<Named>({{"add", add_tile},
                                                        {"sub", sub_tile},
                                                        {"mul", mul_tile},
                                                        {"div", div_tile},
                                                        {"add_scaled", add_scaled_tile},
                                                        {"sub_scaled", sub_scaled_tile},
                                                        {"maximum", maximum_tile},
                                                        {"minimum", minimum_tile},
                                                        {"clamp", clamp_tile},
                                                        {"neg", neg_tile},
                                                        {"abs", abs_tile},
                                                        {"square", square_tile},
                                                        {"cube", cube_tile},
                                                        {"sqrt", sqrt_tile},
                                                        {"rsqrt", rsqrt_tile},
                                                        {"reciprocal", reciprocal_tile},
                                                        {"exp", exp_tile},
                                                        {"log", log_tile},
                                                        {"sin", sin_tile},
                                                        {"cos", cos_tile},
                                                        {"relu", relu_tile},
                                                        {"gelu", gelu_tile},
                                                        {"gelu_tanh", gelu_tanh_tile},
                                                        {"silu", silu_tile},
                                                        {"sigmoid", sigmoid_tile},
                                                        {"tanh", tanh_tile},
                                                        {"leaky_relu", leaky_relu_tile},
                                                        {"hardswish", hardswish_tile},
                                                        {"hardsigmoid", hardsigmoid_tile},
                                                        {"where", where_tile},
                                                        {"gt", gt_tile},
                                                        {"ge", ge_tile},
                                                        {"not", not_tile}});

}  // namespace

TileFunction tile_function(std::string_view name) {
  const auto found = std::ranges::find(kFunctions, name, &Named::name);
  return found == kFunctions.end() ? nullptr : found->function;
}

}  // namespace wide::kernels
