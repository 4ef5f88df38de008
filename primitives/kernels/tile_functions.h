#pragma once
// Functions of tiles: what groups of pointwise operators are made of.

#include <cstdint>
#include <string_view>

#include "primitives/kernels/clones.h"

namespace wide::kernels {

/// Numbers in a tile: a few tiles lie in the first cache.
inline constexpr std::int64_t kTile = 512;

/// out[i] of in[0][i], in[1][i], …, for i < count ≤ kTile. Masks are 0 and 1. `out` is none of the operands.
using TileFunction = void (*)(const float* const* in, float* out, std::int64_t count);

/// By name ("add"), or null; `level`: a generation of processors as instruction_set() names it, of which this
/// one is.
TileFunction tile_function(std::string_view name, std::string_view level = instruction_set());

}  // namespace wide::kernels
