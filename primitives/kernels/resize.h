#pragma once
// Planes made larger or smaller, a row at a time, where ATen takes one number after the other. For the CPU,
// not differentiable.

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <optional>
#include <vector>

namespace wide::kernels {

/// What was given of an axis of the result: its extent, and the factor, where the extent was made of one.
struct Resized {
  std::int64_t extent;
  std::optional<double> factor;
};

/// Which places of x each place along an axis of the result is made of, and how much of each.
struct LinearPlaces {
  std::vector<std::int32_t> first, second;
  std::vector<float> of_first, of_second;
};
/// As ATen computes them in float32, along an axis of `extent` numbers.
LinearPlaces linear_places(std::int64_t extent, const Resized& to, bool align_corners);

/// Bilinear interpolation. x [..., H, W] float32; the result has as many rows and columns as there are
/// places.
at::Tensor bilinear2d(const at::Tensor& x, const LinearPlaces& rows, const LinearPlaces& columns);

/// Which row and column of x each row and column of the result is.
struct NearestPlaces {
  std::vector<std::int32_t> rows, columns;
};
/// ATen's own answer for planes of `height` by `width`, by the rule of upsample_nearest; `exact`: by that of
/// _upsample_nearest_exact.
NearestPlaces nearest_places(std::int64_t height, std::int64_t width, const Resized& rows,
                             const Resized& columns, bool exact);

/// Shapes and dtype as above; numbers are copied.
at::Tensor nearest2d(const at::Tensor& x, const NearestPlaces& places);

/// aten::pixel_shuffle: x [..., C·factor², H, W] float32 -> [..., C, H·factor, W·factor].
at::Tensor pixel_shuffle(const at::Tensor& x, std::int64_t factor);

}  // namespace wide::kernels
