#include "core/tune/pass_times.h"

#include <ATen/Parallel.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "core/ir/text.h"
#include "core/tune/cost_book.h"

namespace wide {
namespace {

std::string text_of(const Plan& plan) {
  std::string text;
  for (const auto& node : plan.nodes) {
    text.append(node.strategy);
    for (const auto layout : node.offer.operands) text.append(" ").append(name(layout));
    for (const auto layout : node.offer.results) text.append(">").append(name(layout));
    text.append(";");
  }
  return text;
}

}  // namespace

PassTimes::PassTimes(const PlanRequest& request, Tuner& tuner) : tuner_(tuner) {
  const auto& parts = request.parts;
  const bool is_cpu = parts.device.device.is_cpu();
  std::string text = print(parts.graph);
  for (const auto& input : parts.inputs) text += input.mapped ? 'm' : 's';
  key_ = "schedule " + std::to_string(fnv1a(text)) + " N=" + std::to_string(parts.members) +
         " threads=" + std::to_string(at::get_num_threads()) + " ";
  if (!is_cpu) key_.append("on ").append(parts.device.name).append(" ");
  if (parts.static_memory) key_.append(is_cpu ? "planned " : "recorded ");
  if (parts.stacked) key_.append("stacked ");
  if (const auto spare = request.choice.spare; spare < std::numeric_limits<std::int64_t>::max())
    key_.append("within ").append(std::to_string(spare)).append(" ");
  if (request.choice.mode != Mode::kEager) key_.append(name(request.choice.mode)).append(" ");
}

std::string PassTimes::key(const Schedule& schedule) const {
  auto key = key_;
  Schedule::each(schedule, [&](const char*, auto number, int, int) {
    key.append(key.size() > key_.size() ? "/" : "").append(std::to_string(number));
  });
  return key;
}

std::string PassTimes::key(const Schedule& schedule, const Plan& plan) const {
  return key(schedule) + " as " + std::to_string(fnv1a(text_of(plan)));
}

// In the book 0 stands for "no": lines are only ever added to it.
std::optional<double> PassTimes::known(const std::string& key) {
  const auto time = tuner_.known(key);
  return time && *time > 0 ? time : std::nullopt;
}

void PassTimes::begin(std::span<const Schedule> schedules, std::span<const Schedule> had_near) {
  for (const auto& schedule : schedules) {
    tuner_.learn(key(schedule), 0);
    tuner_.learn(near_key(schedule), std::ranges::find(had_near, schedule) != had_near.end() ? 1 : 0);
  }
  tuner_.learn(key_ + "done", 1);
}

void PassTimes::learn(const std::string& key, double nanoseconds) {
  tuner_.learn(key, std::isfinite(nanoseconds) ? nanoseconds : 0);
}

}  // namespace wide
