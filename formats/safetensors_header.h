#pragma once
// What the header of a safetensors file says, checked, without its data. Internal to this folder.

#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "formats/safetensors.h"

namespace wide::formats {

inline constexpr std::uint64_t kLongestSafetensorsHeader = 100'000'000;  ///< bytes; the reference's limit

/// A tensor and where it lies in the data.
struct PlacedEntry {
  SafetensorsEntry entry;  ///< without its bytes
  std::uint64_t begin = 0, end = 0;
};

struct SafetensorsHeader {
  std::vector<PlacedEntry> placed;  ///< in the order of the data
  std::map<std::string, std::string> metadata;
};

/// The header's length from the first 8 bytes of a file of `size` bytes. Throws Fault.
std::uint64_t safetensors_header_length(std::span<const std::byte> first, std::uint64_t size);

/// Tensors lie one behind the other and fill `data_size` bytes. Throws Fault otherwise.
SafetensorsHeader parse_safetensors_header(std::string_view text, std::uint64_t data_size);

}  // namespace wide::formats
