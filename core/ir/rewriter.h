#pragma once
// Builds a new graph from an old one, node by node: what every rewriting stage needs.

#include <initializer_list>
#include <string>
#include <unordered_set>
#include <vector>

#include "core/ir/graph.h"

namespace wide {

/// Values of the old graph stand for arguments of the new one through bind() and map().
class Rewriter {
 public:
  /// Declares the old graph's inputs in the new graph, in the same order.
  explicit Rewriter(const Graph& old);

  /// What the old value stands for now. Asserts that it is bound.
  const Argument& bound(ValueId old_id) const;
  bool is_bound(ValueId old_id) const;
  void bind(ValueId old_id, Argument argument);
  /// `argument` of the old graph, with every use replaced by what it stands for.
  Argument map(const Argument& argument) const;

  /// Appends a node with one tensor result and returns the result. `stem` makes its name.
  ValueId emit(std::string op, std::vector<Argument> arguments, const ConcreteType& type,
               std::string_view stem, std::string_view module_path);
  /// Appends a node with fresh results of the given types (nothing: unused).
  std::vector<ValueId> emit(std::string op, std::vector<Argument> arguments,
                            const std::vector<std::optional<TensorType>>& types, std::string_view stem,
                            std::string_view module_path);
  /// A fresh value like `value`, which the caller's node gives.
  ValueId emit_value(const Value& value);
  /// Copies an old node, operands mapped; its results are bound to the copy's.
  void copy(const Node& node);

  /// Appends the nodes of another graph, which reads `operands` (of the new graph) for its inputs. Gives what
  /// stands for its outputs.
  std::vector<Argument> inline_graph(const Graph& body, const std::vector<Argument>& operands);

  /// Copies the old outputs, mapped.
  void copy_outputs();

  const Value& value(ValueId new_id) const { return graph_.values[static_cast<std::size_t>(new_id)]; }
  const Graph& old() const { return old_; }
  Graph& graph() { return graph_; }

 private:
  std::string fresh_name(std::string_view stem);
  const Graph& old_;
  Graph graph_;
  std::vector<std::optional<Argument>> bound_;
  std::unordered_set<std::string> names_;
};

}  // namespace wide
