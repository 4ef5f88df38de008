#include "profiler/trace/kernels.h"

#include <algorithm>
#include <map>

namespace wide::profiler {
namespace {

double median_of(std::vector<std::int64_t>& durations) {
  const auto middle = durations.begin() + std::ssize(durations) / 2;
  std::nth_element(durations.begin(), middle, durations.end());
  if (durations.size() % 2 == 1) return static_cast<double>(*middle);
  const auto below = *std::max_element(durations.begin(), middle);
  return (static_cast<double>(below) + static_cast<double>(*middle)) / 2;
}

}  // namespace

std::vector<KernelRow> kernels(const Trace& trace, const Structure& structure) {
  const auto& slices = trace.slices;
  std::map<std::pair<NameId, Kind>, std::vector<std::int64_t>> groups;
  for (std::size_t i = 0; i < slices.size(); ++i) {
    if (structure.work[i] && structure.counts(trace, i))
      groups[{slices.name(i), slices.kind(i)}].push_back(structure.own[i]);
  }
  std::vector<KernelRow> rows;
  double all = 0;
  for (auto& [key, durations] : groups) {
    KernelRow row;
    row.name = trace.names[key.first], row.kind = key.second;
    row.count = std::ssize(durations);
    const auto [least, most] = std::minmax_element(durations.begin(), durations.end());
    row.min = *least, row.max = *most;
    for (const auto duration : durations) row.total += duration;
    row.median = median_of(durations);
    all += static_cast<double>(row.total);
    rows.push_back(std::move(row));
  }
  for (auto& row : rows) row.share = all > 0 ? static_cast<double>(row.total) / all : 0;
  std::sort(rows.begin(), rows.end(), [](const KernelRow& a, const KernelRow& b) {
    return a.total != b.total ? a.total > b.total : a.name < b.name;
  });
  return rows;
}

}  // namespace wide::profiler
