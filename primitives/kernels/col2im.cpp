#include "primitives/kernels/col2im.h"

#include <ATen/ATen.h>
#include <ATen/record_function.h>

#include <algorithm>
#include <vector>

#include "core/aten/parallel.h"
#include "primitives/kernels/clones.h"

namespace wide::kernels {
namespace {

// y[i · step] += x[i]; the usual steps are literals, so that the compiler can shuffle instead of scattering.
WIDE_CLONES void add_row(const float* __restrict x, float* __restrict y, std::int64_t count,
                         std::int64_t step) {
  if (step == 1) {
    for (std::int64_t i = 0; i < count; ++i) y[i] += x[i];
  } else if (step == 2) {
    for (std::int64_t i = 0; i < count; ++i) y[2 * i] += x[i];
  } else {
    for (std::int64_t i = 0; i < count; ++i) y[step * i] += x[i];
  }
}

// The patches [first, end) along one axis whose element `k` lies within the output.
struct Range {
  std::int64_t first, end, start;  ///< start: where the first lies
};
Range inside(const Patches& of, std::size_t axis, std::int64_t k) {
  const auto offset = k * of.dilation[axis] - of.padding[axis], step = of.stride[axis];
  const auto first = offset < 0 ? (-offset + step - 1) / step : 0;
  const auto room = of.output[axis] - 1 - offset;
  const auto end = room < 0 ? 0 : std::min(of.input[axis], room / step + 1);
  return {first, std::max(first, end), offset + first * step};
}

}  // namespace

at::Tensor add_patches(const at::Tensor& columns, const at::Tensor& bias, const Patches& of) {
  const auto planes = columns.size(0), in = of.input[0] * of.input[1], out = of.output[0] * of.output[1];
  const auto taps = of.kernel[0] * of.kernel[1];
  auto y = at::empty({planes, of.output[0], of.output[1]}, columns.options());
  RECORD_FUNCTION("wide::col2im", std::vector<c10::IValue>());
  const float* from = columns.const_data_ptr<float>();
  const float* biases = bias.defined() ? bias.const_data_ptr<float>() : nullptr;
  float* to = y.mutable_data_ptr<float>();
  const auto grain = std::max<std::int64_t>(1, kNumbersPerThread / std::max<std::int64_t>(1, in * taps));
  parallel_ranges(planes, grain, [&](std::int64_t begin, std::int64_t end) {
    for (auto plane = begin; plane < end; ++plane) {
      float* target = to + plane * out;
      std::fill_n(target, out, biases ? biases[plane] : 0.0F);
      for (std::int64_t tap = 0; tap < taps; ++tap) {
        const auto rows = inside(of, 0, tap / of.kernel[1]), places = inside(of, 1, tap % of.kernel[1]);
        const float* source = from + (plane * taps + tap) * in;
        for (auto row = rows.first; row < rows.end; ++row) {
          const auto at = rows.start + (row - rows.first) * of.stride[0];
          add_row(source + row * of.input[1] + places.first, target + at * of.output[1] + places.start,
                  places.end - places.first, of.stride[1]);
        }
      }
    }
  });
  return y;
}

}  // namespace wide::kernels
