#include "core/rewriter.h"

#include <c10/util/Exception.h>

namespace wide {

Rewriter::Rewriter(const Graph& old) : old_(old), bound_(old.values.size()) {
  graph_.name = old.name;
  graph_.ranges = old.ranges;
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

void Rewriter::copy(const Node& node) {
  auto copied = node;
  for (auto& argument : copied.arguments) argument = map(argument);
  for (auto& id : copied.results) {
    if (id < 0) continue;
    const auto& value = old_.values[static_cast<std::size_t>(id)];
    const auto created = graph_.add_value(fresh_name(value.name), value.tensor, value.type);
    bind(id, {ValueRef{created}});
    id = created;
  }
  graph_.nodes.push_back(std::move(copied));
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
