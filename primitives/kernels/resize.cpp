#include "primitives/kernels/resize.h"

#include <ATen/ATen.h>
#include <ATen/record_function.h>

#include <algorithm>
#include <cmath>
#include <vector>

#include "core/aten/parallel.h"
#include "primitives/kernels/clones.h"

namespace wide::kernels {
namespace {

// Whether each column but the first and the last is made as where a row is doubled: of two neighbours, a
// quarter of the one and three quarters of the other.
bool doubles(const LinearPlaces& places, std::int64_t width) {
  const auto count = std::ssize(places.first);
  if (count != 2 * width) return false;
  for (std::int64_t i = 1; i + 1 < count; ++i) {
    const auto k = static_cast<std::size_t>(i);
    const auto left = static_cast<std::int32_t>((i - 1) / 2);
    const float of_left = i % 2 == 0 ? 0.25F : 0.75F;
    if (places.first[k] != left || places.second[k] != left + 1 || places.of_first[k] != of_left ||
        places.of_second[k] != 1 - of_left)
      return false;
  }
  return true;
}

struct Planes {
  const float* x;
  float* y;
  std::int64_t count, height, width;
};

[[gnu::always_inline]] inline void mix_columns(const float* x, float* __restrict y,
                                               const LinearPlaces& places, std::int64_t begin,
                                               std::int64_t end) {
  const auto *first = places.first.data(), *second = places.second.data();
  const auto *of_first = places.of_first.data(), *of_second = places.of_second.data();
  for (auto i = begin; i < end; ++i) y[i] = x[first[i]] * of_first[i] + x[second[i]] * of_second[i];
}

[[gnu::always_inline]] inline void mix_row(const float* x, float* __restrict y, const LinearPlaces& places,
                                           bool doubled, std::int64_t width) {
  if (!doubled) return mix_columns(x, y, places, 0, std::ssize(places.first));
  mix_columns(x, y, places, 0, 1);
  for (std::int64_t i = 0; i + 1 < width; ++i) {
    y[2 * i + 1] = x[i] * 0.75F + x[i + 1] * 0.25F;
    y[2 * i + 2] = x[i] * 0.25F + x[i + 1] * 0.75F;
  }
  mix_columns(x, y, places, 2 * width - 1, 2 * width);
}

// `room` holds two rows of x with their columns mixed: the next row of the result mostly needs them again.
WIDE_CLONES void mix_planes(const Planes& planes, const LinearPlaces& rows, const LinearPlaces& columns,
                            float* __restrict room) {
  const auto count = std::ssize(columns.first);
  const bool doubled = doubles(columns, planes.width);
  float* y = planes.y;
  for (std::int64_t plane = 0; plane < planes.count; ++plane) {
    const float* x = planes.x + plane * planes.height * planes.width;
    std::int32_t known[2] = {-1, -1};
    for (std::size_t i = 0; i < rows.first.size(); ++i, y += count) {
      const std::int32_t wanted[2] = {rows.first[i], rows.second[i]};
      const float* mixed[2];
      for (int k = 0; k < 2; ++k) {
        // Where it is, or else where the other one is not.
        const int held =
            known[1] == wanted[k] || (known[0] != wanted[k] && known[0] == wanted[1 - k]) ? 1 : 0;
        mixed[k] = room + held * count;
        if (known[held] == wanted[k]) continue;
        known[held] = wanted[k];
        mix_row(x + wanted[k] * planes.width, room + held * count, columns, doubled, planes.width);
      }
      const float *upper = mixed[0], *lower = mixed[1];
      const float of_upper = rows.of_first[i], of_lower = rows.of_second[i];
      for (std::int64_t c = 0; c < count; ++c) y[c] = upper[c] * of_upper + lower[c] * of_lower;
    }
  }
}

WIDE_CLONES void gather_columns(const float* x, float* y, const std::int32_t* from, std::int64_t count) {
  for (std::int64_t i = 0; i < count; ++i) y[i] = x[from[i]];
}

WIDE_CLONES void double_columns(const float* x, float* y, std::int64_t width) {
  for (std::int64_t i = 0; i < width; ++i) y[2 * i] = x[i], y[2 * i + 1] = x[i];
}

// work(x of the first, y of the first, how many) for planes of x [..., H, W] and y [..., rows, columns].
template <typename Work>
at::Tensor over_planes_of(const char* name, const at::Tensor& given, std::vector<std::int64_t> shape,
                          std::int64_t numbers_in, const Work& work) {
  const auto x = given.contiguous();
  auto y = at::empty(shape, x.options());
  if (y.numel() == 0) return y;
  RECORD_FUNCTION(name, std::vector<c10::IValue>());
  const float* source = x.const_data_ptr<float>();
  float* target = y.mutable_data_ptr<float>();
  const auto count = x.numel() / numbers_in, numbers_out = y.numel() / count;
  parallel_ranges(count, std::max<std::int64_t>(1, kNumbersPerThread / numbers_out),
                  [&](std::int64_t begin, std::int64_t end) {
                    work(source + begin * numbers_in, target + begin * numbers_out, end - begin);
                  });
  return y;
}

std::vector<std::int64_t> resized_shape(const at::Tensor& x, std::int64_t rows, std::int64_t columns) {
  auto shape = x.sizes().vec();
  shape[shape.size() - 2] = rows, shape.back() = columns;
  return shape;
}

// y[w * factor] = x[w] for one of the columns that a pixel is spread over.
template <int kFactor>
[[gnu::always_inline]] inline void spread(const float* x, float* y, std::int64_t factor, std::int64_t step,
                                          std::int64_t count) {
  if (kFactor) factor = kFactor;
  if (kFactor == 2) {
    for (std::int64_t w = 0; w < count; ++w) y[2 * w] = x[w], y[2 * w + 1] = x[w + step];
    return;
  }
  for (std::int64_t j = 0; j < factor; ++j)
    for (std::int64_t w = 0; w < count; ++w) y[w * factor + j] = x[w + j * step];
}
WIDE_CLONES void shuffle_plane(const float* x, float* y, std::int64_t factor, std::int64_t height,
                               std::int64_t width) {
  const auto step = height * width;
  for (std::int64_t h = 0; h < height; ++h) {
    for (std::int64_t i = 0; i < factor; ++i, y += width * factor) {
      const float* from = x + i * factor * step + h * width;
      if (factor == 2) {
        spread<2>(from, y, factor, step, width);
      } else {
        spread<0>(from, y, factor, step, width);
      }
    }
  }
}

}  // namespace

LinearPlaces linear_places(std::int64_t extent, const Resized& to, bool align_corners) {
  LinearPlaces places;
  const bool same = to.extent == extent;
  const auto in = static_cast<float>(extent), out = static_cast<float>(to.extent);
  float scale = to.factor && *to.factor > 0 ? static_cast<float>(1.0 / *to.factor) : in / out;
  if (align_corners)
    scale = to.extent > 1 ? static_cast<float>(extent - 1) / static_cast<float>(to.extent - 1) : 0.0F;
  for (std::int64_t i = 0; i < to.extent; ++i) {
    const auto at = static_cast<float>(i);
    // Rounded once, as by ATen's code for processors that can: a weight of 0 makes NaN of infinities.
    const float centred = std::fma(scale, at + 0.5F, -0.5F);
    const float place = same ? at : align_corners ? scale * at : std::max(0.0F, centred);
    const auto first = std::min(static_cast<std::int64_t>(place), extent - 1);
    const float second = std::min(std::max(place - static_cast<float>(first), 0.0F), 1.0F);
    places.first.push_back(static_cast<std::int32_t>(first));
    places.second.push_back(static_cast<std::int32_t>(same ? first : std::min(first + 1, extent - 1)));
    places.of_first.push_back(1.0F - second);
    places.of_second.push_back(second);
  }
  return places;
}

at::Tensor bilinear2d(const at::Tensor& x, const LinearPlaces& rows, const LinearPlaces& columns) {
  const auto height = x.size(-2), width = x.size(-1), count_out = std::ssize(columns.first);
  return over_planes_of("wide::bilinear2d", x, resized_shape(x, std::ssize(rows.first), count_out),
                        height * width, [&](const float* from, float* to, std::int64_t count) {
                          std::vector<float> room(2 * columns.first.size());
                          mix_planes({from, to, count, height, width}, rows, columns, room.data());
                        });
}

NearestPlaces nearest_places(std::int64_t height, std::int64_t width, const Resized& rows,
                             const Resized& columns, bool exact) {
  const auto places = [&](const at::Tensor& numbers, std::size_t axis) {
    const auto plane = numbers.to(at::kDouble).expand({1, 1, height, width});
    const std::vector<std::int64_t> size{rows.extent, columns.extent};
    const auto found = exact ? at::_upsample_nearest_exact2d(plane, size, rows.factor, columns.factor)
                             : at::upsample_nearest2d(plane, size, rows.factor, columns.factor);
    const auto all = found[0][0].select(axis == 0 ? 1 : 0, 0).to(at::kInt).contiguous();
    const auto* begin = all.const_data_ptr<std::int32_t>();
    return std::vector<std::int32_t>(begin, begin + all.numel());
  };
  return {places(at::arange(height).unsqueeze(1), 0), places(at::arange(width), 1)};
}

at::Tensor nearest2d(const at::Tensor& x, const NearestPlaces& places) {
  const auto height = x.size(-2), width = x.size(-1), count_out = std::ssize(places.columns);
  const auto &rows = places.rows, &columns = places.columns;
  bool doubled = count_out == 2 * width;
  for (std::int64_t i = 0; i < count_out; ++i)
    doubled = doubled && columns[static_cast<std::size_t>(i)] == static_cast<std::int32_t>(i / 2);
  return over_planes_of("wide::nearest2d", x, resized_shape(x, std::ssize(rows), count_out), height * width,
                        [&](const float* from, float* to, std::int64_t count) {
                          for (std::int64_t plane = 0; plane < count; ++plane, from += height * width) {
                            for (std::size_t i = 0; i < rows.size(); ++i, to += count_out) {
                              if (i > 0 && rows[i] == rows[i - 1]) {
                                std::copy_n(to - count_out, count_out, to);
                              } else if (doubled) {
                                double_columns(from + rows[i] * width, to, width);
                              } else {
                                gather_columns(from + rows[i] * width, to, columns.data(), count_out);
                              }
                            }
                          }
                        });
}

at::Tensor pixel_shuffle(const at::Tensor& x, std::int64_t factor) {
  const auto height = x.size(-2), width = x.size(-1), block = factor * factor * height * width;
  auto shape = resized_shape(x, height * factor, width * factor);
  shape[shape.size() - 3] /= factor * factor;
  return over_planes_of("wide::pixel_shuffle", x, std::move(shape), block,
                        [&](const float* from, float* to, std::int64_t count) {
                          for (std::int64_t c = 0; c < count; ++c, from += block, to += block)
                            shuffle_plane(from, to, factor, height, width);
                        });
}

}  // namespace wide::kernels
