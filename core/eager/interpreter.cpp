#include "core/eager/interpreter.h"

#include <c10/util/Exception.h>

#include <unordered_map>

#include "core/aten/torch_error.h"
#include "core/eager/observe.h"
#include "formats/error.h"

namespace wide {
namespace {

c10::IValue output_value(const Argument& argument, std::span<const c10::IValue> slots) {
  if (const auto* ref = argument.ref()) return slots[static_cast<std::size_t>(ref->id)];
  if (const auto* number = std::get_if<std::int64_t>(&argument.value)) return *number;
  if (const auto* number = std::get_if<double>(&argument.value)) return *number;
  if (const auto* flag = std::get_if<bool>(&argument.value)) return *flag;
  return {};
}

}  // namespace

Interpreter::Interpreter(const Graph& graph, bool watched) : graph_(&graph), watched_(watched) {
  std::unordered_map<ValueId, std::size_t> last_use;
  for (std::size_t i = 0; i < graph.nodes.size(); ++i) {
    auto local = localize(graph.nodes[i]);
    Step step{PreparedCall(local.node), {}, graph.nodes[i].results, {}, i};
    for (const auto id : local.operands) {
      step.operands.push_back(static_cast<std::size_t>(id));
      last_use[id] = i;
    }
    steps_.push_back(std::move(step));
  }
  for (const auto& output : graph.outputs) {
    for_each_use(output.value, [&](ValueId id) { last_use.erase(id); });
  }
  for (const auto& input : graph.inputs) last_use.erase(input.value);
  for (const auto& [id, step] : last_use) steps_[step].freed.push_back(static_cast<std::size_t>(id));
}

std::vector<c10::IValue> Interpreter::run(std::span<const c10::IValue> inputs,
                                          const Observer& observer) const {
  TORCH_INTERNAL_ASSERT(inputs.size() == graph_->inputs.size());
  std::vector<c10::IValue> slots(graph_->values.size());
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    slots[static_cast<std::size_t>(graph_->inputs[i].value)] = inputs[i];
  }
  std::vector<c10::IValue> operands, results;
  auto* const watcher = watched_ ? run_observer.load(std::memory_order_relaxed) : nullptr;
  for (const auto& step : steps_) {
    const ObservedStep observed(watcher, {static_cast<std::int32_t>(step.node), false, {}});
    operands.clear();
    for (const auto slot : step.operands) operands.push_back(slots[slot]);
    const auto& node = graph_->nodes[step.node];
    with_torch_errors(
        "run", [&] { return describe(*graph_, node); }, [&] { step.call.run(operands, results); });
    if (results.size() < step.results.size()) {
      throw Error("run", describe(*graph_, node) + ": gave " + std::to_string(results.size()) +
                             " results where the graph wants " + std::to_string(step.results.size()));
    }
    if (observer) observer(node, operands, results);
    for (std::size_t i = 0; i < step.results.size(); ++i) {
      if (step.results[i] >= 0) slots[static_cast<std::size_t>(step.results[i])] = std::move(results[i]);
    }
    operands.clear();
    for (const auto slot : step.freed) slots[slot] = c10::IValue();
  }
  std::vector<c10::IValue> outputs;
  outputs.reserve(graph_->outputs.size());
  for (const auto& output : graph_->outputs) outputs.push_back(output_value(output.value, slots));
  return outputs;
}

}  // namespace wide
