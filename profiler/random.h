#pragma once
// A small random generator whose draws are the same with every compiler and standard library.

#include <cstdint>
#include <span>
#include <utility>

namespace wide::profiler {

/// SplitMix64 (Steele, Lea, Flood 2014): one word of state, good enough for orders and resampling.
class Random {
 public:
  explicit Random(std::uint64_t seed) : state_(seed) {}

  std::uint64_t next() {
    state_ += 0x9e3779b97f4a7c15ULL;
    std::uint64_t z = state_;
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9ULL;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebULL;
    return z ^ (z >> 31);
  }

  /// Uniform in [0, limit); limit > 0. The bias of limit / 2^32 is far below what 2000 resamples can show.
  std::uint32_t below(std::uint32_t limit) {
    return static_cast<std::uint32_t>(((next() >> 32) * limit) >> 32);
  }

  template <typename T>
  void shuffle(std::span<T> values) {
    for (std::size_t i = values.size(); i > 1; --i) {
      std::swap(values[i - 1], values[below(static_cast<std::uint32_t>(i))]);
    }
  }

 private:
  std::uint64_t state_;
};

/// A seed for part `index` of something seeded with `seed`.
inline std::uint64_t derive(std::uint64_t seed, std::uint64_t index) {
  return Random(seed ^ Random(index + 1).next()).next();
}

}  // namespace wide::profiler
