#include "profiler/trace/comparison.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <map>
#include <unordered_map>

#include "profiler/trace/kernels.h"

// Note [Gain]
// A pass is busy + host wait + the rest (Note [Idle]), so the gain of a traced pass is the sum of what each
// of these gave. Busy splits into work that only moves data ("layout copies") and the rest ("kernel
// efficiency"), in the proportion of their summed times. The host's part splits into launches that are gone,
// each at the rival's mean host time per launch, and what is left, which joins the other idle time. The four
// add up to the gain of the traced passes exactly; what that differs from the untraced gain is the residual,
// and is shown.

namespace wide::profiler {
namespace {

constexpr double kMicrosecond = 1000;

struct PerPass {
  double wall, busy, copies, host, rest, launches;
};

PerPass per_pass(const Activity& a) {
  const auto us = [&](std::int64_t ns) { return a.per_pass(ns) / kMicrosecond; };
  const double copying = a.work > 0 ? static_cast<double>(a.copies) / static_cast<double>(a.work) : 0;
  const double busy = us(a.busy);
  return {
      us(a.wall), busy, busy * copying, us(a.host_wait), us(a.kernel_wait + a.other), a.per_pass(a.launches)};
}

double untraced_or(const Trace& trace, double traced) {
  return trace.completeness.untraced_us > 0 ? trace.completeness.untraced_us : traced;
}

GainSplit split(const Trace& wide, const Activity& wide_activity, const Trace& rival,
                const Activity& rival_activity) {
  const auto w = per_pass(wide_activity), r = per_pass(rival_activity);
  GainSplit gain;
  // Both untraced or both traced: a mixture would compare the capture with no capture.
  const bool untraced = wide.completeness.untraced_us > 0 && rival.completeness.untraced_us > 0;
  gain.wide_us = untraced ? untraced_or(wide, w.wall) : w.wall;
  gain.rival_us = untraced ? untraced_or(rival, r.wall) : r.wall;
  gain.launch_us = r.launches > 0 ? r.host / r.launches : 0;
  gain.launches_removed = (r.launches - w.launches) * gain.launch_us;
  gain.idle_recovered = (r.host - w.host) + (r.rest - w.rest) - gain.launches_removed;
  gain.layout_copies = r.copies - w.copies;
  gain.kernel_efficiency = (r.busy - w.busy) - gain.layout_copies;
  gain.residual = gain.gained() -
                  (gain.launches_removed + gain.idle_recovered + gain.layout_copies + gain.kernel_efficiency);
  return gain;
}

// Wide's nodes in order, each with those of the rival that it stands for, then what only the rival has.
std::vector<NodeComparison> aligned(const Trace& wide, const std::vector<NodeTime>& ours, const Trace& rival,
                                    const std::vector<NodeTime>& theirs) {
  std::vector<NodeComparison> rows;
  std::map<std::string_view, std::size_t> by_name;
  for (std::size_t i = 0; i < wide.nodes.size(); ++i) {
    const auto& node = wide.nodes[i];
    by_name.emplace(node.name, i);
    rows.push_back({node.name, node.at_build ? "at build" : node.strategy, ours[i], {}});
  }
  bool any = false;
  for (std::size_t i = 0; i < rival.nodes.size(); ++i) {
    const auto& node = rival.nodes[i];
    const auto found = by_name.find(node.within.empty() ? node.name : node.within);
    if (found == by_name.end()) {
      rows.push_back({node.name, "", {}, theirs[i]});
      continue;
    }
    auto& row = rows[found->second];
    row.rival += theirs[i];
    row.parts.emplace_back(node.name, theirs[i]);
    any = true;
  }
  if (!any) return {};
  for (auto& row : rows) {
    if (row.parts.size() == 1 && row.parts[0].first == row.name) row.parts.clear();
  }
  rows.push_back({"outside of nodes", "", ours.back(), theirs.back()});
  return rows;
}

// Gives each moment of the passes to the nodes that run in it, in equal parts.
void share_the_clock(const Trace& trace, const Structure& structure, std::vector<NodeTime>& times) {
  const auto& slices = trace.slices;
  const auto is_node = [&](std::size_t i) {
    if (structure.device) return static_cast<bool>(structure.work[i]);
    return slices.kind(i) == Kind::kNode || slices.kind(i) == Kind::kConversion;
  };
  struct Turn {
    std::int64_t time;
    bool begins;
    std::uint32_t slice;
  };
  std::vector<Turn> turns;
  for (std::size_t i = 0; i < slices.size(); ++i) {
    if (!is_node(i) || !structure.counts(trace, i)) continue;
    auto outer = structure.parent[i];
    while (outer >= 0 && !is_node(static_cast<std::size_t>(outer)))
      outer = structure.parent[static_cast<std::size_t>(outer)];
    if (outer >= 0) continue;  // its time is that of the node around it
    turns.push_back({slices.start(i), true, static_cast<std::uint32_t>(i)});
    turns.push_back({slices.end(i), false, static_cast<std::uint32_t>(i)});
  }
  std::sort(turns.begin(), turns.end(), [](const Turn& a, const Turn& b) {
    return a.time != b.time ? a.time < b.time : a.slice != b.slice ? a.slice < b.slice : a.begins > b.begins;
  });
  // `clock` runs at 1/k while k nodes do, so that a node's part is what it moved on meanwhile.
  double clock = 0;
  std::int64_t before = 0, running = 0;
  std::unordered_map<std::uint32_t, double> begun;
  for (const auto& turn : turns) {
    if (running > 0) clock += static_cast<double>(turn.time - before) / static_cast<double>(running);
    before = turn.time;
    running += turn.begins ? 1 : -1;
    if (turn.begins) {
      begun[turn.slice] = clock;
      continue;
    }
    const auto node = slices.node(turn.slice);
    auto& time = node >= 0 ? times[static_cast<std::size_t>(node)] : times.back();
    const auto start = begun.extract(turn.slice);
    time.wall_us += clock - start.mapped();
  }
}

Change change_of(const DiffRow& row, double threshold) {
  constexpr double kHalf = 0.5;
  if (row.count_before == 0) return Change::kAdded;
  if (row.count_after == 0) return Change::kRemoved;
  // Per pass, so that captures of different length compare: less than half a call is none.
  if (row.count_after - row.count_before >= kHalf) return Change::kMore;
  if (row.count_before - row.count_after >= kHalf) return Change::kFewer;
  const double ratio = row.mean_before_us > 0 ? row.mean_after_us / row.mean_before_us : 1;
  return ratio > 1 + threshold ? Change::kSlower : ratio < 1 - threshold ? Change::kFaster : Change::kSame;
}

}  // namespace

std::string_view name(Change change) {
  constexpr std::array<std::string_view, 7> kNames = {"added",  "removed", "more", "fewer",
                                                      "slower", "faster",  "same"};
  return kNames[static_cast<std::size_t>(change)];
}

NodeTime& NodeTime::operator+=(const NodeTime& other) {
  if (node < 0) node = other.node;
  wall_us += other.wall_us, total_us += other.total_us, conversion_us += other.conversion_us;
  work_us += other.work_us, copy_us += other.copy_us, launches += other.launches, host_us += other.host_us;
  return *this;
}

std::vector<NodeTime> node_times(const Trace& trace, const Structure& structure) {
  std::vector<NodeTime> times(trace.nodes.size() + 1);
  for (std::size_t i = 0; i < trace.nodes.size(); ++i) times[i].node = static_cast<std::int32_t>(i);
  const auto& slices = trace.slices;
  for (std::size_t i = 0; i < slices.size(); ++i) {
    if (!structure.counts(trace, i)) continue;
    const auto node = slices.node(i);
    auto& time = node >= 0 ? times[static_cast<std::size_t>(node)] : times.back();
    const auto duration = static_cast<double>(slices.duration(i));
    const bool conversion = slices.kind(i) == Kind::kConversion;
    if (conversion || slices.kind(i) == Kind::kNode) {
      time.host_us += duration;
      if (!structure.device) (conversion ? time.conversion_us : time.total_us) += duration;
    }
    if (!structure.work[i]) continue;
    if (structure.device) (structure.conversion[i] ? time.conversion_us : time.total_us) += duration;
    if (node < 0 && !structure.device && !structure.copy[i]) continue;  // work outside of nodes is no node's
    const auto own = static_cast<double>(structure.own[i]);
    time.work_us += own, time.launches += 1;
    if (structure.copy[i]) time.copy_us += own;
  }
  share_the_clock(trace, structure, times);
  const auto passes = static_cast<double>(std::max<std::int64_t>(1, trace.passes));
  for (auto& time : times) {
    for (auto* us :
         {&time.wall_us, &time.total_us, &time.conversion_us, &time.work_us, &time.copy_us, &time.host_us})
      *us /= kMicrosecond * passes;
    time.launches /= passes;
  }
  return times;
}

double coverage_of_nodes(const Activity& activity) {
  return activity.wall > 0 ? static_cast<double>(activity.in_nodes) / static_cast<double>(activity.wall) : 0;
}

Comparison compare(const Trace& wide, const Structure& wide_structure, const Trace& rival,
                   const Structure& rival_structure) {
  Comparison result;
  result.wide = wide.contender, result.rival = rival.contender;
  result.wide_activity = activity(wide, wide_structure);
  result.rival_activity = activity(rival, rival_structure);
  result.members = wide.members;
  result.wide_launches = result.wide_activity.per_pass(result.wide_activity.launches);
  result.rival_launches = result.rival_activity.per_pass(result.rival_activity.launches);
  result.gain = split(wide, result.wide_activity, rival, result.rival_activity);
  result.nodes = aligned(wide, node_times(wide, wide_structure), rival, node_times(rival, rival_structure));
  result.aligned = !result.nodes.empty();
  return result;
}

std::vector<DiffRow> diff(const Trace& before, const Structure& before_structure, const Trace& after,
                          const Structure& after_structure, double threshold) {
  std::map<std::pair<std::string, Kind>, DiffRow> rows;
  const auto passes_before = static_cast<double>(std::max<std::int64_t>(1, before.passes));
  const auto passes_after = static_cast<double>(std::max<std::int64_t>(1, after.passes));
  for (const auto& kernel : kernels(before, before_structure)) {
    auto& row = rows[{kernel.name, kernel.kind}];
    row.count_before = static_cast<double>(kernel.count) / passes_before;
    row.mean_before_us = kernel.mean() / kMicrosecond;
    row.total_before_us = static_cast<double>(kernel.total) / kMicrosecond / passes_before;
  }
  for (const auto& kernel : kernels(after, after_structure)) {
    auto& row = rows[{kernel.name, kernel.kind}];
    row.count_after = static_cast<double>(kernel.count) / passes_after;
    row.mean_after_us = kernel.mean() / kMicrosecond;
    row.total_after_us = static_cast<double>(kernel.total) / kMicrosecond / passes_after;
  }
  std::vector<DiffRow> result;
  for (auto& [key, row] : rows) {
    row.name = key.first, row.kind = key.second;
    row.change = change_of(row, threshold);
    result.push_back(std::move(row));
  }
  std::stable_sort(result.begin(), result.end(), [](const DiffRow& a, const DiffRow& b) {
    return std::abs(a.delta_us()) > std::abs(b.delta_us());
  });
  return result;
}

}  // namespace wide::profiler
