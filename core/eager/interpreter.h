#pragma once
// Runs a graph for one member, node by node through the dispatcher: the reference, and the `eager` rival.

#include <ATen/core/ivalue.h>

#include <functional>
#include <span>
#include <vector>

#include "core/eager/operators.h"
#include "core/ir/graph.h"

namespace wide {

/// Prepared once, run often: arguments are boxed at construction, values live in numbered slots and are freed
/// after their last use. Thread-safe for concurrent runs.
class Interpreter {
 public:
  /// Called after each node with the results and the operands' current values.
  using Observer = std::function<void(const Node& node, std::span<const c10::IValue> operands,
                                      std::span<const c10::IValue> results)>;

  /// `watched`: a profiler is told of each node (see observe.h), which is not so of a body's.
  explicit Interpreter(const Graph& graph, bool watched = true);

  /// `inputs` in the order of Graph::inputs (tensors; numbers for symbolic inputs). In-place operators of the
  /// graph write into them. Returns one value per Graph::outputs. Throws wide::Error ("run") naming the
  /// failing node.
  std::vector<c10::IValue> run(std::span<const c10::IValue> inputs, const Observer& observer = {}) const;

 private:
  struct Step {
    PreparedCall call;
    std::vector<std::size_t> operands;
    std::vector<ValueId> results;
    std::vector<std::size_t> freed;  ///< slots whose last use this is
    std::size_t node;
  };
  const Graph* graph_;
  bool watched_;
  std::vector<Step> steps_;
};

}  // namespace wide
