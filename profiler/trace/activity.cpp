#include "profiler/trace/activity.h"

#include <algorithm>
#include <unordered_map>
#include <unordered_set>

#include "profiler/trace/intervals.h"

// Note [Nodes of a device]
// What a node takes of a pass is what its kernels take on the device, wherever the host was meanwhile: the
// host launches ahead. So nodes are shared the device's time as a CPU's nodes are shared that of its threads,
// a kernel of no node counts as one of its own, and before, between and after are the device's pauses.
//
// Note [Idle]
// On a device, time without any work is put down to the host when the next work was launched after the last
// had ended, to the device ("kernel wait") when it was launched before and the gap is short, else to other
// things. This is HolisticTraceAnalysis' split. On a CPU see Note [Work of a CPU]; time inside a node but
// outside of all work is the host's (dispatch, allocation, views, the strategy's own code), and time of a
// pass outside of all nodes is other (the executor, waiting for threads). There is no kernel wait on a CPU.

namespace wide::profiler {
namespace {

std::vector<Span> windows(const Trace& trace, const Structure& structure) {
  const auto& slices = trace.slices;
  std::vector<Span> spans;
  Span all{INT64_MAX, INT64_MIN};
  for (std::size_t i = 0; i < slices.size(); ++i) {
    if (slices.kind(i) == Kind::kPass) spans.push_back({slices.start(i), slices.end(i)});
    all.start = std::min(all.start, slices.start(i)), all.end = std::max(all.end, slices.end(i));
  }
  return structure.has_passes ? united(std::move(spans)) : united({all});
}

std::unordered_map<std::uint32_t, std::int64_t> launch_times(const Slices& slices) {
  std::unordered_map<std::uint32_t, std::int64_t> times;
  for (std::size_t i = 0; i < slices.size(); ++i) {
    const auto kind = slices.kind(i);
    if ((kind == Kind::kRuntime || kind == Kind::kDriver) && slices.correlation(i) != 0)
      times.try_emplace(slices.correlation(i), slices.start(i));
  }
  return times;
}

void split_device(const Trace& trace, const Structure& structure, const std::vector<Span>& idle,
                  std::int64_t kernel_wait, Activity& result) {
  const auto& slices = trace.slices;
  const auto launched = launch_times(slices);
  std::vector<std::pair<std::int64_t, std::uint32_t>> starts;  // of work, with its launch
  for (std::size_t i = 0; i < slices.size(); ++i) {
    if (structure.work[i]) starts.emplace_back(slices.start(i), slices.correlation(i));
  }
  std::sort(starts.begin(), starts.end());
  for (const auto& gap : idle) {
    const auto next = std::lower_bound(starts.begin(), starts.end(), std::pair(gap.end, std::uint32_t{0}));
    const auto ends = gap.end - gap.start;
    if (next == starts.end() || next->first != gap.end) {
      result.other += ends;  // the pass ends before the next work
      continue;
    }
    const auto launch = launched.find(next->second);
    const bool late = launch != launched.end() && launch->second > gap.start;
    (late ? result.host_wait : ends <= kernel_wait ? result.kernel_wait : result.other) += ends;
  }
}

void split_host(const Trace& trace, const std::vector<Span>& window, const std::vector<Span>& busy,
                Activity& result) {
  const auto& slices = trace.slices;
  std::vector<Span> inside;
  for (std::size_t i = 0; i < slices.size(); ++i) {
    const auto kind = slices.kind(i);
    if (kind == Kind::kNode || kind == Kind::kConversion || kind == Kind::kOperator)
      inside.push_back({slices.start(i), slices.end(i)});
  }
  const auto covered = overlap(window, united(std::move(inside)));
  result.host_wait = length(covered) - length(overlap(covered, busy));
  result.other = result.wall - length(covered);
}

// What is left of each pass: before its first node, after its last, or between two.
void split_rest(const std::vector<Span>& window, const std::vector<Span>& nodes, Activity& result) {
  for (const auto& gap : gaps(window, nodes)) {
    const auto pass = std::find_if(window.begin(), window.end(), [&](const Span& span) {
      return span.start <= gap.start && gap.end <= span.end;
    });
    const auto time = gap.end - gap.start;
    if (pass == window.end() || gap.start == pass->start) {
      result.before_nodes += time;
    } else if (gap.end == pass->end) {
      result.after_nodes += time;
    } else {
      result.between_nodes += time;
    }
  }
}

}  // namespace

Activity activity(const Trace& trace, const Structure& structure, std::int64_t kernel_wait) {
  const auto& slices = trace.slices;
  Activity result;
  result.passes = std::max<std::int64_t>(1, trace.passes);
  std::vector<Span> work, nodes;
  std::unordered_set<std::uint32_t> launched;  // a graph is one launch of many kernels
  for (std::size_t i = 0; i < slices.size(); ++i) {
    if (!structure.counts(trace, i)) continue;
    const auto kind = slices.kind(i);
    const bool step = kind == Kind::kNode || kind == Kind::kConversion;
    if (structure.device ? structure.work[i] : step) nodes.push_back({slices.start(i), slices.end(i)});
    if (!structure.work[i]) continue;
    work.push_back({slices.start(i), slices.end(i)});
    result.work += structure.own[i];
    if (slices.correlation(i) == 0 || launched.insert(slices.correlation(i)).second) ++result.launches;
    if (structure.copy[i]) result.copies += structure.own[i];
  }
  if (slices.empty()) return result;
  const auto window = windows(trace, structure);
  result.wall = length(window);
  const auto inside = overlap(window, united(std::move(nodes)));
  result.in_nodes = length(inside);
  split_rest(window, inside, result);
  const auto busy = overlap(window, united(std::move(work)));
  result.busy = length(busy);
  if (structure.device) {
    split_device(trace, structure, gaps(window, busy), kernel_wait, result);
  } else {
    split_host(trace, window, busy, result);
  }
  return result;
}

MemoryUse memory_use(const Trace& trace, std::size_t points) {
  MemoryUse result;
  std::vector<CounterPoint> seen;
  for (const auto& point : trace.counters) {
    if (trace.names[point.series] == kMemorySeries) seen.push_back(point);
  }
  if (seen.empty() || points == 0) return result;
  std::stable_sort(seen.begin(), seen.end(),
                   [](const CounterPoint& a, const CounterPoint& b) { return a.time < b.time; });
  result.at_start = seen.front().value, result.at_end = seen.back().value;
  result.peak = seen.front().value, result.peak_time = seen.front().time;
  const auto stretch = (seen.size() + points - 1) / points;
  for (std::size_t i = 0; i < seen.size(); ++i) {
    if (seen[i].value > result.peak) result.peak = seen[i].value, result.peak_time = seen[i].time;
    if (i % stretch == 0) {
      result.timeline.push_back(seen[i]);
    } else if (seen[i].value > result.timeline.back().value) {
      result.timeline.back() = seen[i];
    }
  }
  return result;
}

}  // namespace wide::profiler
