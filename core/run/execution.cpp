#include "core/run/execution.h"

#include <ATen/ATen.h>
#include <ATen/Parallel.h>

#include <algorithm>
#include <memory>
#include <optional>
#include <string>

#include "core/aten/side_by_side.h"
#include "core/eager/observe.h"
#include "core/ir/ragged.h"
#include "core/run/recorded_pass.h"
#include "core/strategy/member_fault.h"

namespace wide {
namespace {

WideTensor part_of(const WideTensor& value, const MembersOfProgram& part) {
  if (!value.tensor.defined() || value.layout == Layout::kShared) return value;
  if (part.alone) return {value.tensor.select(0, part.first), Layout::kShared};
  if (part.count == value.tensor.size(0)) return value;
  return {value.tensor.narrow(0, part.first, part.count), Layout::kFront};
}

std::vector<WideTensor> parts_of(std::span<const WideTensor> values, const MembersOfProgram& part) {
  std::vector<WideTensor> parts;
  parts.reserve(values.size());
  for (const auto& value : values) parts.push_back(part_of(value, part));
  return parts;
}

// A copy that may be made while what is copied is in the cache of who made it. Where it is small, one copy of
// all at the end is as fast.
constexpr std::int64_t kCopiedAtOnce = 1 << 17;

// All members' results in one tensor, or nothing where they are few numbers, or differ in size.
std::optional<ConcreteType> together(const Value& value, std::int64_t members) {
  auto type = concrete(value);
  if (type.varies || type.bytes() < kCopiedAtOnce) return std::nullopt;
  type.shape.insert(type.shape.begin(), members);
  return type;
}

// A program's result goes to where its members lie in `all`. False where it has another size.
bool put(const WideTensor& result, const MembersOfProgram& part, const at::Tensor& all) {
  const auto own = all.narrow(0, part.first, part.count);
  const auto given = result.layout == Layout::kShared ? result.tensor.unsqueeze(0) : result.tensor;
  if (given.sizes() != own.sizes() || given.scalar_type() != own.scalar_type()) return false;
  own.copy_(given);
  return true;
}

// Written buffers.
RecordedPass::Kept kept_by(const Graph& graph) {
  RecordedPass::Kept kept;
  for (const auto& output : graph.outputs) kept.outputs.push_back(output.kind == OutputKind::kBufferMutation);
  for (const auto& input : graph.inputs) kept.inputs.push_back(graph.writes(input));
  return kept;
}

}  // namespace

std::int64_t Schedule::turns(std::int64_t members) const {
  const auto programs = (members + chunk - 1) / chunk;
  return (programs + workers - 1) / workers;
}

std::string describe(const Schedule& schedule, std::int64_t members, at::Device device) {
  const auto programs = (members + schedule.chunk - 1) / schedule.chunk;
  std::string text = std::to_string(members) + (members == 1 ? " member" : " members");
  if (programs == 1) {
    text += members == 1 ? "" : " at once";
    if (schedule.threads == 1) text += " on one thread";
    return text;
  }
  if (schedule.chunk > 1)
    text += " in " + std::to_string(programs) + " programs of " + std::to_string(schedule.chunk);
  if (schedule.workers > 1) {
    text.append(", ").append(std::to_string(schedule.workers)).append(" at a time on a ");
    text.append(device.is_cpu() ? "thread each" : "stream each");
  } else {
    text += schedule.chunk > 1 ? ", one after the other" : " one after the other";
    if (schedule.threads == 1) text += " on one thread";
  }
  return text;
}

Execution::Execution(const Parts& parts, const Schedule& schedule, const Plan& plan, const Plan* rest)
    : schedule_(schedule), device_(parts.device.device) {
  const bool records = parts.static_memory && parts.device.record;
  const bool plans_memory = parts.static_memory && device_.is_cpu() && !records;
  const auto states = spread_states(parts.graph, {parts.inputs.begin(), parts.inputs.end()});
  const bool stacks = parts.stacked && device_.is_cpu() && schedule.chunk < parts.members;
  for (const auto& output : parts.graph.outputs) {
    const auto* ref = output.value.ref();
    mapped_outputs_.push_back(ref && states[static_cast<std::size_t>(ref->id)].mapped);
    const auto* value = ref ? &parts.graph.values[static_cast<std::size_t>(ref->id)] : nullptr;
    const bool stacked = stacks && mapped_outputs_.back() && value->tensor;
    together_.push_back(stacked ? together(*value, parts.members) : std::nullopt);
  }
  for (std::int64_t first = 0; first < parts.members; first += schedule.chunk) {
    const auto count = std::min(schedule.chunk, parts.members - first);
    const auto& own = count == schedule.chunk || !rest ? plan : *rest;
    const MembersOfProgram members{first, count, own.alone};
    parts_.push_back({members, Program(parts.graph, own, parts.constants, members),
                      plans_memory ? std::make_unique<MemoryPlan>() : nullptr});
  }
  if (records) recorded_ = std::make_unique<RecordedPass>(parts.device.record, kept_by(parts.graph));
}

Execution::~Execution() = default;
Execution::Execution(Execution&&) noexcept = default;
Execution& Execution::operator=(Execution&&) noexcept = default;

std::size_t Execution::instructions() const {
  std::size_t sum = 0;
  for (const auto& part : parts_) sum += part.program.instructions();
  return sum;
}

std::vector<WideTensor> Execution::run_part(const Part& part, std::span<const WideTensor> inputs,
                                            MemoryPool& pool) const {
  const auto own = parts_of(inputs, part.members);
  std::optional<ObservedMembers> observed;  // a single part works for all
  const auto& [first, count, alone] = part.members;
  if (parts_.size() > 1 || alone) observed.emplace(MemberRange{first, count});
  try {
    if (part.memory) {
      const MemoryPlan::Pass pass(*part.memory, pool);
      return part.program.run(own);
    }
    const MemoryPool::Scope scope(pool);
    return part.program.run(own);
  } catch (const MemberFault& fault) {
    throw fault.behind(part.members.first);
  }
}

void Execution::poison() {
  for (auto& part : parts_) {
    if (part.memory) part.memory->poison();
  }
}

MemoryPlan::Statistics Execution::memory() const {
  MemoryPlan::Statistics sum;
  for (const auto& part : parts_) {
    if (!part.memory) continue;
    const auto one = part.memory->statistics();
    sum.slab_bytes += one.slab_bytes, sum.planned += one.planned;
    sum.passes += one.passes, sum.strayed += one.strayed;
  }
  return sum;
}

std::vector<ExecutionOutput> Execution::run(std::span<const WideTensor> inputs, MemoryPool& pool) const {
  if (!recorded_ || !c10::InferenceMode::is_enabled()) return run_parts(inputs, pool);
  return recorded_->run(inputs, [&](std::span<const WideTensor> given) { return run_parts(given, pool); });
}

std::vector<at::Tensor> Execution::room_for_all() const {
  std::vector<at::Tensor> all;
  for (const auto& type : together_)
    all.push_back(type ? at::empty(type->shape, at::TensorOptions(device_).dtype(type->dtype))
                       : at::Tensor());
  return all;
}

std::vector<ExecutionOutput> Execution::run_parts(std::span<const WideTensor> inputs,
                                                  MemoryPool& pool) const {
  std::vector<std::vector<WideTensor>> results(parts_.size());
  const bool inference = c10::InferenceMode::is_enabled();
  const auto all = inference ? room_for_all() : std::vector<at::Tensor>(mapped_outputs_.size());
  const auto run_one = [&](std::size_t i) {
    const c10::InferenceMode mode(inference);
    results[i] = run_part(parts_[i], inputs, pool);
    for (std::size_t k = 0; k < all.size(); ++k) {
      auto& result = results[i][k];
      const auto& [first, count, alone] = parts_[i].members;
      if (all[k].defined() && put(result, parts_[i].members, all[k]))
        result = {all[k].narrow(0, first, count), Layout::kFront};
    }
  };
  const auto workers = static_cast<std::size_t>(schedule_.workers);
  if (workers > 1 && parts_.size() > 1 && !device_.is_cpu()) {
    run_on_streams(device_, parts_.size(), workers, run_one);
  } else if (workers > 1 && parts_.size() > 1) {
    run_side_by_side(parts_.size(), workers, run_one);
  } else if (schedule_.threads == 1 && at::get_num_threads() > 1) {
    run_side_by_side(parts_.size(), 1, run_one);
  } else {
    for (std::size_t i = 0; i < parts_.size(); ++i) run_one(i);
  }
  std::vector<ExecutionOutput> outputs(mapped_outputs_.size());
  for (std::size_t k = 0; k < outputs.size(); ++k) {
    auto& output = outputs[k];
    output.mapped = mapped_outputs_[k];
    const auto is_there = [&](const auto& part) { return part[k].tensor.is_alias_of(all[k]); };
    if (all[k].defined() && std::ranges::all_of(results, is_there)) {
      output.parts.push_back(all[k]);
      continue;
    }
    for (std::size_t i = 0; i < (output.mapped ? parts_.size() : 1); ++i) {
      auto& tensor = results[i][k].tensor;
      if (const auto each = each_member(tensor); !each.empty()) {
        for (const auto& own : each) output.parts.push_back(own.unsqueeze(0));
        continue;
      }
      const bool lacks_axis = output.mapped && results[i][k].layout == Layout::kShared;
      output.parts.push_back(lacks_axis ? tensor.unsqueeze(0) : std::move(tensor));
    }
  }
  return outputs;
}

}  // namespace wide
