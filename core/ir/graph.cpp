#include "core/ir/graph.h"

#include <c10/core/ScalarType.h>

#include <algorithm>
#include <unordered_set>

#include "formats/error.h"

namespace wide {

std::int64_t ConcreteType::elements() const {
  std::int64_t count = 1;
  for (const auto extent : shape) count *= extent;
  return count;
}

std::int64_t ConcreteType::bytes() const {
  return elements() * static_cast<std::int64_t>(c10::elementSize(dtype));
}

ValueId Graph::add_value(std::string value_name, bool tensor, std::optional<TensorType> type) {
  values.push_back({std::move(value_name), tensor, std::move(type)});
  return static_cast<ValueId>(values.size() - 1);
}

bool Graph::writes(const GraphInput& input) const {
  return input.kind != InputKind::kUser && std::ranges::any_of(outputs, [&](const GraphOutput& output) {
           return output.kind == OutputKind::kBufferMutation && output.target == input.target;
         });
}

std::string Graph::unique_name(std::string_view stem) const {
  std::unordered_set<std::string_view> taken;
  for (const auto& value : values) taken.insert(value.name);
  if (!taken.contains(stem)) return std::string(stem);
  for (int i = 1;; ++i) {
    auto candidate = std::string(stem) + "_" + std::to_string(i);
    if (!taken.contains(candidate)) return candidate;
  }
}

LocalNode localize(const Node& node) {
  LocalNode local{node, {}};
  for (auto& argument : local.node.arguments) {
    map_uses(argument, [&](ValueId id) {
      local.operands.push_back(id);
      return Argument{ValueRef{static_cast<ValueId>(local.operands.size() - 1)}};
    });
  }
  return local;
}

void for_each_use(const Argument& argument, const std::function<void(ValueId)>& visit) {
  if (const auto* ref = argument.ref()) visit(ref->id);
  if (const auto* list = argument.list()) {
    for (const auto& item : *list) for_each_use(item, visit);
  }
}

void for_each_use(const Node& node, const std::function<void(ValueId)>& visit) {
  for (const auto& argument : node.arguments) for_each_use(argument, visit);
}

void map_uses(Argument& argument, const std::function<Argument(ValueId)>& map) {
  if (const auto* ref = argument.ref()) {
    argument = map(ref->id);
    return;
  }
  if (auto* list = std::get_if<Argument::List>(&argument.value)) {
    for (auto& item : *list) map_uses(item, map);
  }
}

Connections::Connections(const Graph& graph)
    : maker(graph.values.size(), nullptr),
      reader(graph.values.size(), nullptr),
      reads(graph.values.size(), 0) {
  for (const auto& node : graph.nodes) {
    for_each_use(node, [&](ValueId id) {
      reader[static_cast<std::size_t>(id)] = &node;
      ++reads[static_cast<std::size_t>(id)];
    });
    for (const auto id : node.results) {
      if (id >= 0) maker[static_cast<std::size_t>(id)] = &node;
    }
  }
  for (const auto& output : graph.outputs)
    for_each_use(output.value, [&](ValueId id) { ++reads[static_cast<std::size_t>(id)]; });
}

bool depends_on_data(const Value& value) {
  return !value.tensor || (value.type && value.type->varies);
}

bool depends_on_data(const Graph& graph, const Node& node) {
  bool depends = false;
  const auto look = [&](ValueId id) {
    depends |= id >= 0 && depends_on_data(graph.values[static_cast<std::size_t>(id)]);
  };
  for_each_use(node, look);
  for (const auto id : node.results) look(id);
  return depends;
}

ConcreteType concrete(const Value& value) {
  if (!value.type) throw Error("graph", "%" + value.name + " has no type: specialize the graph first");
  ConcreteType type{value.type->dtype, {}, value.type->varies};
  for (const auto& size : value.type->sizes) {
    const auto* number = std::get_if<std::int64_t>(&size);
    if (!number) throw Error("graph", "%" + value.name + " has a symbolic size: specialize the graph first");
    type.shape.push_back(*number);
  }
  return type;
}

TensorType as_type(const ConcreteType& type) {
  return {type.dtype, {type.shape.begin(), type.shape.end()}, type.varies};
}

std::string describe(const Graph& graph, const Node& node) {
  std::string text;
  for (const auto id : node.results) {
    if (id >= 0) {
      text = "%" + graph.values[static_cast<std::size_t>(id)].name + " ";
      break;
    }
  }
  text += node.op;
  if (!node.module_path.empty()) text += " (" + node.module_path + ")";
  return text;
}

}  // namespace wide
