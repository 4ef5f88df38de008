#include "core/passes/open_nodes.h"

#include "core/strategy/primitive.h"

namespace wide {

OpenNodes::OpenNodes(const Graph& graph, const StrategyChoice& choice)
    : graph_(graph), choice_(choice), connections_(graph) {}

bool OpenNodes::is_open(const Node& node) const {
  return node.results.size() == 1 && node.results[0] >= 0 && !depends_on_data(graph_, node) &&
         !wanted_strategy(choice_, graph_, node, find_primitive(node.op)).must;
}

bool OpenNodes::is_read_once(const Node& node) const {
  return is_open(node) && connections_.reads[static_cast<std::size_t>(node.results[0])] == 1;
}

const Node* OpenNodes::maker(const Argument& argument) const {
  const auto* ref = argument.ref();
  const auto* node = ref ? connections_.maker[static_cast<std::size_t>(ref->id)] : nullptr;
  return node && is_read_once(*node) ? node : nullptr;
}

const Node* OpenNodes::reader(const Node& node) const {
  const auto* reader =
      is_read_once(node) ? connections_.reader[static_cast<std::size_t>(node.results[0])] : nullptr;
  return reader && is_open(*reader) ? reader : nullptr;
}

}  // namespace wide
