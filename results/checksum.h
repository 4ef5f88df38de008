#pragma once
// A sum over what a row holds, kept beside it: SQLite checks the structure of its file, not what stands in
// it.

#include <bit>
#include <cmath>
#include <cstdint>
#include <string_view>

namespace wide::results {

/// FNV-1a over 64-bit words, mixed. Guards against bit rot and torn pages, not against a forger.
class Checksum {
 public:
  Checksum& text(std::string_view value) {
    add(value.size());
    for (const char c : value) state_ = (state_ ^ static_cast<unsigned char>(c)) * kPrime;
    return *this;
  }
  Checksum& integer(std::int64_t value) {
    add(static_cast<std::uint64_t>(value));
    return *this;
  }
  /// NaN is what the database keeps as NULL; it keeps no sign of zero.
  Checksum& real(double value) {
    if (std::isnan(value)) return null();
    add(std::bit_cast<std::uint64_t>(value == 0 ? 0.0 : value));
    return *this;
  }
  Checksum& null() {
    add(kNull);
    return *this;
  }
  /// As SQLite keeps integers.
  std::int64_t value() const { return static_cast<std::int64_t>(state_); }

 private:
  static constexpr std::uint64_t kPrime = 0x100000001b3, kNull = 0x7ff8'dead'7ff8'dead;
  void add(std::uint64_t word) {
    state_ = (state_ ^ word) * 0x9e3779b97f4a7c15;
    state_ ^= state_ >> 32;
  }
  std::uint64_t state_ = 0xcbf29ce484222325;
};

}  // namespace wide::results
