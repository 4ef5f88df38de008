#include "core/tune/auto_plan.h"

#include <ATen/ATen.h>
#include <ATen/Parallel.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>

#include "core/aten/pages.h"
#include "core/aten/with_threads.h"
#include "core/tune/examples.h"
#include "core/tune/pass_times.h"
#include "core/tune/reference.h"
#include "core/tune/stopwatch.h"

namespace wide {
namespace {

// The choice of a schedule decides over whole passes: those that are near the best are run many times, and
// for long enough to outlast a slow moment of the machine. (Seen on a virtual machine: for a tenth of a
// second or longer the second thread begins 15 us late in every pass, although it waits busily.)
const StopwatchOptions kPass{
    .rounds = 60, .sample_us = 300, .seconds_each = 0.4, .least_rounds = 6, .hopeless = 1.1, .patience = 0.2};
// A schedule whose operators alone take this much longer than the best pass so far is not built.
constexpr double kHopeless = 1.3;
// Only where one thread could be better than several: below it, waking the others costs as much as the work.
constexpr double kTinyNanoseconds = 500'000;

// libtorch's threads inside one program of the schedule.
int inner_threads(const Schedule& schedule, at::Device device) {
  return schedule.workers > 1 && device.is_cpu() ? 1 : schedule.threads;
}

// Schedules this near the best are raced again, in case the first race fell into a slow moment of the
// machine; those nearer still beside plans near theirs, at most so many of each.
constexpr double kAgain = 1.5, kNear = 1.1;
constexpr std::size_t kMostPlans = 4;
// Nanoseconds. A race of longer passes outlasts such a moment by itself, in so many rounds.
constexpr double kLongPass = 20e6;
constexpr int kLongRounds = 3;
// A pass of more seconds than this is run once for each schedule, and no race is run that would take so many
// times the seconds there are for measuring.
constexpr double kEnough = 1, kRaceOverSeconds = 4;
// Bytes. Where weights are more, contenders are built only while they race, one at a time beside members
// apart: plans pack and stack weights each in their way. Weights that are the caller's own are there already,
// so that any copy shows; others are stacked before planning begins.
constexpr std::int64_t kMuchAtOnce = 512LL << 20, kMuchOfCaller = 32LL << 20;

struct Plans {
  Plan plan;
  std::optional<Plan> rest;
  std::string key;  ///< in the cost book
};

struct Contender {
  Schedule schedule;
  Plans plans;
  std::optional<Execution> execution;  ///< where it is built now
  double time = std::numeric_limits<double>::infinity();
};

Contender& best_of(std::vector<Contender>& all) {
  return *std::min_element(all.begin(), all.end(),
                           [](const Contender& a, const Contender& b) { return a.time < b.time; });
}

class AutoPlanner {
 public:
  AutoPlanner(const PlanRequest& request, Tuner& tuner, MemoryPool& pool)
      : request_(request), tuner_(tuner), pool_(pool), times_(request, tuner) {
    std::int64_t bytes = 0, of_caller = 0;
    for (const auto& constant : request.parts.constants) {
      if (constant.layout() != Layout::kShared) (constant.is_apart() ? of_caller : bytes) += constant.bytes();
    }
    has_much_ = bytes > kMuchAtOnce || of_caller > kMuchOfCaller;
  }

  PlannedExecution run() {
    const Schedule plain{request_.parts.members, 1, 0};
    const bool may_choose = request_.choice.free() && !request_.random &&
                            tuner_.options().tuning != Tuning::kEstimate && request_.parts.members > 1;
    if (!may_choose) return build(plain, first_plans(plain));
    if (auto known = recall()) return finish(build(known->first, std::move(known->second)));
    if (tuner_.options().tuning == Tuning::kCached) return build(plain, first_plans(plain));
    return finish(measure());
  }

 private:
  at::Device device() const { return request_.parts.device.device; }

  std::vector<Schedule> schedules() const {
    return possible_schedules(request_.parts.members, at::get_num_threads(), device());
  }

  StopwatchOptions of_passes(StopwatchOptions options) {
    options.device = device();
    options.before = [this] { examples_->renew(); };
    return options;
  }

  // The best by costs first.
  std::vector<Plan> plans_of(std::int64_t members, bool may_be_alone, std::size_t most) {
    const auto& parts = request_.parts;
    const std::vector<ValueState> inputs(parts.inputs.begin(), parts.inputs.end());
    if (members > 1 || !may_be_alone)
      return make_plans(parts.graph, inputs, members, request_.choice, tuner_, most);
    // As the member runs alone; then by strategies, whose kernels may be better than ATen's for one, too.
    std::vector<Plan> plans{plan_alone(parts.graph, inputs)};
    if (most > 1)
      std::ranges::move(make_plans(parts.graph, inputs, 1, request_.choice, tuner_, most - 1),
                        std::back_inserter(plans));
    return plans;
  }

  std::vector<Plans> plans_of(const Schedule& schedule, std::size_t most) {
    const WithThreads threads(inner_threads(schedule, device()));
    const auto members = request_.parts.members;
    const bool divided = schedule.chunk < members;
    std::optional<Plan> rest;
    if (const auto left = members % schedule.chunk; divided && left > 0)
      rest = std::move(plans_of(left, true, 1).front());
    std::vector<Plans> all;
    for (auto& plan : plans_of(schedule.chunk, divided, most)) {
      auto name = all.empty() ? times_.key(schedule) : times_.key(schedule, plan);
      all.push_back({std::move(plan), rest, std::move(name)});
    }
    return all;
  }

  Plans first_plans(const Schedule& schedule) { return std::move(plans_of(schedule, 1).front()); }

  Execution execution(const Schedule& schedule, const Plans& plans) const {
    const WithThreads threads(inner_threads(schedule, device()));
    return {request_.parts, schedule, plans.plan, plans.rest ? &*plans.rest : nullptr};
  }

  PlannedExecution build(const Schedule& schedule, Plans plans) const {
    auto built = execution(schedule, plans);
    return {schedule, std::move(plans.plan), std::move(plans.rest), std::move(built)};
  }

  // The best of what was timed before, if it was.
  std::optional<std::pair<Schedule, Plans>> recall() {
    if (!times_.are_complete()) return std::nullopt;
    std::optional<std::pair<Schedule, Plans>> best;
    double least = std::numeric_limits<double>::infinity();
    for (const auto& schedule : schedules()) {
      if (!times_.known(times_.key(schedule))) continue;
      options_.push_back({schedule, 0, 0});
      for (auto& plans : plans_of(schedule, times_.had_near(schedule) ? most_plans() : 1)) {
        const auto time = times_.known(plans.key);
        if (!time) continue;
        note(schedule, *time);
        if (*time < least) least = *time, best = {schedule, std::move(plans)};
      }
    }
    return best;
  }

  // The time of a schedule is that of the best of its plans.
  void note(const Schedule& schedule, double time) {
    for (auto& option : options_) {
      if (option.schedule == schedule && (option.measured == 0 || time < option.measured))
        option.measured = time;
    }
  }

  double predicted(const Schedule& schedule, const Plans& plans) const {
    return plans.plan.cost * static_cast<double>(schedule.turns(request_.parts.members));
  }

  bool worth_building(const Schedule& schedule, double prediction) const {
    if (schedule.threads == 1 && schedule.workers == 1 && prediction > kTinyNanoseconds) return false;
    return prediction == 0 || prediction < kHopeless * best_so_far_;
  }

  PlannedExecution measure() {
    examples_.emplace(request_);
    auto all = build_what_is_worth_it();
    tuner_.keep();
    if (has_time_for(all.size())) {
      race(all);
      race_again(all);
    }
    learn(all);
    auto best = std::move(best_of(all));
    all.clear();
    reference_.reset();
    examples_.reset();
    if (!best.execution) best.execution.emplace(execution(best.schedule, best.plans));
    return_free_memory();  // of passes that were timed, and of building
    return {best.schedule, std::move(best.plans.plan), std::move(best.plans.rest),
            std::move(*best.execution)};
  }

  void learn(const std::vector<Contender>& all) {
    times_.begin(schedules(), had_near_);
    for (const auto& one : all) {
      times_.learn(one.plans.key, one.time);
      if (std::isfinite(one.time)) note(one.schedule, one.time);
    }
  }

  std::vector<Contender> build_what_is_worth_it() {
    std::vector<Contender> all;
    for (const auto& schedule : schedules()) {
      if (tuner_.options().progress)
        tuner_.options().progress(describe(schedule, request_.parts.members, device()));
      auto plans = first_plans(schedule);
      if (has_much_) return_free_memory();  // of operands that its operators were timed on
      const ScheduleOption option{schedule, predicted(schedule, plans), 0};
      options_.push_back(option);
      if (!all.empty() && !worth_building(schedule, option.predicted)) continue;
      all.push_back({schedule, std::move(plans), {}});
      const StopwatchOptions once{
          .rounds = 1, .sample_us = 100, .seconds_each = 0.1, .least_rounds = 1, .enough = kEnough};
      const double first = all.back().time = times_of(std::span(&all.back(), 1), once)[0];
      best_so_far_ = std::min(best_so_far_, first);
      // Now, as larger programs may use up the time there is for measuring.
      if (had_near_.empty() && apart(schedule) && first <= kAgain * best_so_far_)
        add_near_plans(schedule, all);
    }
    return all;
  }

  bool has_time_for(std::size_t contenders) const {
    const double calls = 2 + kLongRounds, seconds = best_so_far_ * 1e-9;
    return calls * seconds * static_cast<double>(contenders) <= kRaceOverSeconds * tuner_.options().seconds;
  }

  // Builds them, if they are not, and lets go of them again where weights are much.
  std::vector<double> times_of(std::span<Contender> contenders, const StopwatchOptions& options) {
    std::vector<std::function<void()>> runs;
    for (auto& one : contenders) {
      if (!one.execution) one.execution.emplace(execution(one.schedule, one.plans));
      runs.push_back(examples_->passes(one.execution, pool_));
    }
    auto times = time_in_turns(runs, of_passes(options));
    if (!has_much_) return times;
    for (auto& one : contenders) let_go(one);
    return times;
  }

  // Of what it packed and stacked, too.
  void let_go(Contender& one) const {
    one.execution.reset();
    for (const auto& constant : request_.parts.constants) constant.release();
    return_free_memory();
  }

  void race(std::vector<Contender>& contenders) {
    auto options = kPass;
    if (best_so_far_ >= kLongPass) options.least_rounds = kLongRounds;
    if (has_much_) return race_one_by_one(contenders, options);
    const auto times = times_of(contenders, options);
    for (std::size_t i = 0; i < contenders.size(); ++i) contenders[i].time = times[i];
  }

  // Each beside the reference.
  void race_one_by_one(std::span<Contender> contenders, StopwatchOptions options) {
    options.seconds_each /= 2;
    // The reference's weights may lie in a cache, which says nothing of a contender.
    options.hopeless = std::numeric_limits<double>::infinity();
    if (!reference_) reference_.emplace(request_, *examples_, pool_);
    for (auto& one : contenders) {
      one.execution.emplace(execution(one.schedule, one.plans));
      const std::vector<std::function<void()>> runs{examples_->passes(one.execution, pool_),
                                                    reference_->passes()};
      const auto times = time_in_turns(runs, of_passes(options));
      one.time = reference_->in_first_moment(times[0], times[1]);
      let_go(one);
    }
  }

  // Races those near the best again, with plans near theirs, which are added to `all`.
  void race_again(std::vector<Contender>& all) {
    const double least = best_of(all).time;
    if (!std::isfinite(least)) return;
    const double limit = (least < kLongPass ? kAgain : kNear) * least;
    std::vector<Contender> again, others, added;
    for (auto& one : all) {
      // Members apart have run by ATen's kernels only: by ours they may come from further behind.
      const double near = apart(one.schedule) ? kAgain : kNear;
      if (one.time <= near * least) add_near_plans(one.schedule, added);
      (one.time <= limit ? again : others).push_back(std::move(one));
    }
    if (has_much_) {
      if (has_time_for(added.size())) race(added);
      std::ranges::move(again, std::back_inserter(added));
      again = std::move(added);
      added.clear();
    }
    const auto known = again.size();
    const bool is_settled = added.empty() && (has_much_ || least >= kLongPass);
    std::move(added.begin(), added.end(), std::back_inserter(again));
    if (again.size() > 1 && !is_settled && has_time_for(again.size())) race_again(again, known);
    all = std::move(again);
    std::move(others.begin(), others.end(), std::back_inserter(all));
  }

  // The first `known` have a time, and keep the lesser one.
  void race_again(std::vector<Contender>& contenders, std::size_t known) {
    std::vector<double> before, changes;
    for (std::size_t i = 0; i < known; ++i) before.push_back(contenders[i].time);
    race(contenders);
    for (std::size_t i = 0; i < known; ++i) {
      if (std::isfinite(before[i] / contenders[i].time)) changes.push_back(before[i] / contenders[i].time);
    }
    if (changes.empty()) changes.push_back(1);
    // Times of two races are not comparable: the second's are brought to the first's by what ran in both.
    const auto middle = changes.begin() + static_cast<std::ptrdiff_t>(changes.size() / 2);
    std::nth_element(changes.begin(), middle, changes.end());
    for (auto& one : contenders) one.time *= *middle;
    for (std::size_t i = 0; i < known; ++i) contenders[i].time = std::min(contenders[i].time, before[i]);
  }

  // One more only where each is built anew.
  std::size_t most_plans() const { return has_much_ ? 2 : kMostPlans; }

  static bool apart(const Schedule& schedule) { return schedule.chunk == 1; }

  // Once for a schedule.
  void add_near_plans(const Schedule& schedule, std::vector<Contender>& added) {
    if (std::ranges::find(had_near_, schedule) != had_near_.end()) return;
    had_near_.push_back(schedule);
    auto plans = plans_of(schedule, most_plans());
    for (auto plan = plans.begin() + 1; plan < plans.end(); ++plan)
      added.push_back({schedule, std::move(*plan), {}});
  }

  PlannedExecution finish(PlannedExecution planned) {
    planned.options = std::move(options_);
    return planned;
  }

  const PlanRequest& request_;
  Tuner& tuner_;
  MemoryPool& pool_;
  PassTimes times_;
  bool has_much_ = false;             ///< weights that differ per member
  std::optional<Examples> examples_;  ///< while passes are timed
  std::optional<Reference> reference_;
  double best_so_far_ = std::numeric_limits<double>::infinity();
  std::vector<ScheduleOption> options_;
  std::vector<Schedule> had_near_;  ///< those whose near plans are contenders
};

}  // namespace

PlannedExecution plan_execution(const PlanRequest& request, Tuner& tuner, MemoryPool& pool) {
  tuner.begin();
  for (;;) {
    auto planned = AutoPlanner(request, tuner, pool).run();
    tuner.keep(true);
    if (tuner.try_again()) continue;
    planned.doubt = tuner.doubt();
    return planned;
  }
}

}  // namespace wide
