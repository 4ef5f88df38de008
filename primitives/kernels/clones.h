#pragma once
// WIDE_CLONES: a function compiled for three generations of processors; the loader picks one by the features
// of the processor, not by its model.

#include <string_view>

#define WIDE_CLONES __attribute__((target_clones("arch=x86-64-v4", "arch=x86-64-v3", "default")))

namespace wide::kernels {

/// What the loader picks here: "x86-64-v4" (AVX-512), "x86-64-v3" (AVX2), or "x86-64" where there is neither.
std::string_view instruction_set();

}  // namespace wide::kernels
