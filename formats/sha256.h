#pragma once
// SHA-256 (FIPS 180-4): names the content of a file.

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

namespace wide::formats {

class Sha256 {
 public:
  Sha256& add(std::span<const std::byte> bytes);
  /// 64 hexadecimal digits of all that was added; nothing may be added afterwards.
  std::string hex();

 private:
  void compress(const std::byte* block);

  std::array<std::uint32_t, 8> state_ = {0x6a09e667, 0xbb67ae85, 0x3c6ef372, 0xa54ff53a,
                                         0x510e527f, 0x9b05688c, 0x1f83d9ab, 0x5be0cd19};
  std::array<std::byte, 64> block_{};
  std::size_t filled_ = 0;
  std::uint64_t bytes_ = 0;
};

}  // namespace wide::formats
