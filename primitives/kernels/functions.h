#pragma once
// Functions of a float32 (functions.inc), for the loops of kernels. The compiler may fuse a product and a
// sum.

namespace wide::kernels {

#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wold-style-cast"
#define WIDE_FUNCTION [[gnu::always_inline]] inline
#define WIDE_FUSED(a, b, c) ((a) * (b) + (c))
#include "primitives/kernels/functions.inc"
#undef WIDE_FUNCTION
#undef WIDE_FUSED
#pragma GCC diagnostic pop

}  // namespace wide::kernels
