#include "primitives/kernels/max_pool.h"

#include <ATen/ATen.h>
#include <ATen/record_function.h>

#include <algorithm>
#include <limits>
#include <vector>

#include "core/aten/parallel.h"
#include "primitives/kernels/clones.h"

namespace wide::kernels {
namespace {

struct Plane {
  const float* x;
  float* y;
  std::int64_t height, width, rows, columns;
};

// y[i] = max(y[i], x[i * stride]), a NaN stays.
[[gnu::always_inline]] inline void take_larger(const float* x, float* y, std::int64_t stride,
                                               std::int64_t count) {
  for (std::int64_t i = 0; i < count; ++i) {
    const float value = x[i * stride], most = y[i];
    y[i] = static_cast<int>(value > most) | static_cast<int>(value != value) ? value : most;
  }
}

// The first place whose window reaches 0 or more with this offset.
std::int64_t first_inside(std::int64_t offset, std::int64_t stride) {
  return offset >= 0 ? 0 : (-offset + stride - 1) / stride;
}

WIDE_CLONES void pool_plane(const Plane& plane, const Window& window) {
  std::fill_n(plane.y, plane.rows * plane.columns, -std::numeric_limits<float>::infinity());
  for (std::int64_t row = 0; row < plane.rows; ++row) {
    for (std::int64_t i = 0; i < window.size[0]; ++i) {
      const auto h = row * window.stride[0] - window.padding[0] + i * window.dilation[0];
      if (h < 0 || h >= plane.height) continue;
      for (std::int64_t j = 0; j < window.size[1]; ++j) {
        const auto offset = j * window.dilation[1] - window.padding[1], stride = window.stride[1];
        const auto first = first_inside(offset, stride);
        const auto end = std::min(plane.columns, (plane.width - offset + stride - 1) / stride);
        const float* x = plane.x + h * plane.width + first * stride + offset;
        float* y = plane.y + row * plane.columns + first;
        take_larger(x, y, stride, end - first);
      }
    }
  }
}

}  // namespace

at::Tensor max_pool2d(const at::Tensor& given, const Window& window, std::int64_t rows,
                      std::int64_t columns) {
  const auto x = given.contiguous();
  auto shape = x.sizes().vec();
  const auto height = shape[shape.size() - 2], width = shape.back();
  shape[shape.size() - 2] = rows, shape.back() = columns;
  auto y = at::empty(shape, x.options());
  if (y.numel() == 0) return y;
  RECORD_FUNCTION("wide::max_pool2d", std::vector<c10::IValue>());
  const float* source = x.const_data_ptr<float>();
  float* target = y.mutable_data_ptr<float>();
  parallel_ranges(
      x.numel() / (height * width), std::max<std::int64_t>(1, kNumbersPerThread / (height * width)),
      [&](std::int64_t begin, std::int64_t end) {
        for (auto i = begin; i < end; ++i)
          pool_plane({source + i * height * width, target + i * rows * columns, height, width, rows, columns},
                     window);
      });
  return y;
}

}  // namespace wide::kernels
