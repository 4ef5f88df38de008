// From the captured graph to programs for inputs of given shapes: make_build() is the list of stages.
#include <algorithm>
#include <chrono>
#include <optional>
#include <utility>

#include "core/aten/pages.h"
#include "core/frontend/by_strides.h"
#include "core/frontend/memory_order.h"
#include "core/model/wide_model.h"
#include "core/passes/canonicalize.h"
#include "core/passes/functionalize.h"
#include "core/passes/fuse.h"
#include "core/passes/group.h"
#include "core/passes/join_attention.h"
#include "core/passes/join_norms.h"
#include "core/passes/optimize.h"
#include "core/passes/placement.h"
#include "core/passes/specialize.h"
#include "core/run/listing.h"
#include "core/strategy/shared_constants.h"
#include "formats/error.h"

namespace wide {
namespace {

using Clock = std::chrono::steady_clock;

double milliseconds_since(Clock::time_point start) {
  return std::chrono::duration<double, std::milli>(Clock::now() - start).count();
}

Graph functional_of(const Specialized& specialized) {
  try {
    return functionalize(specialized);
  } catch (const Error&) {
    // Always right, if not fast: the whole model as one call, member by member, which coverage() counts.
    return functionalize_whole(specialized);
  }
}

}  // namespace

Build WideModel::make_build(std::span<const ModelInput> inputs, const std::string& key) {
  const auto start = Clock::now();
  const SharedConstants sharing(members());
  Pipeline pipeline(options_.pipeline);
  const auto placed = [&](Graph graph) { return placed_on(std::move(graph), device()); };

  pipeline.run("capture", [&] { return captured_; });
  Specialized specialized;
  pipeline.run("specialize", [&] {
    // Scalar inputs of the program come as tensors too; they are read once.
    if (!captured_.in_order.empty()) check_in_order(captured_, member_values(0, inputs, captured_));
    std::optional<Graph> drawn;
    if (draws_) drawn = with_draws_in_turn(captured_, member_values(0, inputs, captured_));
    specialized = specialize(drawn ? *drawn : captured_, member_values(0, inputs, captured_));
    return specialized.graph;
  });
  auto written = written_inputs(specialized);
  const auto functional = pipeline.run("functionalize", [&] { return placed(functional_of(specialized)); });
  auto canonical = pipeline.run("canonicalize", [&] { return placed(canonicalize(functional)); });
  auto held = hold_inputs(canonical, inputs);
  const auto choice = choice_within_memory();
  auto optimized = pipeline.run("optimize", [&] {
    const auto range = [&](ValueId id) -> std::optional<std::pair<double, double>> {
      for (std::size_t i = 0; i < held.constants.size(); ++i)
        if (canonical.inputs[i].value == id && held.constants[i].is_given()) return held.constants[i].range();
      return std::nullopt;
    };
    const auto folded = join_norms(optimize(canonical, held.states, choice, range), choice);
    auto fused = placed(fuse(join_attention(folded, held.states, choice), held.states, choice));
    return options_.mode == Mode::kEager ? fused : group(fused, held.states, choice);
  });

  return_free_memory();  // what tracing and the stages left; else the peak of planning has it on top
  const auto begun = Clock::now();
  auto planned = this->planned(optimized, canonical, held, choice, inputs, key);
  const double tuning = milliseconds_since(begun);
  settle_weights();
  return_free_memory();  // what packing them left
  pipeline.note("widen", milliseconds_since(start), [&] { return print(optimized, planned.plan); });
  pipeline.note("compile", milliseconds_since(start), [&] {
    return std::to_string(planned.execution.instructions()) + " instructions; " +
           describe(planned.schedule, members(), device()) + "\n" + listing(optimized, planned.plan);
  });
  const bool random = draws_random(optimized);
  return {members(),
          std::move(specialized.graph),
          std::move(written),
          std::move(canonical),
          std::move(optimized),
          std::move(held.states),
          std::move(planned),
          pipeline.records(),
          milliseconds_since(start),
          tuning,
          random};
}

WideModel::Held WideModel::hold_inputs(const Graph& canonical, std::span<const ModelInput> inputs) {
  std::set<std::string> written;
  for (const auto& input : canonical.inputs)
    if (canonical.writes(input) && !state_.contains(input.target)) written.insert(input.target);
  if (!written.empty()) refuse_overlaps(written);
  Held held;
  std::size_t user = 0;
  for (const auto& input : canonical.inputs) {
    if (input.kind == InputKind::kUser) {
      const bool mapped = inputs[user++].mapped;
      held.states.push_back({mapped, false, mapped ? Layout::kFront : Layout::kShared});
      held.constants.emplace_back();
      continue;
    }
    const bool changes = canonical.writes(input);
    const bool is_first = changes && !state_.contains(input.target);
    if (is_first && options_.borrowed) own_buffer(input.target);
    const auto& value = weight(input.target);
    if (changes) {
      // A buffer that is written may differ per member from the second pass on.
      held.states.push_back({true, false, Layout::kFront});
      held.constants.emplace_back();
      if (is_first) state_[input.target] = initial_buffer(input.target);
    } else {
      held.states.push_back({value.layout() != Layout::kShared, true, value.layout()});
      held.constants.push_back(value);
    }
  }
  return held;
}

PlannedExecution WideModel::planned(const Graph& optimized, const Graph& canonical, const Held& held,
                                    const StrategyChoice& choice, std::span<const ModelInput> inputs,
                                    const std::string& key) {
  const auto values = input_values(canonical, inputs);
  pool_->trim();
  const bool random = draws_random(optimized);
  auto parts_device = options_.device;
  if (random) parts_device.record = nullptr;  // this thread changes streams between members
  auto tuned_on = parts_device;
  if (options_.mode < Mode::kReduceOverhead) tuned_on.record = nullptr;
  const PlanRequest request{
      {optimized, held.states, held.constants, members(), options_.mode >= Mode::kReduceOverhead,
       options_.stacked, std::move(parts_device)},
      values,
      choice,
      canonical,
      random};
  if (auto restored = restored_plan(request, key)) return *std::move(restored);
  // What draws is timed as it will run, by streams that nobody else draws from.
  std::optional<MemberStreams> trial;
  std::optional<MemberStreams::Active> drawing;
  if (random) drawing.emplace(&trial.emplace(seeds_, device()));
  auto tuning = options_.tuning;
  tuning.memory = weight_bytes();
  Tuner tuner(*options_.costs, std::move(tuning), std::move(tuned_on));
  return plan_execution(request, tuner, *pool_);
}

std::optional<PlannedExecution> WideModel::restored_plan(const PlanRequest& request, const std::string& key) {
  const auto restored = [&](const StoredPlan& plan) {
    auto execution = restore(request, plan);
    tell_stand_ins(execution.plan, plan);
    return execution;
  };
  if (options_.plan) return restored(*options_.plan);
  const auto before = plans_.find(key);
  if (before == plans_.end()) return std::nullopt;
  auto plan = before->second;
  if (plan.members != members()) {
    const auto chunk = plan.schedule.chunk;
    if (chunk == plan.members || members() % chunk != 0) plan.schedule = {.chunk = members()};
    plan.members = members();
    plan.rest.clear();
  }
  try {
    return restored(plan);
  } catch (const Error& error) {
    // Weights that were the same for all members are no more, or the other way round: another graph.
    plans_.erase(before);
    const std::string why = error.what();  // its advice is followed already
    if (options_.warn)
      options_.warn("the plan there was does not fit these members, another is made: " +
                    why.substr(0, why.rfind("; ")));
    return std::nullopt;
  }
}

void WideModel::tell_stand_ins(const Plan& plan, const StoredPlan& stored) {
  std::int64_t nodes = 0;
  std::string strategy, reason;
  for (std::size_t i = 0; i < plan.nodes.size(); ++i) {
    const auto& node = plan.nodes[i];
    const bool is_as_stored = i < stored.nodes.size() && node.strategy == stored.nodes[i].strategy;
    if (node.refusals.empty() || is_as_stored) continue;
    ++nodes;
    strategy = node.refusals.back().strategy, reason = node.refusals.back().reason;
  }
  if (nodes == 0 || !options_.warn || std::exchange(told_stand_ins_, true)) return;
  options_.warn("the plan's strategy '" + strategy + "' cannot run here for " + std::to_string(nodes) +
                (nodes == 1 ? " node" : " nodes") + ", which another runs: " + reason);
}

}  // namespace wide
