#pragma once
// Archives taken apart and put together, byte by byte, so that one thing in them can be wrong.

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace wide::formats::test {

std::vector<std::byte> bytes_of(std::string_view text);

struct ZipPart {
  std::string name;
  std::string bytes;
  std::uint16_t method = 0;
  std::uint16_t flags = 0;
  std::optional<std::uint32_t> crc;       ///< instead of the right one
  std::optional<std::string> local_name;  ///< instead of the name, in the local header
  std::optional<std::uint32_t> begin;     ///< instead of the right offset, in the directory
  std::optional<std::uint32_t> size;      ///< instead of the right size, in both headers
};

std::string zip(const std::vector<ZipPart>& parts);

/// The members of a sound archive, to be changed and zipped again.
std::vector<ZipPart> unzip(std::string_view archive);

}  // namespace wide::formats::test
