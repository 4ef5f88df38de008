#include "core/model/wide_model.h"

#include <ATen/ATen.h>

#include <algorithm>
#include <chrono>

#include "core/aten/pages.h"
#include "core/aten/torch_bridge.h"
#include "core/aten/torch_error.h"
#include "core/eager/interpreter.h"
#include "core/eager/operators.h"
#include "core/passes/canonicalize.h"
#include "core/passes/functionalize.h"
#include "core/passes/fuse.h"
#include "core/passes/group.h"
#include "core/passes/join_norms.h"
#include "core/passes/optimize.h"
#include "core/passes/placement.h"
#include "core/passes/specialize.h"
#include "core/run/listing.h"
#include "core/strategy/member_fault.h"
#include "core/strategy/sequential.h"
#include "core/strategy/shared_constants.h"
#include "formats/error.h"

namespace wide {
namespace {

std::string shape_key(std::span<const ModelInput> inputs) {
  std::string key;
  for (const auto& input : inputs) {
    key += dtype_name(input.tensor.scalar_type()) +
           shape_text(input.tensor.sizes().slice(input.mapped ? 1 : 0)) + (input.mapped ? "m" : "s");
  }
  return key;
}

// A pass of a small model takes microseconds: most inputs are there already, and are not asked to move.
at::Tensor on(at::Device device, const at::Tensor& tensor) {
  return tensor.device() == device ? tensor : tensor.to(device);
}

}  // namespace

WideModel::WideModel(Graph captured, std::vector<Member> members, BuildOptions options)
    : captured_(placed_on(std::move(captured), options.device.device)),
      members_(std::move(members)),
      options_(std::move(options)),
      plans_(options_.plans),
      pool_(std::make_unique<MemoryPool>()) {
  options_.strategies.mode = options_.mode;
  if (!options_.costs) options_.costs = std::make_shared<CostBook>();
  for (std::size_t i = 0; i < members_.size(); ++i) seeds_.push_back(options_.seed + i);
  for (const auto& input : captured_.inputs) {
    if (input.kind != InputKind::kUser) continue;
    if (!captured_.values[static_cast<std::size_t>(input.value)].tensor) {
      throw Error("capture", "the model takes a number as input '" + input.target +
                                 "', which is not supported; export it with that number fixed");
    }
    user_inputs_.push_back(input);
  }
  check_members();
}

void WideModel::check_members() const {
  if (members_.empty()) throw Error("widen", "a wide model needs at least one member");
  for (const auto& input : captured_.inputs) {
    for (const auto& member : members_) {
      if (input.kind != InputKind::kUser && !member.tensors.contains(input.target))
        throw Error("widen", "member '" + member.name + "' lacks '" + input.target + "'");
    }
  }
}

std::vector<c10::IValue> WideModel::member_values(std::int64_t i, std::span<const ModelInput> inputs,
                                                  const Graph& graph,
                                                  const std::vector<bool>* written) const {
  std::vector<c10::IValue> values;
  std::size_t user = 0;
  for (std::size_t k = 0; k < graph.inputs.size(); ++k) {
    const auto& input = graph.inputs[k];
    auto tensor = input.kind == InputKind::kUser
                      ? inputs[user++].member(i)
                      : members_[static_cast<std::size_t>(i)].tensors.at(input.target);
    tensor = tensor.to(device());
    if (!written || (*written)[k]) tensor = tensor.clone();
    values.emplace_back(std::move(tensor));
  }
  return values;
}

AloneRun WideModel::run_alone(std::int64_t i, std::span<const ModelInput> inputs,
                              const Interpreter::Observer& observer, const Change& change) {
  const c10::InferenceMode guard;
  const auto& built = build(inputs);
  const auto& graph = built.specialized;
  const KeptGenerator kept(device());
  default_generator(device()).set_state(
      new_generator(device(), seeds_[static_cast<std::size_t>(i)]).get_state());
  auto values = member_values(i, inputs, graph, &built.written);
  for (auto& value : values) {
    if (change) value = change(value.toTensor());
  }
  auto results = Interpreter(graph).run(values, observer);
  AloneRun alone;
  for (std::size_t k = 0; k < graph.inputs.size(); ++k) {
    const auto kind = graph.inputs[k].kind;
    if (built.written[k] && (kind == InputKind::kBuffer || kind == InputKind::kParameter))
      alone.buffers[graph.inputs[k].target] = values[k].toTensor();
  }
  for (std::size_t k = 0; k < results.size(); ++k) {
    if (graph.outputs[k].kind == OutputKind::kUser) {
      alone.outputs.push_back(std::move(results[k]));
    } else {
      alone.buffers[graph.outputs[k].target] = results[k].toTensor();
    }
  }
  return alone;
}

bool WideModel::is_last(std::span<const ModelInput> inputs) const {
  if (!last_.build || inputs.size() != last_.inputs.size()) return false;
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    const auto& seen = last_.inputs[i];
    if (inputs[i].mapped != seen.mapped || inputs[i].tensor.scalar_type() != seen.dtype ||
        inputs[i].tensor.sizes() != at::IntArrayRef(seen.shape))
      return false;
  }
  return true;
}

const Build& WideModel::build(std::span<const ModelInput> inputs) {
  if (is_last(inputs)) return *last_.build;
  if (inputs.size() != user_inputs_.size()) {
    throw Error("run", "the model has " + std::to_string(user_inputs_.size()) + " inputs, " +
                           std::to_string(inputs.size()) + " are given");
  }
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    check_input(captured_, user_inputs_[i], inputs[i].member(0), "input." + std::to_string(i));
    if (inputs[i].mapped && inputs[i].tensor.size(0) != members()) {
      throw Error("run", "input." + std::to_string(i) + " is given for " +
                             std::to_string(inputs[i].tensor.size(0)) + " members, the model has " +
                             std::to_string(members()));
    }
  }
  const auto key = shape_key(inputs);
  auto found = builds_.find(key);
  if (found == builds_.end()) {
    make_room();
    const c10::InferenceMode guard;
    found = builds_.emplace(key, Kept{std::make_unique<Build>(make_build(inputs, key))}).first;
  }
  found->second.used = ++uses_;
  last_ = {found->second.build.get(), {}};
  for (const auto& input : inputs)
    last_.inputs.push_back({input.tensor.sizes().vec(), input.tensor.scalar_type(), input.mapped});
  return *last_.build;
}

std::map<std::string, StoredPlan> WideModel::plans() const {
  return plans(members());
}

std::map<std::string, StoredPlan> WideModel::plans(std::int64_t members) const {
  std::map<std::string, StoredPlan> all;
  for (const auto& [key, kept] : builds_)
    all.emplace(key, store(kept.build->optimized, members, kept.build->planned));
  return all;
}

std::vector<native::Source> WideModel::sources() const {
  std::vector<native::Source> all;
  for (const auto& [key, kept] : builds_) {
    const auto& built = *kept.build;
    std::ranges::move(wide::sources(built.optimized, built.plan()), std::back_inserter(all));
    if (built.planned.rest)
      std::ranges::move(wide::sources(built.optimized, *built.planned.rest), std::back_inserter(all));
  }
  return all;
}

bool WideModel::has_build(std::span<const ModelInput> inputs) const {
  return is_last(inputs) || builds_.contains(shape_key(inputs));
}

void WideModel::make_room() {
  if (builds_.size() < kMostBuilds) return;
  last_ = {};
  builds_.erase(std::min_element(builds_.begin(), builds_.end(),
                                 [](const auto& a, const auto& b) { return a.second.used < b.second.used; }));
}

Build WideModel::make_build(std::span<const ModelInput> inputs, const std::string& key) {
  const auto start = std::chrono::steady_clock::now();
  const auto elapsed = [&] {
    return std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - start).count();
  };
  const SharedConstants sharing(members());
  Pipeline pipeline(options_.pipeline);
  pipeline.run("capture", [&] { return captured_; });
  Specialized specialized;
  const auto placed = [&](Graph graph) { return placed_on(std::move(graph), device()); };
  pipeline.run("specialize", [&] {
    // Scalar inputs of the program come as tensors too; they are read once.
    specialized = specialize(captured_, member_values(0, inputs, captured_));
    return specialized.graph;
  });
  auto written = written_inputs(specialized);
  auto functional = pipeline.run("functionalize", [&] {
    try {
      return placed(functionalize(specialized));
    } catch (const Error&) {
      // Always right, if not fast: the whole model as one call, member by member, which coverage() counts.
      return placed(functionalize_whole(specialized));
    }
  });
  auto canonical = pipeline.run("canonicalize", [&] { return placed(canonicalize(functional)); });

  std::vector<ValueState> states;
  std::vector<Constant> constants;
  std::size_t user = 0;
  for (const auto& input : canonical.inputs) {
    if (input.kind == InputKind::kUser) {
      states.push_back({inputs[user].mapped, false, inputs[user].mapped ? Layout::kFront : Layout::kShared});
      ++user;
      constants.emplace_back();
      continue;
    }
    const bool changes =
        std::any_of(canonical.outputs.begin(), canonical.outputs.end(), [&](const GraphOutput& output) {
          return output.kind == OutputKind::kBufferMutation && output.target == input.target;
        });
    const bool is_first = changes && !state_.contains(input.target);
    if (is_first && options_.borrowed) own_buffer(input.target);
    const auto& value = weight(input.target);
    if (changes) {
      // A buffer that is written may differ per member from the second pass on.
      states.push_back({true, false, Layout::kFront});
      constants.emplace_back();
      if (is_first) state_[input.target] = initial_buffer(input.target);
    } else {
      states.push_back({value.layout() != Layout::kShared, true, value.layout()});
      constants.push_back(value);
    }
  }
  const auto choice = choice_within_memory();
  auto optimized = pipeline.run("optimize", [&] {
    const auto range = [&](ValueId id) -> std::optional<std::pair<double, double>> {
      for (std::size_t i = 0; i < constants.size(); ++i)
        if (canonical.inputs[i].value == id && constants[i].is_given()) return constants[i].range();
      return std::nullopt;
    };
    auto fused = placed(fuse(join_norms(optimize(canonical, states, choice, range), choice), choice));
    return options_.mode == Mode::kEager ? fused : group(fused, states, choice);
  });
  const bool random = std::any_of(optimized.nodes.begin(), optimized.nodes.end(),
                                  [](const Node& node) { return draws_random(node); });
  pool_->trim();
  const auto values = input_values(canonical, inputs);
  auto parts_device = options_.device;
  if (random) parts_device.record = nullptr;  // this thread changes streams between members
  auto tuned_on = parts_device;
  if (options_.mode < Mode::kReduceOverhead) tuned_on.record = nullptr;
  const PlanRequest request{{optimized, states, constants, members(), options_.mode >= Mode::kReduceOverhead,
                             options_.stacked, std::move(parts_device)},
                            values,
                            choice,
                            random};
  // What draws is timed as it will run, by streams that nobody else draws from.
  std::optional<MemberStreams> trial;
  std::optional<MemberStreams::Active> drawing;
  if (random) drawing.emplace(&trial.emplace(seeds_, device()));
  const double before = elapsed();
  auto tuning_options = options_.tuning;
  tuning_options.memory = weight_bytes();
  Tuner tuner(*options_.costs, std::move(tuning_options), std::move(tuned_on));
  auto planned = this->planned(request, key, tuner);
  const double tuning = elapsed() - before;
  drawing.reset();
  settle_weights();
  if (has_much_weight()) return_free_memory();  // what packing them left
  pipeline.note("widen", elapsed(), [&] { return print(optimized, planned.plan); });
  pipeline.note("compile", elapsed(), [&] {
    return std::to_string(planned.execution.instructions()) + " instructions; " +
           describe(planned.schedule, members(), device()) + "\n" + listing(optimized, planned.plan);
  });
  return {std::move(specialized.graph),
          std::move(written),
          std::move(canonical),
          std::move(optimized),
          std::move(states),
          std::move(planned),
          pipeline.records(),
          elapsed(),
          tuning,
          random};
}

PlannedExecution WideModel::planned(const PlanRequest& request, const std::string& key, Tuner& tuner) {
  if (options_.plan) {
    auto restored = restore(request, *options_.plan);
    tell_stand_ins(restored.plan);
    return restored;
  }
  if (const auto before = plans_.find(key); before != plans_.end()) {
    auto plan = before->second;
    if (plan.members != members()) {
      const auto chunk = plan.schedule.chunk;
      if (chunk == plan.members || members() % chunk != 0) plan.schedule = {.chunk = members()};
      plan.members = members();
      plan.rest.clear();
    }
    try {
      auto restored = restore(request, plan);
      tell_stand_ins(restored.plan);
      return restored;
    } catch (const Error& error) {
      // Weights that were the same for all members are no more, or the other way round: another graph.
      plans_.erase(before);
      if (options_.warn) options_.warn(std::string("another plan is made: ") + error.what());
    }
  }
  return plan_execution(request, tuner, *pool_);
}

void WideModel::tell_stand_ins(const Plan& plan) {
  std::int64_t nodes = 0;
  std::string strategy, reason;
  for (const auto& node : plan.nodes) {
    if (node.refusals.empty()) continue;
    ++nodes;
    strategy = node.refusals.back().strategy, reason = node.refusals.back().reason;
  }
  if (nodes == 0 || !options_.warn) return;
  options_.warn("the plan's strategy '" + strategy + "' cannot run here for " + std::to_string(nodes) +
                (nodes == 1 ? " node" : " nodes") + ", which another runs: " + reason);
  options_.warn = {};
}

void WideModel::replace_members(std::vector<Member> members) {
  std::swap(members_, members);
  try {
    check_members();
  } catch (const Error&) {
    std::swap(members_, members);
    throw;
  }
  for (auto& [key, plan] : plans(static_cast<std::int64_t>(members.size())))
    plans_.insert_or_assign(key, std::move(plan));
  last_ = {};
  builds_.clear();
  weights_.clear();
  by_hash_.clear();
  state_.clear();
  streams_.reset();
  pool_->trim();
  seeds_.clear();
  for (std::size_t i = 0; i < members_.size(); ++i) seeds_.push_back(options_.seed + i);
}

std::vector<WideTensor> WideModel::input_values(const Graph& graph,
                                                std::span<const ModelInput> inputs) const {
  std::vector<WideTensor> values;
  std::size_t user = 0;
  for (const auto& input : graph.inputs) {
    if (input.kind == InputKind::kUser) {
      const auto& given = inputs[user++];
      values.push_back({on(device(), given.tensor), given.mapped ? Layout::kFront : Layout::kShared});
    } else if (const auto state = state_.find(input.target); state != state_.end()) {
      values.push_back({state->second, Layout::kFront});
    } else {
      values.emplace_back();
    }
  }
  return values;
}

std::vector<ExecutionOutput> WideModel::run_named(const Build& built, std::span<const ModelInput> inputs) {
  try {
    return built.planned.execution.run(input_values(built.canonical, inputs), *pool_);
  } catch (const MemberFault& fault) {
    throw fault.named(members_[static_cast<std::size_t>(fault.member())].name);
  }
}

std::vector<ModelOutput> WideModel::forward(std::span<const ModelInput> inputs) {
  const auto& built = build(inputs);
  const c10::InferenceMode guard;
  std::optional<MemberStreams::Active> active;
  if (built.random) {
    if (!streams_) streams_ = std::make_unique<MemberStreams>(seeds_, device());
    active.emplace(streams_.get());
  }
  auto results = run_named(built, inputs);
  std::vector<ModelOutput> outputs;
  for (std::size_t i = 0; i < results.size(); ++i) {
    const auto& output = built.canonical.outputs[i];
    ModelOutput one{output.target, std::move(results[i].parts), results[i].mapped, {}};
    if (output.kind == OutputKind::kBufferMutation) {
      auto tensor = one.stacked();
      if (!one.mapped) tensor = tensor.expand(state_.at(output.target).sizes());
      state_[output.target] = std::move(tensor);
      continue;
    }
    if (!output.value.ref()) one.constant = output.value, one.parts.clear();
    outputs.push_back(std::move(one));
  }
  // The next pass reads the written buffers: what the caller does to an output must not change them.
  for (auto& output : outputs) {
    for (auto& part : output.parts) {
      const bool kept = std::any_of(state_.begin(), state_.end(), [&](const auto& buffer) {
        return part.has_storage() && part.storage().is_alias_of(buffer.second.storage());
      });
      if (kept) part = part.clone();
    }
  }
  return outputs;
}

void WideModel::poison() {
  pool_->poison();
  for (auto& [key, kept] : builds_) kept.build->planned.execution.poison();
}

void WideModel::reset() {
  streams_.reset();
  for (auto& [fqn, tensor] : state_) tensor = initial_buffer(fqn);
}

}  // namespace wide
