#include "app/least_time.h"

#include <ATen/Parallel.h>
#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "app/capture/node_facts.h"
#include "app/capture/peaks.h"
#include "core/plan/plan.h"

namespace wide::app {
namespace {

constexpr double kMargin = 4;
// What a good core gives without anybody asking how: below that no peak need be known.
constexpr double kUsualFlops = 100e9, kUsualBytes = 50e9;  // a second and thread

}  // namespace

Work work_of(const Build& built, std::int64_t members) {
  Work work;
  const auto& graph = built.optimized;
  const auto nodes = wide_nodes(built, members);
  std::map<ValueId, const profiler::TraceNode*> made_by;
  for (std::size_t i = 0; i < nodes.size(); ++i) {
    if (nodes[i].at_build) continue;
    work.flops += nodes[i].flops;
    for (const auto id : graph.nodes[i].results) made_by[id] = &nodes[i];
  }
  for (const auto& output : graph.outputs) {
    const auto* ref = output.value.ref();
    const auto found = ref ? made_by.find(ref->id) : made_by.end();
    if (found == made_by.end() || found->second->activation_bytes == 0)
      continue;  // a view, or known at build
    const auto at = static_cast<std::size_t>(ref->id);
    const double copies = built.plan().values[at].mapped ? static_cast<double>(members) : 1;
    work.bytes += static_cast<double>(concrete(graph.values[at]).bytes()) * copies;
  }
  return work;
}

double least_microseconds(const Work& work, const std::string& dtype, const profiler::Peaks& peaks) {
  const auto flops = peaks.flops.find(dtype);
  double bandwidth = 0;
  for (const auto& one : peaks.bandwidth) bandwidth = std::max(bandwidth, one.bytes_per_second);
  const double arithmetic = flops != peaks.flops.end() && flops->second > 0 ? work.flops / flops->second : 0;
  const double memory = bandwidth > 0 ? work.bytes / bandwidth : 0;
  return std::max(arithmetic, memory) * 1e6 / kMargin;
}

results::Check check_least_time(const Build& built, std::int64_t members, const std::string& dtype,
                                double median_us) {
  results::Check check{
      .what = "least time", .max_abs_err = 0, .max_rel_err = 0, .tolerance = 0, .passed = true};
  const auto work = work_of(built, members);
  const double threads = at::get_num_threads(), seconds = median_us / 1e6;
  if (work.flops <= kUsualFlops * threads * seconds && work.bytes <= kUsualBytes * threads * seconds)
    return check;
  double least = least_microseconds(work, dtype, stored_peaks({}, KeptPeaks::kAny));
  // Peaks that were measured beside other work are too low, and so may be those of now.
  for (int i = 0; i < 3 && median_us < least; ++i)
    least = std::min(least, least_microseconds(work, dtype, stored_peaks({}, KeptPeaks::kNone)));
  check.passed = !(median_us < least);
  if (!check.passed) {
    check.max_abs_err = least - median_us;
    check.text = fmt::format(
        "a pass in {:.3g} us is not possible: {:.3g} operations and {:.3g} bytes written take this machine "
        "{:.3g} us at four times its measured peak; what is timed does not do the work",
        median_us, work.flops, work.bytes, least);
  }
  return check;
}

}  // namespace wide::app
