#pragma once
// A graph that stands in a node, made node by node.

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "core/ir/graph.h"

namespace wide {

class GraphBody {
 public:
  /// What stands in the body for `outer`, an argument of the graph around it.
  Argument input(const Argument& outer, bool tensor = true) {
    if (!outer.ref()) return outer;
    operands_.push_back(outer);
    const auto id = graph_->add_value("x" + std::to_string(graph_->values.size()), tensor);
    graph_->inputs.push_back({id, InputKind::kUser, graph_->values[static_cast<std::size_t>(id)].name});
    return {ValueRef{id}};
  }
  Argument add(std::string op, std::vector<Argument> arguments) {
    return add(Node{std::move(op), std::move(arguments), {0}, ""})[0];
  }
  /// `node` in terms of the body; its results are made anew.
  std::vector<Argument> add(Node node) {
    std::vector<Argument> results;
    for (auto& id : node.results) {
      id = graph_->add_value("y" + std::to_string(graph_->values.size()), true);
      results.push_back({ValueRef{id}});
    }
    graph_->nodes.push_back(std::move(node));
    return results;
  }
  void output(const Argument& value) { graph_->outputs.push_back({value}); }
  /// The arguments of the graph around it that became inputs, in order.
  Argument operands() const { return {operands_}; }
  std::shared_ptr<const Graph> take() { return std::move(graph_); }

 private:
  std::shared_ptr<Graph> graph_ = std::make_shared<Graph>();
  Argument::List operands_;
};

}  // namespace wide
