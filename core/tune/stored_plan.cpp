// What of AUTO needs no measuring: the schedules there are, and plans by name.
#include <algorithm>

#include "core/tune/auto_plan.h"
#include "formats/error.h"

namespace wide {
namespace {

Plan plan_from_choices(const PlanRequest& request, std::int64_t members,
                       const std::vector<NodeChoice>& choices) {
  const std::vector<ValueState> inputs(request.parts.inputs.begin(), request.parts.inputs.end());
  const bool alone = std::all_of(choices.begin(), choices.end(), [](const NodeChoice& choice) {
    return choice.strategy == kAloneStrategy || choice.strategy == kConstantStrategy;
  });
  if (alone && members == 1) return plan_alone(request.parts.graph, inputs);
  return plan_from(request.parts.graph, inputs, members, choices);
}

}  // namespace

std::vector<Schedule> possible_schedules(std::int64_t members, int threads, at::Device device) {
  std::vector<Schedule> schedules;
  const auto add = [&](std::int64_t chunk, int workers, int inner) {
    const Schedule one{chunk, workers, inner};
    if (chunk >= 1 && chunk <= members &&
        std::find(schedules.begin(), schedules.end(), one) == schedules.end())
      schedules.push_back(one);
  };
  add(members, 1, 0);
  if (members == 1) return schedules;
  if (!device.is_cpu()) {
    // A member to a stream, as many streams as can be of use; halves side by side; and one after the other.
    add(1, static_cast<int>(std::min<std::int64_t>(members, kMostStreams)), 0);
    add((members + 1) / 2, 2, 0);
    add(1, 1, 0);
    return schedules;
  }
  const auto programs = std::min<std::int64_t>(members, threads);
  if (threads > 1) {
    add(1, static_cast<int>(programs), 0);
    add((members + programs - 1) / programs, static_cast<int>(programs), 0);
    add(members, 1, 1);
  }
  add(1, 1, 0);
  if (threads > 1 && members >= 4 * threads) add(members / (2 * threads), threads, 0);
  if (members >= 4) add(members / 2, 1, 0);
  if (members >= 8) add(members / 4, 1, 0);
  return schedules;
}

PlannedExecution restore(const PlanRequest& request, const StoredPlan& stored) {
  const auto members = request.parts.members;
  if (stored.members != members) {
    throw Error("plan", "the stored plan is for " + std::to_string(stored.members) +
                            " members, the model has " + std::to_string(members) + "; make a new plan");
  }
  const auto& schedule = stored.schedule;
  if (schedule.chunk < 1 || schedule.chunk > members) {
    throw Error("plan", "the stored plan runs " + std::to_string(schedule.chunk) +
                            " members at once (its \"chunk\") of " + std::to_string(members) +
                            "; make a new plan");
  }
  if (request.random && (schedule.chunk != members || schedule.workers != 1 || schedule.threads != 0)) {
    throw Error("plan", "the stored plan runs " + describe(schedule, members, request.parts.device.device) +
                            ", but the model draws random numbers, and members have their own streams only "
                            "all at once on the calling thread; make a new plan");
  }
  auto plan = plan_from_choices(request, stored.schedule.chunk, stored.nodes);
  std::optional<Plan> rest;
  if (const auto left = members % stored.schedule.chunk; left > 0)
    rest = plan_from_choices(request, left, stored.rest);
  Execution execution(request.parts, stored.schedule, plan, rest ? &*rest : nullptr);
  return {stored.schedule, std::move(plan), std::move(rest), std::move(execution)};
}

StoredPlan store(const Graph& graph, std::int64_t members, const PlannedExecution& planned) {
  return {members, planned.schedule, choices_of(graph, planned.plan),
          planned.rest ? choices_of(graph, *planned.rest) : std::vector<NodeChoice>()};
}

}  // namespace wide
