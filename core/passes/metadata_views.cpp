#include "core/passes/metadata_views.h"

#include <optional>
#include <string>
#include <unordered_map>

#include "core/aten/torch_bridge.h"
#include "core/eager/operators.h"
#include "core/passes/pure_form.h"
#include "formats/error.h"

namespace wide {

Specialized with_views_for_metadata(const Specialized& specialized) {
  auto renamed = specialized;
  auto& graph = renamed.graph;
  std::unordered_map<ValueId, ValueId> object, now;  // the first name of a tensor; what that means now
  const auto first = [&](ValueId id) {
    const auto found = object.find(id);
    return found == object.end() ? id : found->second;
  };
  const auto current = [&](ValueId id) {
    const auto found = now.find(first(id));
    return Argument{ValueRef{found == now.end() ? id : found->second}};
  };
  for (auto& node : graph.nodes) {
    const auto written = written_arguments(node);
    const auto* self = written.empty() ? nullptr : node.arguments[written[0]].ref();
    const auto tensor = self ? std::optional(first(self->id)) : std::nullopt;
    for (auto& argument : node.arguments) map_uses(argument, current);
    for (auto& id : node.results) {
      if (id < 0) continue;
      auto& alias = renamed.alias_of[static_cast<std::size_t>(id)];
      if (alias) alias = current(*alias).ref()->id;
      if (alias && (tensor || renamed.same_tensor.contains(id)))
        object[id] = tensor ? *tensor : first(*alias);
    }
    const auto view = view_form(node);
    if (!view || !tensor || node.results.size() != 1 || node.results[0] < 0) continue;
    node.op = view->op;
    now[*tensor] = node.results[0];
  }
  for (auto& output : graph.outputs) map_uses(output.value, current);
  for (const auto& input : graph.inputs) {
    if (input.kind == InputKind::kUser || !now.contains(input.value)) continue;
    const auto changed = now.at(input.value);
    const auto before = concrete(graph.values[static_cast<std::size_t>(input.value)]),
               after = concrete(graph.values[static_cast<std::size_t>(changed)]);
    if (before.shape != after.shape)
      throw Error("functionalize", "the pass turns '" + input.target + "' from " + shape_text(before.shape) +
                                       " into " + shape_text(after.shape) +
                                       " in place, so that no two passes are alike; export the model with " +
                                       "the change made on a copy (swapaxes for swapaxes_)");
    graph.outputs.push_back({{ValueRef{changed}}, OutputKind::kBufferMutation, input.target});
  }
  return renamed;
}

}  // namespace wide
