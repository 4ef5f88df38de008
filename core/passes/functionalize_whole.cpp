// What a run writes into, and the whole graph as one call on copies of that.
#include <algorithm>
#include <unordered_map>

#include "core/aten/torch_bridge.h"
#include "core/eager/higher_order.h"
#include "core/eager/operators.h"
#include "core/ir/rewriter.h"
#include "core/passes/functionalize.h"
#include "core/passes/hidden_write.h"
#include "formats/error.h"

namespace wide {
namespace {

bool is_true(const Argument& argument) {
  const auto* flag = std::get_if<bool>(&argument.value);
  return flag && *flag;
}

constexpr HiddenWrite kHiddenWrites[] = {{"aten.batch_norm.default", 3, 4, 5},
                                         {"aten.native_batch_norm.default", 3, 4, 5},
                                         {"aten.instance_norm.default", 3, 4, 5}};

// The next pass would begin with a buffer of another size.
void refuse_resized_buffers(const Specialized& specialized) {
  const auto& graph = specialized.graph;
  const auto shape = [&](ValueId id) { return concrete(graph.values[static_cast<std::size_t>(id)]).shape; };
  for (const auto& node : graph.nodes) {
    if (node.op != "aten.resize_.default" && node.op != "aten.resize_as_.default") continue;
    const auto* target = node.arguments[0].ref();
    if (!target || node.results[0] < 0) continue;
    const auto resized = std::ranges::find(graph.inputs, target->id, &GraphInput::value);
    if (resized == graph.inputs.end() || resized->kind == InputKind::kUser) continue;
    if (shape(target->id) == shape(node.results[0])) continue;
    throw Error("functionalize", "the pass resizes '" + resized->target + "' from " +
                                     shape_text(shape(target->id)) + " to " +
                                     shape_text(shape(node.results[0])) +
                                     " in place, so that no two passes are alike; call each member once "
                                     "before, so that it has its size, and export the model then");
  }
}

}  // namespace

const HiddenWrite* hidden_write(const Node& node) {
  for (const auto& write : kHiddenWrites) {
    if (node.op == write.op && is_true(node.arguments[write.training]) && node.arguments[write.mean].ref()) {
      return &write;
    }
  }
  return nullptr;
}

Graph functionalize_whole(const Specialized& specialized) {
  refuse_resized_buffers(specialized);
  const auto& old = specialized.graph;
  const auto written = written_inputs(specialized);
  Rewriter inner(old);
  for (std::size_t i = 0; i < old.inputs.size(); ++i) {
    inner.graph().inputs[i].kind = InputKind::kUser;
    if (!written[i]) continue;
    const auto id = old.inputs[i].value;
    inner.bind(id, {ValueRef{inner.emit("aten.clone.default", {inner.bound(id), {}},
                                        concrete(old.values[static_cast<std::size_t>(id)]), "copy", "")}});
  }
  for (const auto& node : old.nodes) inner.copy(node);

  Rewriter outer(old);
  Node call{std::string(kCall), {}, {}, ""};
  Argument::List operands;
  for (const auto& input : old.inputs) operands.push_back(outer.bound(input.value));
  call.arguments = {{std::move(operands)}};
  std::vector<GraphOutput> outputs;
  const auto give = [&](const GraphOutput& output) {
    auto copied = output;
    if (const auto* ref = output.value.ref()) {
      inner.graph().outputs.push_back({inner.bound(ref->id)});
      const auto& value = old.values[static_cast<std::size_t>(ref->id)];
      const auto id = outer.emit_value(value);
      call.results.push_back(id);
      copied.value = {ValueRef{id}};
    }
    outputs.push_back(std::move(copied));
  };
  for (const auto& output : old.outputs) give(output);
  for (std::size_t i = 0; i < old.inputs.size(); ++i) {
    if (written[i] && old.inputs[i].kind != InputKind::kUser)
      give({{ValueRef{old.inputs[i].value}}, OutputKind::kBufferMutation, old.inputs[i].target});
  }
  call.bodies = {std::make_shared<const Graph>(std::move(inner.graph()))};
  auto graph = std::move(outer.graph());
  graph.nodes.push_back(std::move(call));
  graph.outputs = std::move(outputs);
  return graph;
}

std::vector<bool> written_inputs(const Specialized& specialized) {
  const auto& graph = specialized.graph;
  std::unordered_map<ValueId, std::size_t> inputs;
  for (std::size_t i = 0; i < graph.inputs.size(); ++i) inputs[graph.inputs[i].value] = i;
  std::vector<bool> written(graph.inputs.size(), false);
  const auto mark = [&](ValueId id) {
    while (specialized.alias_of[static_cast<std::size_t>(id)])
      id = *specialized.alias_of[static_cast<std::size_t>(id)];
    if (const auto found = inputs.find(id); found != inputs.end()) written[found->second] = true;
  };
  for (const auto& node : graph.nodes) {
    for (const auto index : written_arguments(node)) {
      for_each_use(node.arguments[index], mark);
    }
    if (const auto* hidden = hidden_write(node)) {
      for_each_use(node.arguments[hidden->mean], mark);
      for_each_use(node.arguments[hidden->variance], mark);
    }
  }
  return written;
}

}  // namespace wide
