#include "core/fuse.h"

#include <string>

#include "core/activation.h"
#include "core/rewriter.h"
#include "core/sequential.h"

namespace wide {
namespace {

class Fuser {
 public:
  Fuser(const Graph& graph, const StrategyChoice& choice)
      : graph_(graph), choice_(choice), connections_(graph), rewriter_(graph) {}

  Graph run() {
    for (const auto& node : graph_.nodes) {
      if (const auto* layer = layer_before(node)) {
        join(*layer, node);
      } else if (!waits(node)) {
        rewriter_.copy(node);
      }
    }
    rewriter_.copy_outputs();
    return std::move(rewriter_.graph());
  }

 private:
  const Value& value(ValueId id) const { return graph_.values[static_cast<std::size_t>(id)]; }

  // The layer that `node`, an activation, becomes part of.
  const Node* layer_before(const Node& node) const {
    if (!activation_of(node) || node.results[0] < 0) return nullptr;
    const auto* input = node.arguments[0].ref();
    if (!input || wanted_strategy(choice_, graph_, node, find_primitive(node.op)).must) return nullptr;
    const auto* layer = connections_.maker[static_cast<std::size_t>(input->id)];
    if (!layer || layer->op != "aten.linear.default") return nullptr;
    if (connections_.reads[static_cast<std::size_t>(input->id)] != 1) return nullptr;
    return choice_.by_value.contains("%" + value(input->id).name) ? nullptr : layer;
  }

  // The node is a layer that its activation brings along.
  bool waits(const Node& node) const {
    if (node.op != "aten.linear.default" || node.results[0] < 0) return false;
    const auto* reader = connections_.reader[static_cast<std::size_t>(node.results[0])];
    return reader && layer_before(*reader) == &node;
  }

  void join(const Node& layer, const Node& node) {
    auto arguments = layer.arguments;
    for (auto& argument : arguments) argument = rewriter_.map(argument);
    arguments.push_back({std::string(activation_of(node)->name)});
    const auto result = node.results[0];
    rewriter_.bind(
        result, {ValueRef{rewriter_.emit(std::string(kLinearActivation), std::move(arguments),
                                         concrete(value(result)), value(result).name, layer.module_path)}});
  }

  const Graph& graph_;
  const StrategyChoice& choice_;
  Connections connections_;
  Rewriter rewriter_;
};

}  // namespace

Graph fuse(const Graph& graph, const StrategyChoice& choice) {
  if (choice.all == kSequential.name) return graph;
  return Fuser(graph, choice).run();
}

}  // namespace wide
