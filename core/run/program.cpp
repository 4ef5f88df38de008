#include "core/run/program.h"

#include <ATen/ATen.h>

#include <algorithm>
#include <map>
#include <set>
#include <unordered_map>

#include "core/aten/torch_error.h"
#include "core/eager/operators.h"
#include "core/ir/ragged.h"
#include "core/strategy/member_fault.h"
#include "core/strategy/sequential.h"
#include "formats/error.h"

namespace wide {
namespace {

const Strategy& find_strategy(const NodePlan& plan) {
  if (plan.strategy == kSequential.name) return kSequential;
  for (const auto& primitive : primitives()) {
    if (primitive.name != plan.primitive) continue;
    for (const auto& strategy : primitive.strategies) {
      if (strategy.name == plan.strategy) return strategy;
    }
  }
  throw Error("compile", "the plan names strategy '" + plan.strategy + "' of '" + plan.primitive +
                             "', which does not exist");
}

template <typename Use>
void for_each_memory(const at::Tensor& tensor, const Use& use) {
  for (const auto& member : each_member(tensor)) for_each_memory(member, use);
  if (tensor.defined() && tensor.has_storage()) use(tensor.storage().unsafeGetStorageImpl());
}

// Bytes of a constant made of others, all members' and each one's; what is this part of it or less, is small.
constexpr std::int64_t kMuch = 1 << 20, kMuchOfOne = 1 << 16, kSmallPart = 16;

at::Tensor copy_of(const at::Tensor& tensor) {
  const auto each = each_member(tensor);
  if (each.empty()) return tensor.clone();
  std::vector<at::Tensor> copies;
  for (const auto& member : each) copies.push_back(member.clone());
  return ragged(std::move(copies));
}

}  // namespace

class ProgramBuilder {
 public:
  ProgramBuilder(const Graph& graph, const Plan& plan, std::span<const Constant> constants,
                 const MembersOfProgram& members, Program& program)
      : graph_(graph),
        plan_(plan),
        inputs_(constants),
        part_(members),
        members_(members.count),
        program_(program) {}

  void build() {
    for (std::size_t i = 0; i < graph_.inputs.size(); ++i) {
      const auto id = graph_.inputs[i].value;
      const auto& state = value_state(id);
      const auto slot = new_slot(id, state.layout);
      if (inputs_[i].is_given()) {
        pending_.emplace(slot, Pending{inputs_[i], part_});
      } else {
        program_.entries_.push_back({i, slot, state.layout});
      }
    }
    const auto last = last_readers();
    for (std::size_t i = 0; i < graph_.nodes.size(); ++i) {
      node_ = static_cast<std::int32_t>(i);
      add_node(graph_.nodes[i], plan_.nodes[i]);
      for (const auto id : last[i]) drop_unread(id);
    }
    node_ = -1;
    for (const auto& output : graph_.outputs) add_exit(output.value);
    free_after_last_use();
    program_.initial_ = std::move(constants_);
    for (const auto& constant : program_.initial_)
      for_each_memory(constant, [&](const c10::StorageImpl* memory) { program_.kept_.insert(memory); });
  }

 private:
  const ValueState& value_state(ValueId id) const { return plan_.values[static_cast<std::size_t>(id)]; }
  ConcreteType type(ValueId id) const { return concrete(graph_.values[static_cast<std::size_t>(id)]); }

  std::size_t new_slot(ValueId id, Layout layout) {
    constants_.emplace_back();
    slots_[{id, layout}] = constants_.size() - 1;
    return constants_.size() - 1;
  }
  void set_constant(std::size_t slot, at::Tensor tensor) { constants_[slot] = std::move(tensor); }
  bool is_constant(std::size_t slot) const { return constants_[slot].defined() || pending_.contains(slot); }
  // Constants that wait are there from the first that asks.
  const at::Tensor& constant(std::size_t slot) {
    if (const auto found = pending_.find(slot); found != pending_.end()) {
      const auto& [all, part] = found->second;
      set_constant(slot, all.part(part.first, part.count, part.alone));
      pending_.erase(found);
    }
    return constants_[slot];
  }

  // For kernels to be made ready for: nothing is stacked by that.
  ConstantPart part_of_constant(std::size_t slot) {
    if (const auto found = pending_.find(slot); found != pending_.end()) {
      const auto& [all, part] = found->second;
      if (all.is_apart() && !part.alone) return {all, part.first, part.count};
    }
    return constant(slot);
  }

  // By node, the values that no later node reads and that are no outputs.
  std::vector<std::vector<ValueId>> last_readers() const {
    std::map<ValueId, std::size_t> readers;
    for (std::size_t i = 0; i < graph_.nodes.size(); ++i) {
      for (const auto id : localize(graph_.nodes[i]).operands) readers[id] = i;
    }
    for (const auto& output : graph_.outputs) {
      if (const auto* ref = output.value.ref()) readers.erase(ref->id);
    }
    std::vector<std::vector<ValueId>> values(graph_.nodes.size());
    for (const auto& [id, node] : readers) values[node].push_back(id);
    return values;
  }

  // A constant that was only packed, or that other constants were made of.
  void drop_unread(ValueId id) {
    for (auto it = slots_.lower_bound({id, {}}); it != slots_.end() && it->first.first == id; ++it) {
      if (read_.contains(it->second)) continue;
      constants_[it->second].reset();
      if (const auto found = pending_.find(it->second); found != pending_.end()) {
        found->second.constant.release();
        found->second.constant = {};
      }
    }
    for (std::size_t i = 0; i < graph_.inputs.size(); ++i) {
      if (graph_.inputs[i].value == id) inputs_[i].release();
    }
  }

  // The slot of `id` in `layout`; a conversion is added, or done at once for a constant.
  std::size_t slot_in(ValueId id, Layout layout) {
    if (const auto found = slots_.find({id, layout}); found != slots_.end()) return found->second;
    const auto from = source_layout(id, layout);
    const auto source = slots_.at({id, from});
    const auto slot = new_slot(id, layout);
    const auto value_type = type(id);
    if (is_constant(source)) {
      auto converted = convert(constant(source), from, layout, value_type, members_);
      set_constant(slot, layout == Layout::kPacked ? converted.contiguous() : std::move(converted));
      return slot;
    }
    Kernel kernel = [from, layout, value_type, members = members_](std::span<const at::Tensor> in,
                                                                   std::span<at::Tensor> out) {
      out[0] = convert(in[0], from, layout, value_type, members);
    };
    program_.instructions_.push_back(
        {std::move(kernel),
         {source},
         {slot},
         {},
         "%" + graph_.values[static_cast<std::size_t>(id)].name + " to layout " + std::string(name(layout)),
         node_,
         true});
    return slot;
  }

  // The plan says which of several layouts at hand is cheapest to start from.
  Layout source_layout(ValueId id, Layout to) const {
    for (const auto& one : plan_.conversions) {
      if (one.value == id && one.to == to && slots_.contains({id, one.from})) return one.from;
    }
    return value_state(id).layout;
  }

  void add_node(const Node& node, const NodePlan& node_plan) {
    auto call = make_call(graph_, node, plan_.values, members_);
    const auto local = localize(node);
    if (node_plan.strategy == kConstantStrategy) return evaluate(node, call, local.operands);
    Program::Instruction instruction;
    instruction.where = describe(graph_, node);
    instruction.node = node_;
    for (std::size_t i = 0; i < local.operands.size(); ++i) {
      const auto slot = slot_in(local.operands[i], node_plan.offer.operands[i]);
      if (is_constant(slot)) call.operands[i].constant = part_of_constant(slot);
      instruction.operands.push_back(slot);
    }
    for (std::size_t i = 0; i < node.results.size(); ++i) {
      instruction.results.push_back(
          node.results[i] < 0 ? kUnused : new_slot(node.results[i], node_plan.offer.results[i]));
    }
    const bool as_it_is = node_plan.strategy == kSharedStrategy || node_plan.strategy == kAloneStrategy;
    const auto* strategy = as_it_is ? nullptr : &find_strategy(node_plan);
    const bool folds =
        !draws_random(node) && std::all_of(instruction.operands.begin(), instruction.operands.end(),
                                           [&](std::size_t slot) { return is_constant(slot); });
    if (folds && strategy && may_wait(call, node_plan.offer, instruction.operands))
      return make_when_asked(call, node_plan.offer, instruction);
    with_torch_errors(
        "compile", [&] { return instruction.where; },
        [&] { instruction.kernel = strategy ? strategy->prepare(call, node_plan.offer) : once(call); });
    if (folds) return run_now(instruction);
    const auto packed = strategy && strategy->packs ? strategy->packs(call) : std::vector<std::size_t>();
    for (std::size_t i = 0; i < instruction.operands.size(); ++i) {
      const auto slot = instruction.operands[i];
      if (std::ranges::find(packed, i) != packed.end()) continue;
      read_.insert(slot);
      if (is_constant(slot)) constant(slot);
    }
    if (node_plan.strategy != kSharedStrategy && !call.by_member) {
      instruction.layouts = node_plan.offer.operands;
      for (auto& operand : call.operands) operand.constant.reset();
      instruction.call = std::make_shared<const Call>(std::move(call));
    }
    program_.instructions_.push_back(std::move(instruction));
  }

  // Every operand is a weight: the results are constants too.
  void run_now(const Program::Instruction& instruction) {
    std::vector<at::Tensor> operands, results(instruction.results.size());
    for (const auto slot : instruction.operands) operands.push_back(constant(slot));
    with_torch_errors(
        "compile", [&] { return instruction.where; }, [&] { instruction.kernel(operands, results); });
    for (std::size_t i = 0; i < results.size(); ++i) {
      if (instruction.results[i] != kUnused) set_constant(instruction.results[i], std::move(results[i]));
    }
  }

  // Large weights made of others are most often packed, member by member: so they never lie there whole. What
  // is made of such is made at once, lest it be made again and again; and so is what is made of large tensors
  // that would stay until then.
  bool may_wait(const Call& call, const Offer& offer, const std::vector<std::size_t>& operands) const {
    if (!graph_.device.is_cpu() || call.by_member || call.results.size() != 1 || call.node.results[0] < 0)
      return false;
    const auto& result = call.results[0];
    if (result.varies || offer.results[0] != Layout::kFront) return false;
    const auto all = result.bytes() * members_;
    if (all < kMuch || result.bytes() < kMuchOfOne) return false;
    for (std::size_t i = 0; i < operands.size(); ++i) {
      const auto layout = offer.operands[i];
      if (layout != Layout::kFront && layout != Layout::kShared) return false;
      const auto& known = call.operands[i].constant;
      if (const auto found = pending_.find(operands[i]);
          found != pending_.end() && found->second.constant.is_made())
        return false;
      if (known.all().is_given()) continue;
      if (static_cast<std::int64_t>(known.tensor().nbytes()) * kSmallPart > all) return false;
    }
    return true;
  }

  void make_when_asked(Call call, const Offer& offer, const Program::Instruction& instruction) {
    std::vector<std::pair<ConstantPart, bool>> operands;
    for (std::size_t i = 0; i < call.operands.size(); ++i) {
      operands.emplace_back(std::move(call.operands[i].constant), offer.operands[i] == Layout::kFront);
      call.operands[i].constant.reset();
      call.operands[i].mapped = false;
    }
    call.members = 1;
    const auto make = [operands = std::move(operands), kernel = once(call),
                       where = instruction.where](std::int64_t member) {
      std::vector<at::Tensor> inputs, result(1);
      for (const auto& [constant, each] : operands)
        inputs.push_back(each ? constant.member(member) : constant.tensor());
      with_torch_errors(
          "compile", [&] { return where; }, [&] { kernel(inputs, result); });
      return result[0].contiguous();
    };
    auto sizes = call.results[0].shape;
    sizes.insert(sizes.begin(), members_);
    const auto options = at::TensorOptions(graph_.device).dtype(call.results[0].dtype);
    pending_.emplace(instruction.results[0], Pending{Constant(sizes, options, make), {0, members_, false}});
  }

  // A node whose result never changes runs now.
  void evaluate(const Node& node, const Call& call, const std::vector<ValueId>& operands) {
    std::vector<at::Tensor> inputs, results(node.results.size());
    for (std::size_t i = 0; i < operands.size(); ++i) {
      if (depends_on_shape_only(node.op) && !call.by_member) {
        const auto& wanted = call.operands[i].type;
        inputs.push_back(
            at::empty({}, at::TensorOptions(graph_.device).dtype(wanted.dtype)).expand(wanted.shape));
      } else {
        inputs.push_back(constant(slots_.at({operands[i], Layout::kShared})));
      }
    }
    with_torch_errors(
        "compile", [&] { return describe(graph_, node); }, [&] { once(call)(inputs, results); });
    for (std::size_t i = 0; i < node.results.size(); ++i) {
      if (node.results[i] >= 0) set_constant(new_slot(node.results[i], Layout::kShared), results[i]);
    }
  }

  void add_exit(const Argument& argument) {
    Program::Exit exit;
    if (const auto* ref = argument.ref()) {
      exit.layout = value_state(ref->id).mapped ? Layout::kFront : Layout::kShared;
      exit.slot = slot_in(ref->id, exit.layout);
      if (is_constant(exit.slot)) constant(exit.slot);
    } else {
      exit.literal = argument;
    }
    program_.exits_.push_back(std::move(exit));
  }

  void free_after_last_use() {
    std::unordered_map<std::size_t, std::size_t> last;
    for (std::size_t i = 0; i < program_.instructions_.size(); ++i) {
      for (const auto slot : program_.instructions_[i].operands) last[slot] = i;
    }
    for (const auto& exit : program_.exits_) last.erase(exit.slot);
    for (const auto& [slot, instruction] : last) {
      if (!is_constant(slot)) program_.instructions_[instruction].freed.push_back(slot);
    }
  }

  // What is there from the first that asks.
  struct Pending {
    Constant constant;
    MembersOfProgram part;
  };

  static constexpr std::size_t kUnused = static_cast<std::size_t>(-1);
  const Graph& graph_;
  const Plan& plan_;
  std::span<const Constant> inputs_;
  MembersOfProgram part_;
  std::int64_t members_;
  std::map<std::size_t, Pending> pending_;  ///< by slot
  std::set<std::size_t> read_;              ///< slots that kernels read in a pass
  std::int32_t node_ = -1;                  ///< the one being added
  Program& program_;
  std::map<std::pair<ValueId, Layout>, std::size_t> slots_;
  std::vector<at::Tensor> constants_;
};

Program::Program(const Graph& graph, const Plan& plan, std::span<const Constant> constants,
                 const MembersOfProgram& members) {
  ProgramBuilder(graph, plan, constants, members, *this).build();
}

std::vector<WideTensor> Program::run(std::span<const WideTensor> inputs) const {
  std::vector<at::Tensor> slots(initial_.size());  // those of constants stay empty
  const auto value = [&](std::size_t slot) -> const at::Tensor& {
    return slots[slot].defined() ? slots[slot] : initial_[slot];
  };
  for (const auto& entry : entries_) slots[entry.slot] = inputs[entry.input].tensor;
  std::vector<at::Tensor> operands, results;
  auto* const observer = run_observer.load(std::memory_order_relaxed);
  for (const auto& instruction : instructions_) {
    const ObservedStep observed(
        observer, {instruction.node, instruction.conversion,
                   instruction.conversion ? std::string_view(instruction.where) : std::string_view()});
    operands.clear();
    for (const auto slot : instruction.operands) operands.push_back(value(slot));
    results.assign(instruction.results.size(), at::Tensor());
    with_torch_errors(
        "run", [&] { return instruction.where; },
        [&] {
          try {
            instruction.kernel(operands, results);
          } catch (const std::exception& error) {
            const auto* of_torch = dynamic_cast<const c10::Error*>(&error);
            const bool is_fault = of_torch ? !is_out_of_memory(*of_torch) : is_plain(error);
            const bool are_there = std::ranges::all_of(operands, &at::Tensor::defined);  // none was packed
            if (instruction.call && are_there && is_fault)
              find_member_fault(*instruction.call, instruction.layouts, operands, instruction.where);
            throw;
          }
        });
    for (std::size_t i = 0; i < results.size(); ++i) {
      if (instruction.results[i] < slots.size()) slots[instruction.results[i]] = std::move(results[i]);
    }
    operands.clear();
    for (const auto slot : instruction.freed) slots[slot].reset();
  }
  std::vector<WideTensor> outputs;
  outputs.reserve(exits_.size());
  for (const auto& exit : exits_) {
    auto tensor = exit.literal ? at::Tensor() : value(exit.slot);
    bool kept = false;
    for_each_memory(tensor, [&](const c10::StorageImpl* memory) { kept |= kept_.contains(memory); });
    if (kept) tensor = copy_of(tensor);
    outputs.push_back({std::move(tensor), exit.layout});
  }
  return outputs;
}

}  // namespace wide
