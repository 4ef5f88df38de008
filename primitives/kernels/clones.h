#pragma once
// WIDE_CLONES: a function compiled for three generations of processors; the loader picks one.

#define WIDE_CLONES __attribute__((target_clones("arch=skylake-avx512", "arch=haswell", "default")))
