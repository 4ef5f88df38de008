#include "primitives/kernels/winograd_tiles.h"

#include <algorithm>

#include "primitives/kernels/clones.h"
#include "primitives/kernels/winograd_transforms.h"

namespace wide::kernels::winograd {
namespace {

// The transform of one row or column of a tile for kLanes channels; steps are between its places.
template <class Form>
[[gnu::always_inline]] inline void transform_line(const float* __restrict from, std::int64_t from_step,
                                                  float* __restrict to, std::int64_t to_step) {
  constexpr int kEdge = Form::kTile + 2;
  for (std::int64_t l = 0; l < kLanes; ++l) {
    float d[kEdge], t[kEdge];
#pragma GCC unroll 8
    for (int i = 0; i < kEdge; ++i) d[i] = from[i * from_step + l];
    Form::pixels(d, t);
#pragma GCC unroll 8
    for (int i = 0; i < kEdge; ++i) to[i * to_step + l] = t[i];
  }
}

// One tile of `channels` channels: to[place · step + channel] for all places. `from` is the tile's first
// pixel, within the image or not.
template <class Form>
[[gnu::always_inline]] inline void transform_pixels(const float* from, const Window& window,
                                                    std::int64_t channels, float* to, std::int64_t step) {
  constexpr int kEdge = Form::kTile + 2;
  for (std::int64_t c = 0; c < channels; c += kLanes) {
    const auto count = std::min(kLanes, channels - c);
    alignas(64) float half[kEdge * kEdge][kLanes];
    for (int j = 0; j < kEdge; ++j) {
      const float* column = from + j * window.place_step + c;
      if (window.whole && count == kLanes) {
        transform_line<Form>(column, window.row_step, half[j], kEdge * kLanes);
        continue;
      }
      alignas(64) float part[kEdge][kLanes] = {};
      if (j >= window.first_place && j < window.end_place) {
        for (int i = window.first_row; i < window.end_row; ++i)
          std::copy_n(column + i * window.row_step, count, part[i]);
      }
      transform_line<Form>(part[0], kLanes, half[j], kEdge * kLanes);
    }
    for (int i = 0; i < kEdge; ++i)
      transform_line<Form>(half[i * kEdge], kLanes, to + i * kEdge * step + c, step);
  }
}

// The inverse, with the bias: only what lies within the image is stored. Whether all of it is finite.
template <class Form>
[[gnu::always_inline]] inline bool transform_results(const float* from, std::int64_t step,
                                                     std::int64_t channels, const float* bias, float* to,
                                                     const Window& window) {
  constexpr int kTile = Form::kTile, kEdge = kTile + 2;
  alignas(64) float check[kLanes] = {};
  for (std::int64_t c = 0; c < channels; c += kLanes) {
    const auto count = std::min(kLanes, channels - c);
    alignas(64) float half[kTile * kEdge][kLanes], done[kTile][kLanes], added[kLanes] = {};
    if (bias) std::copy_n(bias + c, count, added);
    for (int j = 0; j < kEdge; ++j) {
      for (std::int64_t l = 0; l < kLanes; ++l) {
        float m[kEdge], y[kTile];
#pragma GCC unroll 8
        for (int i = 0; i < kEdge; ++i) m[i] = from[(i * kEdge + j) * step + c + l];
        Form::results(m, y);
#pragma GCC unroll 8
        for (int i = 0; i < kTile; ++i) half[i * kEdge + j][l] = y[i];
      }
    }
    for (int i = 0; i < window.end_row; ++i) {
      for (std::int64_t l = 0; l < kLanes; ++l) {
        float m[kEdge], y[kTile];
#pragma GCC unroll 8
        for (int j = 0; j < kEdge; ++j) m[j] = half[i * kEdge + j][l];
        Form::results(m, y);
#pragma GCC unroll 8
        for (int j = 0; j < kTile; ++j) {
          done[j][l] = y[j] + added[l];
          check[l] += done[j][l] * 0;  // NaN from then on where it is not finite
        }
      }
      for (int j = 0; j < window.end_place; ++j) {
        float* target = to + i * window.row_step + j * window.place_step + c;
        std::copy_n(done[j], count, target);
      }
    }
  }
  return std::all_of(check, check + kLanes, [](float one) { return one == 0; });
}

}  // namespace

// One per form, since clones cannot be templates.
WIDE_CLONES void pixels_of_two(const float* from, const Window& window, std::int64_t channels, float* to,
                               std::int64_t step) {
  transform_pixels<Two>(from, window, channels, to, step);
}
WIDE_CLONES void pixels_of_four(const float* from, const Window& window, std::int64_t channels, float* to,
                                std::int64_t step) {
  transform_pixels<Four>(from, window, channels, to, step);
}
WIDE_CLONES bool results_of_two(const float* from, std::int64_t step, std::int64_t channels,
                                const float* bias, float* to, const Window& window) {
  return transform_results<Two>(from, step, channels, bias, to, window);
}
WIDE_CLONES bool results_of_four(const float* from, std::int64_t step, std::int64_t channels,
                                 const float* bias, float* to, const Window& window) {
  return transform_results<Four>(from, step, channels, bias, to, window);
}

}  // namespace wide::kernels::winograd
