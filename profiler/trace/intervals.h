#pragma once
// Sets of times: busy time is the length of a union, not a sum.

#include <cstdint>
#include <vector>

namespace wide::profiler {

/// [start, end) in nanoseconds.
struct Span {
  std::int64_t start = 0, end = 0;
  bool operator==(const Span&) const = default;
};

/// The union, as spans that neither touch nor overlap, in order. Empty and backward spans vanish.
std::vector<Span> united(std::vector<Span> spans);
/// Total length of what united() gave.
std::int64_t length(const std::vector<Span>& united);
/// What is in both; both in the form that united() gives.
std::vector<Span> overlap(const std::vector<Span>& a, const std::vector<Span>& b);
/// What of `whole` lies between and beside `parts`; both in the form that united() gives.
std::vector<Span> gaps(const std::vector<Span>& whole, const std::vector<Span>& parts);

}  // namespace wide::profiler
