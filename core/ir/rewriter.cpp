#include "core/ir/rewriter.h"

#include <c10/util/Exception.h>

namespace wide {

Rewriter::Rewriter(const Graph& old) : old_(old), bound_(old.values.size()) {
  graph_.name = old.name;
  graph_.ranges = old.ranges;
  graph_.guards = old.guards;
  graph_.device = old.device;
  for (const auto& input : old.inputs) {
    const auto& value = old.values[static_cast<std::size_t>(input.value)];
    auto copy = input;
    copy.value = graph_.add_value(fresh_name(value.name), value.tensor, value.type);
    bind(input.value, {ValueRef{copy.value}});
    graph_.inputs.push_back(std::move(copy));
  }
}

const Argument& Rewriter::bound(ValueId old_id) const {
  const auto& argument = bound_[static_cast<std::size_t>(old_id)];
  TORCH_INTERNAL_ASSERT(argument, "value ", old_.values[static_cast<std::size_t>(old_id)].name,
                        " is not bound");
  return *argument;
}

bool Rewriter::is_bound(ValueId old_id) const {
  return bound_[static_cast<std::size_t>(old_id)].has_value();
}

void Rewriter::bind(ValueId old_id, Argument argument) {
  bound_[static_cast<std::size_t>(old_id)] = std::move(argument);
}

Argument Rewriter::map(const Argument& argument) const {
  auto copy = argument;
  map_uses(copy, [&](ValueId id) { return bound(id); });
  return copy;
}

ValueId Rewriter::emit(std::string op, std::vector<Argument> arguments, const ConcreteType& type,
                       std::string_view stem, std::string_view module_path) {
  return emit(std::move(op), std::move(arguments), std::vector<std::optional<TensorType>>{as_type(type)},
              stem, module_path)[0];
}

std::vector<ValueId> Rewriter::emit(std::string op, std::vector<Argument> arguments,
                                    const std::vector<std::optional<TensorType>>& types,
                                    std::string_view stem, std::string_view module_path) {
  Node node{std::move(op), std::move(arguments), {}, std::string(module_path)};
  for (const auto& type : types) {
    node.results.push_back(type ? graph_.add_value(fresh_name(stem), true, type) : -1);
  }
  graph_.nodes.push_back(node);
  return node.results;
}

ValueId Rewriter::emit_value(const Value& value) {
  return graph_.add_value(fresh_name(value.name), value.tensor, value.type);
}

void Rewriter::copy(const Node& node) {
  auto copied = node;
  for (auto& argument : copied.arguments) argument = map(argument);
  for (auto& id : copied.results) {
    if (id < 0) continue;
    const auto& value = old_.values[static_cast<std::size_t>(id)];
    const auto created = emit_value(value);
    bind(id, {ValueRef{created}});
    id = created;
  }
  graph_.nodes.push_back(std::move(copied));
}

std::vector<Argument> Rewriter::inline_graph(const Graph& body, const std::vector<Argument>& operands) {
  std::vector<Argument> bound(body.values.size());
  TORCH_INTERNAL_ASSERT(operands.size() == body.inputs.size());
  for (std::size_t i = 0; i < operands.size(); ++i)
    bound[static_cast<std::size_t>(body.inputs[i].value)] = operands[i];
  const auto inner = [&](ValueId id) { return bound[static_cast<std::size_t>(id)]; };
  for (auto node : body.nodes) {
    for (auto& argument : node.arguments) map_uses(argument, inner);
    for (auto& id : node.results) {
      if (id < 0) continue;
      const auto& value = body.values[static_cast<std::size_t>(id)];
      const auto created = emit_value(value);
      bound[static_cast<std::size_t>(id)] = {ValueRef{created}};
      id = created;
    }
    graph_.nodes.push_back(std::move(node));
  }
  std::vector<Argument> outputs;
  for (const auto& output : body.outputs) {
    outputs.push_back(output.value);
    map_uses(outputs.back(), inner);
  }
  return outputs;
}

void Rewriter::copy_outputs() {
  for (const auto& output : old_.outputs) {
    auto copied = output;
    copied.value = map(output.value);
    graph_.outputs.push_back(std::move(copied));
  }
}

std::string Rewriter::fresh_name(std::string_view stem) {
  std::string name(stem);
  for (int i = 1; !names_.insert(name).second; ++i) name = std::string(stem) + "_" + std::to_string(i);
  return name;
}

}  // namespace wide
