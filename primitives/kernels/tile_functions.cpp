#include "primitives/kernels/tile_functions.h"

#include <algorithm>
#include <cmath>
#include <span>

// No operation is fused but by WIDE_FUSED (-ffp-contract=off): generated kernels give the same bits.
#pragma GCC diagnostic ignored "-Wold-style-cast"
#define WIDE_FUNCTION [[gnu::always_inline]] inline

namespace wide::kernels {
namespace {

struct Named {
  std::string_view name;
  TileFunction function;
};

#define WIDE_FUSED(a, b, c) __builtin_fmaf(a, b, c)
namespace v4 {
#define WIDE_LEVEL gnu::target("arch=x86-64-v4")
#include "primitives/kernels/tile_level.inc"
#undef WIDE_LEVEL
}  // namespace v4
namespace v3 {
#define WIDE_LEVEL gnu::target("arch=x86-64-v3")
#include "primitives/kernels/tile_level.inc"
#undef WIDE_LEVEL
}  // namespace v3
#undef WIDE_FUSED

#define WIDE_FUSED(a, b, c) ((a) * (b) + (c))
namespace v1 {
#define WIDE_LEVEL gnu::hot
#include "primitives/kernels/tile_level.inc"
#undef WIDE_LEVEL
}  // namespace v1

std::span<const Named> functions_of(std::string_view level) {
  if (level == "x86-64-v4") return v4::kFunctions;
  if (level == "x86-64-v3") return v3::kFunctions;
  return v1::kFunctions;
}

}  // namespace

TileFunction tile_function(std::string_view name, std::string_view level) {
  const auto all = functions_of(level);
  const auto found = std::ranges::find(all, name, &Named::name);
  return found == all.end() ? nullptr : found->function;
}

}  // namespace wide::kernels
