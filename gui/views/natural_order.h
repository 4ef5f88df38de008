#pragma once
// Texts in the order in which people look for them.

#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace wide::gui {

/// Indices of `texts`, sorted by bytes but with digits read as numbers: "conv2" before "conv10". Texts that
/// differ in leading zeros only keep their order. A hundred thousand take some hundredths of a second.
std::vector<std::uint32_t> natural_order(std::span<const std::string> texts);

}  // namespace wide::gui
