#pragma once
// Why one capture is faster than another of the same members: node by node, and the gain split by cause.

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "profiler/trace/activity.h"
#include "profiler/trace/structure.h"
#include "profiler/trace/trace.h"

namespace wide::profiler {

/// What one node of the graph took, per pass over all members. Times in microseconds; of a device those of
/// its kernels: Note [Nodes of a device].
struct NodeTime {
  std::int32_t node = -1;  ///< index into Trace::nodes
  double wall_us = 0;      ///< its share of the pass: where k nodes run at once, each has a k-th of that time
  double total_us = 0;     ///< in the node, summed over members and threads; changes of layout before it not
  double conversion_us = 0;  ///< in changes of layout before it
  double work_us = 0;        ///< in kernels: of total and conversion together
  double copy_us = 0;        ///< in kernels that only move data
  double launches = 0;       ///< kernels
  double host_us = 0;        ///< what the host was at it, changes of layout too; on a CPU all of it

  double all_us() const { return total_us + conversion_us; }
  /// `us` of threads as a share of the pass.
  double on_the_clock(double us) const { return all_us() > 0 ? us * wall_us / all_us() : 0; }
  NodeTime& operator+=(const NodeTime& other);
};

/// One entry per node of the trace, in graph order; nodes computed at build have zeros. The last entry, node
/// -1, is what ran in changes of layout that belong to no node (at the exit), of a device all that is no
/// node's.
std::vector<NodeTime> node_times(const Trace& trace, const Structure& structure);

/// Time in nodes, on whatever thread, over the time of the passes: what the wall_us of all nodes add up to.
double coverage_of_nodes(const Activity& activity);

/// A node of wide and those of the rival whose work it does: one of the same name, or more where nodes were
/// folded into it. Where one side lacks it, its times are 0.
struct NodeComparison {
  std::string name, strategy;  ///< strategy: wide's, "at build" or "" where wide lacks the node
  NodeTime wide, rival;
  std::vector<std::pair<std::string, NodeTime>> parts = {};  ///< the rival's, where not one of the same name
};

/// Where the time that wide saves comes from. Microseconds per pass; positive is gained. See Note [Gain].
struct GainSplit {
  double rival_us = 0, wide_us = 0;  ///< a pass, untraced where that was measured
  double launches_removed = 0;       ///< fewer launches, at what one costs the rival's host
  double idle_recovered = 0;         ///< other time without work
  double kernel_efficiency = 0;      ///< the work itself
  double layout_copies = 0;          ///< work that only moves data; negative where wide moves more
  double residual = 0;               ///< what capturing added or hid: the total less the four above
  double launch_us = 0;              ///< what one launch costs the rival's host

  double gained() const { return rival_us - wide_us; }
};

struct Comparison {
  std::string wide, rival;            ///< contenders
  bool aligned = false;               ///< some node is in both
  std::vector<NodeComparison> nodes;  ///< empty unless aligned
  Activity wide_activity, rival_activity;
  std::int64_t members = 1;
  double wide_launches = 0, rival_launches = 0;  ///< per pass
  GainSplit gain;

  /// Launches that wide spares each member.
  double launches_saved_per_member() const {
    return (rival_launches - wide_launches) / static_cast<double>(members > 0 ? members : 1);
  }
};

Comparison compare(const Trace& wide, const Structure& wide_structure, const Trace& rival,
                   const Structure& rival_structure);

/// What became of one kernel between two captures.
enum class Change : std::uint8_t { kAdded, kRemoved, kMore, kFewer, kSlower, kFaster, kSame };
/// "added", "removed", "more", "fewer", "slower", "faster" or "same".
std::string_view name(Change change);

struct DiffRow {
  std::string name;
  Kind kind = Kind::kOperator;
  Change change = Change::kSame;
  double count_before = 0, count_after = 0;        ///< per pass
  double mean_before_us = 0, mean_after_us = 0;    ///< of one
  double total_before_us = 0, total_after_us = 0;  ///< per pass
  double delta_us() const { return total_after_us - total_before_us; }
};

/// How different a mean time must be to be called slower or faster.
inline constexpr double kDiffThreshold = 0.05;

/// Largest change of total time first. A count that differs is "more" or "fewer" whatever the times.
std::vector<DiffRow> diff(const Trace& before, const Structure& before_structure, const Trace& after,
                          const Structure& after_structure, double threshold = kDiffThreshold);

}  // namespace wide::profiler
