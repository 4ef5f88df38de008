#include "primitives/kernels/pool.h"

#include <ATen/ATen.h>
#include <ATen/record_function.h>

#include <algorithm>
#include <limits>
#include <vector>

#include "core/aten/parallel.h"
#include "primitives/kernels/clones.h"
#include "primitives/kernels/sums.h"

namespace wide::kernels {
namespace {

struct Plane {
  const float* x;
  float* y;
  std::int64_t height, width, rows, columns;
};

// y[i] = max(y[i], x[i * stride]), a NaN stays.
struct Larger {
  static constexpr float kFirst = -std::numeric_limits<float>::infinity();
  [[gnu::always_inline]] static float take(float most, float value) {
    return static_cast<int>(value > most) | static_cast<int>(value != value) ? value : most;
  }
};
struct Sum {
  static constexpr float kFirst = 0;
  [[gnu::always_inline]] static float take(float sum, float value) { return sum + value; }
};

// With a stride that the compiler knows it loads vectors and shuffles them.
template <typename Take, int kStride>
[[gnu::always_inline]] inline void take_strided(const float* x, float* y, std::int64_t stride,
                                                std::int64_t count) {
  if (kStride) stride = kStride;
  for (std::int64_t i = 0; i < count; ++i) y[i] = Take::take(y[i], x[i * stride]);
}

// The first place whose window reaches 0 or more with this offset.
[[gnu::always_inline]] inline std::int64_t first_inside(std::int64_t offset, std::int64_t stride) {
  return offset >= 0 ? 0 : (-offset + stride - 1) / stride;
}

// Windows of two by two, side by side: what most models have. In the order of the general loops.
template <typename Take>
[[gnu::always_inline]] inline void halve_plane(const Plane& plane) {
  for (std::int64_t row = 0; row < plane.rows; ++row) {
    const float *a = plane.x + 2 * row * plane.width, *b = a + plane.width;
    float* y = plane.y + row * plane.columns;
    for (std::int64_t i = 0; i < plane.columns; ++i) {
      const float upper = Take::take(Take::take(Take::kFirst, a[2 * i]), a[2 * i + 1]);
      y[i] = Take::take(Take::take(upper, b[2 * i]), b[2 * i + 1]);
    }
  }
}

bool halves(const Plane& plane, const Window& window) {
  const std::array<std::int64_t, 2> two = {2, 2};
  return window.size == two && window.stride == two && window.padding == std::array<std::int64_t, 2>{0, 0} &&
         window.dilation == std::array<std::int64_t, 2>{1, 1} && 2 * plane.rows <= plane.height &&
         2 * plane.columns <= plane.width;
}

template <typename Take>
[[gnu::always_inline]] inline void pool_plane(const Plane& plane, const Window& window) {
  if (halves(plane, window)) return halve_plane<Take>(plane);
  for (std::int64_t i = 0; i < plane.rows * plane.columns; ++i) plane.y[i] = Take::kFirst;
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
        if (stride == 1) {
          take_strided<Take, 1>(x, y, stride, end - first);
        } else if (stride == 2) {
          take_strided<Take, 2>(x, y, stride, end - first);
        } else {
          take_strided<Take, 0>(x, y, stride, end - first);
        }
      }
    }
  }
}

WIDE_CLONES void pool_largest(const Plane& plane, const Window& window) {
  pool_plane<Larger>(plane, window);
}
WIDE_CLONES void pool_average(const Plane& plane, const Window& window, const float* divisors) {
  pool_plane<Sum>(plane, window);
  for (std::int64_t i = 0; i < plane.rows * plane.columns; ++i) plane.y[i] /= divisors[i];
}

struct Span {
  std::int64_t begin, count;
};
[[gnu::always_inline]] inline Span share_of(std::int64_t place, std::int64_t places, std::int64_t extent) {
  const auto begin = place * extent / places;
  return {begin, ((place + 1) * extent + places - 1) / places - begin};
}

// Of several windows side by side, the columns are added first, for all of them; in rows of room.
WIDE_CLONES void average_shares(const Plane& plane, double* sums, float* some) {
  for (std::int64_t row = 0; row < plane.rows; ++row) {
    const auto [top, down] = share_of(row, plane.rows, plane.height);
    const float* x = plane.x + top * plane.width;
    float* y = plane.y + row * plane.columns;
    if (plane.columns == 1) {
      y[0] = static_cast<float>(sum_of(x, down * plane.width)) / static_cast<float>(down * plane.width);
      continue;
    }
    add_rows(x, down, plane.width, sums, some);
    for (std::int64_t i = 0; i < plane.columns; ++i) {
      const auto [left, across] = share_of(i, plane.columns, plane.width);
      double sum = 0;
      for (std::int64_t k = 0; k < across; ++k) sum += sums[left + k];
      y[i] = static_cast<float>(sum) / static_cast<float>(down * across);
    }
  }
}

// work(plane) for all planes of x [..., H, W] and y [..., rows, columns].
template <typename Work>
at::Tensor over_planes(const char* name, const at::Tensor& given, std::int64_t rows, std::int64_t columns,
                       const Work& work) {
  const auto x = given.contiguous();
  auto shape = x.sizes().vec();
  const auto height = shape[shape.size() - 2], width = shape.back();
  shape[shape.size() - 2] = rows, shape.back() = columns;
  auto y = at::empty(shape, x.options());
  if (y.numel() == 0) return y;
  RECORD_FUNCTION(name, std::vector<c10::IValue>());
  const float* source = x.const_data_ptr<float>();
  float* target = y.mutable_data_ptr<float>();
  parallel_ranges(
      x.numel() / (height * width), std::max<std::int64_t>(1, kNumbersPerThread / (height * width)),
      [&](std::int64_t begin, std::int64_t end) {
        for (auto i = begin; i < end; ++i)
          work(Plane{source + i * height * width, target + i * rows * columns, height, width, rows, columns});
      });
  return y;
}

// One place of the result, all its channels: of windows of rows of channels.
struct Place {
  const float* image;
  float* y;
  std::int64_t height, width, channels, row, column;
};

template <typename Take>
[[gnu::always_inline]] inline void pool_place(const Place& place, const Window& window) {
  float* __restrict y = place.y;
  for (std::int64_t c = 0; c < place.channels; ++c) y[c] = Take::kFirst;
  for (std::int64_t i = 0; i < window.size[0]; ++i) {
    const auto h = place.row * window.stride[0] - window.padding[0] + i * window.dilation[0];
    if (h < 0 || h >= place.height) continue;
    for (std::int64_t j = 0; j < window.size[1]; ++j) {
      const auto w = place.column * window.stride[1] - window.padding[1] + j * window.dilation[1];
      if (w < 0 || w >= place.width) continue;
      const float* __restrict x = place.image + (h * place.width + w) * place.channels;
      for (std::int64_t c = 0; c < place.channels; ++c) y[c] = Take::take(y[c], x[c]);
    }
  }
}
WIDE_CLONES void largest_of_place(const Place& place, const Window& window) {
  pool_place<Larger>(place, window);
}
WIDE_CLONES void average_of_place(const Place& place, const Window& window, float divisor) {
  pool_place<Sum>(place, window);
  for (std::int64_t c = 0; c < place.channels; ++c) place.y[c] /= divisor;
}

// work(place, number of the place in its plane) for all places of all images.
template <typename Work>
at::Tensor over_places(const char* name, const at::Tensor& given, std::int64_t rows, std::int64_t columns,
                       const Work& work) {
  const auto x = given.permute({0, 2, 3, 1}).contiguous();
  const auto height = x.size(1), width = x.size(2), channels = x.size(3);
  auto y = at::empty({x.size(0), rows, columns, channels}, x.options());
  if (y.numel() != 0) {
    RECORD_FUNCTION(name, std::vector<c10::IValue>());
    const float* source = x.const_data_ptr<float>();
    float* target = y.mutable_data_ptr<float>();
    const auto places = rows * columns, read = std::max<std::int64_t>(1, x.numel() / (x.size(0) * places));
    parallel_ranges(x.size(0) * places, std::max<std::int64_t>(1, kNumbersPerThread / read),
                    [&](std::int64_t begin, std::int64_t end) {
                      for (auto i = begin; i < end; ++i) {
                        const auto image = i / places, place = i % places;
                        work(Place{source + image * height * width * channels, target + i * channels, height,
                                   width, channels, place / columns, place % columns},
                             static_cast<std::size_t>(place));
                      }
                    });
  }
  return y.permute({0, 3, 1, 2});
}

// How many numbers the windows along an axis hold; with the padding, but no further, where it counts. None
// holds less than one: what has nothing to average is 0.
std::vector<std::int64_t> counts(const Window& window, std::size_t axis, std::int64_t extent,
                                 std::int64_t places, bool padding) {
  std::vector<std::int64_t> all;
  for (std::int64_t i = 0; i < places; ++i) {
    const auto begin = i * window.stride[axis] - window.padding[axis];
    const auto end = std::min(begin + window.size[axis], extent + window.padding[axis]);
    all.push_back(std::max<std::int64_t>(
        1, padding ? end - begin : std::min(end, extent) - std::max<std::int64_t>(begin, 0)));
  }
  return all;
}

}  // namespace

at::Tensor max_pool2d(const at::Tensor& x, const Window& window, std::int64_t rows, std::int64_t columns,
                      Order order) {
  if (order == Order::kChannelsLast)
    return over_places("wide::max_pool2d", x, rows, columns,
                       [&](const Place& place, std::size_t) { largest_of_place(place, window); });
  return over_planes("wide::max_pool2d", x, rows, columns,
                     [&](const Plane& plane) { pool_largest(plane, window); });
}

at::Tensor avg_pool2d(const at::Tensor& x, const Window& window, std::int64_t rows, std::int64_t columns,
                      bool counts_padding, std::int64_t divisor, Order order) {
  std::vector<float> divisors;
  const auto across = counts(window, 1, x.size(-1), columns, counts_padding);
  for (const auto down : counts(window, 0, x.size(-2), rows, counts_padding))
    for (const auto one : across) divisors.push_back(static_cast<float>(divisor ? divisor : down * one));
  if (order == Order::kChannelsLast) {
    return over_places("wide::avg_pool2d", x, rows, columns, [&](const Place& place, std::size_t number) {
      average_of_place(place, window, divisors[number]);
    });
  }
  return over_planes("wide::avg_pool2d", x, rows, columns,
                     [&](const Plane& plane) { pool_average(plane, window, divisors.data()); });
}

at::Tensor adaptive_avg_pool2d(const at::Tensor& x, std::int64_t rows, std::int64_t columns) {
  return over_planes("wide::adaptive_avg_pool2d", x, rows, columns, [](const Plane& plane) {
    thread_local std::vector<double> sums;
    thread_local std::vector<float> some;
    sums.resize(static_cast<std::size_t>(plane.width)), some.resize(sums.size());
    average_shares(plane, sums.data(), some.data());
  });
}

}  // namespace wide::kernels
