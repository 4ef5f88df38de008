#pragma once
// Nodes that a rewriting may make part of others.

#include "core/ir/graph.h"
#include "core/strategy/strategy_choice.h"

namespace wide {

/// A node is open where it gives one result, no size hangs on data and the user named no strategy for it.
/// Refers to `graph` and `choice`.
class OpenNodes {
 public:
  OpenNodes(const Graph& graph, const StrategyChoice& choice);

  bool is_open(const Node& node) const;
  /// The open node that makes the value, if nothing else reads it; or nullptr.
  const Node* maker(const Argument& argument) const;
  /// The open node that alone reads the result of `node`, an open one; or nullptr.
  const Node* reader(const Node& node) const;

  const Connections& connections() const { return connections_; }

 private:
  bool is_read_once(const Node& node) const;

  const Graph& graph_;
  const StrategyChoice& choice_;
  Connections connections_;
};

}  // namespace wide
