#pragma once
// What differs between the runs of two sides before any number is looked at.

#include "results/compare.h"

namespace wide::results {

/// Fills barriers and remarks.
void add_differences(const Side& first, const Side& second, Comparison& comparison);

}  // namespace wide::results
