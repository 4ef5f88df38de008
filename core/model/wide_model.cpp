#include "core/model/wide_model.h"

#include <ATen/ATen.h>

#include <algorithm>

#include "core/aten/pages.h"
#include "core/aten/torch_bridge.h"
#include "core/aten/torch_error.h"
#include "core/eager/interpreter.h"
#include "core/eager/operators.h"
#include "core/frontend/by_strides.h"
#include "core/passes/placement.h"
#include "core/passes/specialize.h"
#include "core/run/listing.h"
#include "core/strategy/member_fault.h"
#include "core/strategy/sequential.h"
#include "formats/error.h"

namespace wide {
namespace {

// Whether one member's tensor lies in memory as `asked`.
bool lies_as(const InMemory& asked, const ModelInput& input) {
  const auto tensor = input.member(0);
  if (!tensor.permute(asked.axes).is_contiguous()) return false;
  return !asked.offset || input.mapped || tensor.storage_offset() == *asked.offset;
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
  draws_ = draws_random(captured_);
  by_strides_ = draws_ || !captured_.in_order.empty() || writes_by_strides(captured_);
  reads_memory_ =
      std::ranges::any_of(user_inputs_, [](const auto& input) { return input.in_memory.has_value(); });
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
    if (built.written[k] && graph.inputs[k].kind != InputKind::kUser)
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
  if (!last_.build || reads_memory_ || inputs.size() != last_.inputs.size()) return false;
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    const auto& seen = last_.inputs[i];
    if (inputs[i].mapped != seen.mapped || inputs[i].tensor.scalar_type() != seen.dtype ||
        inputs[i].tensor.layout() != at::kStrided || inputs[i].tensor.sizes() != at::IntArrayRef(seen.shape))
      return false;
    if (by_strides_ && inputs[i].tensor.strides() != at::IntArrayRef(seen.strides)) return false;
  }
  return true;
}

std::string WideModel::key_of(std::span<const ModelInput> inputs) const {
  std::string key;
  for (const auto& input : inputs) {
    key += dtype_name(input.tensor.scalar_type()) +
           shape_text(input.tensor.sizes().slice(input.mapped ? 1 : 0)) + (input.mapped ? "m" : "s");
    if (!by_strides_) continue;
    if (const auto one = input.member(0); !one.is_contiguous()) key += "by" + shape_text(one.strides());
  }
  return key;
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
    if (const auto& asked = user_inputs_[i].in_memory; asked && !lies_as(*asked, inputs[i])) {
      throw Error("run", "input." + std::to_string(i) +
                             " lies in memory otherwise than the example did, and as_strided reads it as "
                             "memory; give it with the example's strides, such as .contiguous()");
    }
  }
  const auto key = key_of(inputs);
  auto found = builds_.find(key);
  if (found == builds_.end()) {
    make_room();
    const c10::InferenceMode guard;
    found = builds_.emplace(key, Kept{std::make_unique<Build>(make_build(inputs, key))}).first;
  }
  found->second.used = ++uses_;
  last_ = {found->second.build.get(), {}};
  for (const auto& input : inputs)
    last_.inputs.push_back({input.tensor.sizes().vec(), input.tensor.scalar_type(), input.mapped,
                            by_strides_ ? input.tensor.strides().vec() : std::vector<std::int64_t>{}});
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
  return is_last(inputs) || builds_.contains(key_of(inputs));
}

void WideModel::make_room() {
  if (builds_.size() < kMostBuilds) return;
  last_ = {};
  builds_.erase(std::min_element(builds_.begin(), builds_.end(),
                                 [](const auto& a, const auto& b) { return a.second.used < b.second.used; }));
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
