#include "app/regret.h"

#include <algorithm>
#include <memory>
#include <numeric>

#include "core/model/every_plan.h"
#include "core/tune/stopwatch.h"
#include "profiler/measure.h"
#include "profiler/statistics.h"

namespace wide::app {
namespace {

// What a rough look leaves as possible winners: so many of the fastest, and the fastest of each schedule,
// since schedules with several threads have slow moments that others have not.
constexpr std::size_t kFinalists = 4;
constexpr double kFarBehind = 2;
const StopwatchOptions kRough{.rounds = 7, .sample_us = 200, .seconds_each = 0.1, .least_rounds = 3};
constexpr profiler::StoppingRule rounds(int least, int most) {
  return {.min_rounds = least,
          .max_rounds = most,
          .max_seconds = 4,
          .relative_width = 0.01,
          .min_sample_us = 300,
          .warmup_seconds = 0.2};
}
// Slow moments of the machine that hit one of two plans last for tenths of a second: the difference that is
// reported is measured for longer than that.
constexpr auto kExact = rounds(80, 160), kFinal = rounds(1000, 1000);

std::string summary(const Build& build, std::int64_t members) {
  auto text = describe(build.planned.schedule, members, build.optimized.device) + ":";
  for (const auto& node : build.plan().nodes) {
    if (node.strategy == kConstantStrategy) continue;
    text.append(" ").append(node.strategy);
    if (!node.offer.results.empty()) text.append("/").append(name(node.offer.results[0]));
  }
  return text;
}

std::unique_ptr<WideModel> with_plan(const WideModel& model, const StoredPlan& plan) {
  auto options = model.options();
  options.plan = plan;
  return std::make_unique<WideModel>(model.graph(), model.member_list(), options);
}

// Indices into `plans`; without `known`, which takes part in any case.
std::vector<std::size_t> finalists_of(const std::vector<StoredPlan>& plans, const std::vector<double>& times,
                                      const StoredPlan& known) {
  std::vector<std::size_t> order(times.size()), finalists;
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) { return times[a] < times[b]; });
  std::vector<Schedule> seen;
  std::size_t place = 0;
  for (const auto i : order) {
    const bool is_near = times[i] < kFarBehind * times[order[0]];
    const bool leads = std::find(seen.begin(), seen.end(), plans[i].schedule) == seen.end();
    seen.push_back(plans[i].schedule);
    const bool takes_part = place++ < kFinalists || (leads && is_near);
    if (takes_part && plans[i] != known) finalists.push_back(i);
  }
  return finalists;
}

profiler::Measurement measure_beside(WideModel& model, std::span<WideModel* const> others,
                                     std::span<const ModelInput> inputs, const profiler::StoppingRule& rule,
                                     std::uint64_t seed) {
  std::vector<profiler::Contender> contenders{{"auto", [&] { model.forward(inputs); }}};
  for (auto* other : others)
    contenders.push_back({"plan " + std::to_string(contenders.size()), [=] { other->forward(inputs); }});
  profiler::SteadyClock clock;
  return profiler::measure(contenders, rule, seed, clock, {});
}

// The fastest of `others`, or null where none is faster than `model`.
WideModel* faster_one(WideModel& model, std::span<WideModel* const> others,
                      std::span<const ModelInput> inputs, std::uint64_t seed) {
  const auto measured = measure_beside(model, others, inputs, kExact, seed);
  WideModel* fastest = nullptr;
  double least = profiler::summarize(measured, 0).median_us;
  for (std::size_t i = 0; i < others.size(); ++i) {
    const auto time = profiler::summarize(measured, static_cast<int>(i) + 1).median_us;
    if (time < least) least = time, fastest = others[i];
  }
  return fastest;
}

}  // namespace

Regret regret_of(WideModel& model, std::span<const ModelInput> inputs, std::size_t most, std::uint64_t seed) {
  const auto& built = model.build(inputs);
  const auto all = every_plan(built, model.members(), model.options().strategies, most);
  std::vector<std::unique_ptr<WideModel>> models;
  std::vector<std::function<void()>> runs;
  for (const auto& plan : all.plans) {
    models.push_back(with_plan(model, plan));
    runs.emplace_back([one = models.back().get(), inputs] { one->forward(inputs); });
  }
  const auto times = time_in_turns(runs, kRough);
  const auto known = store(built.optimized, model.members(), built.planned);
  std::vector<WideModel*> finalists;
  for (const auto i : finalists_of(all.plans, times, known)) finalists.push_back(models[i].get());

  auto* best = faster_one(model, finalists, inputs, seed);
  // The fastest of several is in part the luckiest: how much faster it is, rounds of their own say.
  const std::size_t others = best ? 1 : 0;
  const auto measured =
      measure_beside(model, std::span(&best, others), inputs, best ? kFinal : kExact, seed + 1);
  Regret regret{.plans = all.plans.size(), .complete = all.complete};
  regret.auto_us = regret.best_us = profiler::summarize(measured, 0).median_us;
  regret.auto_plan = regret.best_plan = summary(built, model.members());
  if (!best) return regret;
  const auto best_us = profiler::summarize(measured, 1).median_us;
  if (best_us >= regret.auto_us) return regret;
  const auto interval = profiler::bootstrap_median(profiler::round_ratios(measured.samples, 0, 1), seed);
  regret.best_us = best_us;
  regret.ratio = interval.value, regret.low = interval.low, regret.high = interval.high;
  regret.best_plan = summary(best->build(inputs), model.members());
  return regret;
}

}  // namespace wide::app
