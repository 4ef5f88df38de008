#pragma once
// The transforms of Winograd's convolutions for all channels of one tile.

#include <cstdint>

namespace wide::kernels::winograd {

inline constexpr std::int64_t kLanes = 16;  ///< channels that a transform works on together

/// Where a tile's pixels or results lie, and how many of them there are.
struct Window {
  std::int64_t row_step, place_step;
  int first_row, end_row, first_place, end_place;  ///< of the tile, those that lie within the image
  bool whole;
};

/// One tile of `channels` channels by F(2x2) or F(4x4): to[place · step + channel] for all places. `from` is
/// the tile's first pixel, within the image or not.
void pixels_of_two(const float* from, const Window& window, std::int64_t channels, float* to,
                   std::int64_t step);
void pixels_of_four(const float* from, const Window& window, std::int64_t channels, float* to,
                    std::int64_t step);

/// The inverse, with the bias: only what lies within the image is stored. Whether all of it is finite.
bool results_of_two(const float* from, std::int64_t step, std::int64_t channels, const float* bias, float* to,
                    const Window& window);
bool results_of_four(const float* from, std::int64_t step, std::int64_t channels, const float* bias,
                     float* to, const Window& window);

}  // namespace wide::kernels::winograd
