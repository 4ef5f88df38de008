#include "profiler/trace/intervals.h"

#include <algorithm>

namespace wide::profiler {

std::vector<Span> united(std::vector<Span> spans) {
  std::erase_if(spans, [](const Span& span) { return span.end <= span.start; });
  std::sort(spans.begin(), spans.end(), [](const Span& a, const Span& b) { return a.start < b.start; });
  std::vector<Span> result;
  for (const auto& span : spans) {
    if (!result.empty() && span.start <= result.back().end) {
      result.back().end = std::max(result.back().end, span.end);
    } else {
      result.push_back(span);
    }
  }
  return result;
}

std::int64_t length(const std::vector<Span>& united) {
  std::int64_t total = 0;
  for (const auto& span : united) total += span.end - span.start;
  return total;
}

std::vector<Span> overlap(const std::vector<Span>& a, const std::vector<Span>& b) {
  std::vector<Span> result;
  for (std::size_t i = 0, j = 0; i < a.size() && j < b.size();) {
    const Span both{std::max(a[i].start, b[j].start), std::min(a[i].end, b[j].end)};
    if (both.start < both.end) result.push_back(both);
    (a[i].end < b[j].end ? i : j)++;
  }
  return result;
}

std::vector<Span> gaps(const std::vector<Span>& whole, const std::vector<Span>& parts) {
  std::vector<Span> result;
  std::size_t j = 0;
  for (const auto& span : whole) {
    auto at = span.start;
    while (j < parts.size() && parts[j].end <= span.start) ++j;
    for (auto k = j; k < parts.size() && parts[k].start < span.end; ++k) {
      if (parts[k].start > at) result.push_back({at, parts[k].start});
      at = std::max(at, parts[k].end);
    }
    if (at < span.end) result.push_back({at, span.end});
  }
  return result;
}

}  // namespace wide::profiler
