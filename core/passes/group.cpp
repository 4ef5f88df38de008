#include "core/passes/group.h"

#include <algorithm>
#include <map>
#include <memory>
#include <string>
#include <utility>

#include "core/ir/rewriter.h"
#include "core/passes/write_out_norms.h"
#include "core/strategy/group.h"
#include "core/strategy/sequential.h"

namespace wide {
namespace {

// Beyond so many operators the tiles of a group leave the first cache.
constexpr std::size_t kMostSteps = 64;

class Grouper {
 public:
  Grouper(const Graph& graph, const std::vector<ValueState>& inputs, const StrategyChoice& choice)
      : graph_(graph),
        choice_(choice),
        connections_(graph),
        states_(spread_states(graph, inputs)),
        last_of_(graph.nodes.size()),
        rewriter_(graph) {}

  Graph run() {
    find_groups();
    for (std::size_t i = 0; i < graph_.nodes.size(); ++i) {
      const auto found = members_.find(last_of_[i]);
      if (found == members_.end() || found->second.size() < 2) {
        rewriter_.copy(graph_.nodes[i]);
      } else if (i == found->first) {
        emit(found->second);
      }
    }
    rewriter_.copy_outputs();
    return std::move(rewriter_.graph());
  }

 private:
  static std::size_t at(ValueId id) { return static_cast<std::size_t>(id); }

  bool may_join(const Node& node) const { return may_join_group(graph_, states_, choice_, node); }

  // A group gives numbers, not masks, and the strategy that was chosen for it by name is its own.
  bool may_end(const Node& node) const {
    return concrete(graph_.values[at(node.results[0])]).dtype == at::kFloat;
  }
  bool must_end(const Node& node) const {
    return wanted_strategy(choice_, graph_, node, find_primitive(node.op)).must;
  }

  // From the last node to the first: a node joins the group that all its readers are in.
  void find_groups() {
    std::vector<std::vector<std::size_t>> readers(graph_.values.size());
    for (std::size_t i = 0; i < graph_.nodes.size(); ++i)
      for_each_use(graph_.nodes[i], [&](ValueId id) { readers[at(id)].push_back(i); });
    for (std::size_t i = graph_.nodes.size(); i-- > 0;) {
      last_of_[i] = i;
      if (!may_join(graph_.nodes[i])) continue;
      const auto result = at(graph_.nodes[i].results[0]);
      const auto& all = readers[result];
      const bool inside =
          !all.empty() && std::ssize(all) == connections_.reads[result] && !must_end(graph_.nodes[i]);
      const auto last = inside ? last_of_[all[0]] : i;
      const auto group = members_.find(last);
      if (inside && group != members_.end() && group->second.size() < kMostSteps &&
          std::ranges::all_of(all, [&](std::size_t reader) { return last_of_[reader] == last; }) &&
          same_shape(graph_.nodes[i], graph_.nodes[last]))
        last_of_[i] = last;
      if (last_of_[i] != i || may_end(graph_.nodes[i])) members_[last_of_[i]].push_back(i);
    }
  }

  bool same_shape(const Node& a, const Node& b) const {
    return concrete(graph_.values[at(a.results[0])]).shape == concrete(graph_.values[at(b.results[0])]).shape;
  }

  // `nodes` from the last to the first.
  void emit(const std::vector<std::size_t>& nodes) {
    auto body = std::make_shared<Graph>();
    std::map<ValueId, ValueId> inner;
    Argument::List operands;
    const auto typed = [&](const char* stem, ValueId id) {
      return body->add_value(stem + std::to_string(body->values.size()), true, graph_.values[at(id)].type);
    };
    std::vector<ValueId> made;
    for (const auto i : nodes) made.push_back(graph_.nodes[i].results[0]);
    for (auto i = nodes.rbegin(); i != nodes.rend(); ++i) {
      for_each_use(graph_.nodes[*i], [&](ValueId id) {
        if (inner.contains(id) || std::ranges::find(made, id) != made.end()) return;
        inner[id] = typed("x", id);
        body->inputs.push_back({inner[id], InputKind::kUser, body->values[at(inner[id])].name});
        operands.push_back(rewriter_.bound(id));
      });
      auto node = graph_.nodes[*i];
      node.module_path.clear();  // equal groups of several layers are equal
      for (auto& argument : node.arguments)
        map_uses(argument, [&](ValueId id) { return Argument{ValueRef{inner.at(id)}}; });
      node.results[0] = inner[graph_.nodes[*i].results[0]] = typed("y", graph_.nodes[*i].results[0]);
      body->nodes.push_back(std::move(node));
    }
    const auto& last = graph_.nodes[nodes.front()];
    const auto& result = graph_.values[at(last.results[0])];
    body->outputs.push_back({{ValueRef{inner[last.results[0]]}}});
    rewriter_.bind(last.results[0],
                   {ValueRef{rewriter_.emit(std::string(kGroup), {{std::move(operands)}}, concrete(result),
                                            result.name, last.module_path)}});
    rewriter_.graph().nodes.back().bodies = {std::move(body)};
  }

  const Graph& graph_;
  const StrategyChoice& choice_;
  Connections connections_;
  std::vector<ValueState> states_;
  std::vector<std::size_t> last_of_;                         ///< by node: the last node of its group
  std::map<std::size_t, std::vector<std::size_t>> members_;  ///< by last node, from the last to the first
  Rewriter rewriter_;
};

}  // namespace

Graph group(const Graph& graph, const std::vector<ValueState>& inputs, const StrategyChoice& choice) {
  if (choice.all == kSequential.name || !graph.device.is_cpu()) return graph;
  const auto open = write_out_norms(graph, inputs, choice);
  return Grouper(open, inputs, choice).run();
}

}  // namespace wide
