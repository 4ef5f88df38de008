#pragma once
// AUTO: strategies, layouts and a schedule for a graph, by estimates or by measuring.

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "core/plan/plan.h"
#include "core/run/execution.h"
#include "core/tune/tuner.h"

namespace wide {

/// A schedule that was considered.
struct ScheduleOption {
  Schedule schedule;
  double predicted = 0;  ///< nanoseconds, from the costs of operators; 0 where they are not known
  double measured = 0;   ///< nanoseconds of a pass; 0 where it was not timed
};

/// A plan by names: what a plan file holds, and what makes the same plan again.
struct StoredPlan {
  std::int64_t members = 1;
  Schedule schedule;
  std::vector<NodeChoice> nodes;
  std::vector<NodeChoice> rest;  ///< for a last program of fewer members; empty where there is none
  bool operator==(const StoredPlan&) const = default;
};

/// A plan of all members.
struct PlannedExecution {
  Schedule schedule;
  Plan plan;                 ///< of the programs of `schedule.chunk` members
  std::optional<Plan> rest;  ///< of the last program, where it has fewer
  Execution execution;
  std::vector<ScheduleOption> options = {};  ///< what was considered; empty unless AUTO chose among schedules
  std::string doubt = {};  ///< why the times that it was chosen by say little; empty: nothing is against them
};

struct PlanRequest {
  Execution::Parts parts;
  std::span<const WideTensor> example;  ///< inputs to time whole passes on, as for Execution::run()
  const StrategyChoice& choice;
  const Graph& unfolded;  ///< of the same inputs: makes nothing of its weights
  bool random = false;    ///< the graph draws random numbers: one program, so that streams stay in order
};

/// Without measuring: all members in one program, strategies by estimate or by what the cost book knows. With
/// measuring: the best of several schedules, each with strategies of its own. Throws wide::Error ("plan").
PlannedExecution plan_execution(const PlanRequest& request, Tuner& tuner, MemoryPool& pool);

/// Throws wide::Error ("plan") when the plan is not one of this graph and number of members.
PlannedExecution restore(const PlanRequest& request, const StoredPlan& stored);
StoredPlan store(const Graph& graph, std::int64_t members, const PlannedExecution& planned);

/// Beyond it streams of one GPU wait for each other's kernels, and for the thread that launches them.
inline constexpr std::int64_t kMostStreams = 8;

/// The schedules worth trying for `members` on the CPU with `threads` threads, or on another device with its
/// streams, the plain one first.
std::vector<Schedule> possible_schedules(std::int64_t members, int threads, at::Device device = at::kCPU);

}  // namespace wide
