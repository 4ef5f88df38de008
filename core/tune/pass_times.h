#pragma once
// What the cost book knows of whole passes: the race of a graph's schedules, as it was held before.

#include <optional>
#include <span>
#include <string>

#include "core/tune/auto_plan.h"

namespace wide {

class PassTimes {
 public:
  PassTimes(const PlanRequest& request, Tuner& tuner);

  /// Of a schedule by its first plan, and by a plan near that one.
  std::string key(const Schedule& schedule) const;
  std::string key(const Schedule& schedule, const Plan& plan) const;

  /// Whether a race was held.
  bool are_complete() { return known(key_ + "done").has_value(); }
  /// Nanoseconds; nothing for what the last race did not time.
  std::optional<double> known(const std::string& key);
  /// Whether plans near the schedule's first one were raced, too.
  bool had_near(const Schedule& schedule) { return known(near_key(schedule)).has_value(); }

  /// Of a new race: what an earlier one left of these schedules counts no more.
  void begin(std::span<const Schedule> schedules, std::span<const Schedule> had_near);
  /// Infinity: it was not timed.
  void learn(const std::string& key, double nanoseconds);

 private:
  std::string near_key(const Schedule& schedule) const { return key(schedule) + " near"; }

  Tuner& tuner_;
  std::string key_;
};

}  // namespace wide
