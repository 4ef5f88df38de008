#include "core/passes/write_out_norms.h"

#include <algorithm>

#include "core/ir/rewriter.h"
#include "core/passes/inference_norm.h"
#include "core/passes/open_nodes.h"
#include "core/strategy/group.h"

namespace wide {
namespace {

class Writer {
 public:
  Writer(const Graph& graph, const std::vector<ValueState>& inputs, const StrategyChoice& choice)
      : graph_(graph),
        choice_(choice),
        states_(spread_states(graph, inputs)),
        open_(graph, choice),
        rewriter_(graph) {}

  Graph run() {
    for (const auto& node : graph_.nodes) is_written_out(node) ? write_out(node) : rewriter_.copy(node);
    rewriter_.copy_outputs();
    return std::move(rewriter_.graph());
  }

 private:
  ConcreteType type(ValueId id) const { return concrete(graph_.values[static_cast<std::size_t>(id)]); }
  const ValueState& state(ValueId id) const { return states_[static_cast<std::size_t>(id)]; }

  // A step of a group, which is not only there for the norm's members alike.
  bool is_step(const Node* node, const ConcreteType& norm) const {
    if (node == nullptr || !state(node->results[0]).mapped || state(node->results[0]).constant) return false;
    return type(node->results[0]) == norm && group_step(graph_, *node);
  }

  bool is_constant(const Argument& argument) const {
    const auto* ref = argument.ref();
    return !ref || (state(ref->id).constant && type(ref->id).dtype == at::kFloat);
  }

  bool is_written_out(const Node& node) const {
    if (!is_inference_norm(node) || !open_.is_open(node)) return false;
    const auto wanted = wanted_strategy(choice_, graph_, node, find_primitive(node.op)).name;
    if (wanted != kAuto && wanted != kWide) return false;
    const auto& x = node.arguments[batch_norm::kInput];
    const auto own = type(node.results[0]);
    if (!state(x.ref()->id).mapped || state(x.ref()->id).constant) return false;
    if (own.dtype != at::kFloat || type(x.ref()->id) != own || own.rank() < 2) return false;
    if (!std::all_of(node.arguments.begin() + batch_norm::kGamma,
                     node.arguments.begin() + batch_norm::kTraining,
                     [&](const Argument& one) { return is_constant(one); }))
      return false;
    return is_step(open_.reader(node), own) || is_step(open_.maker(x), own);
  }

  void write_out(const Node& norm) {
    const auto own = type(norm.results[0]);
    const auto terms = norm_terms(rewriter_, norm, {});
    const auto along = [&](const Argument& term) {
      return along_axis(rewriter_, term, own.shape.size(), 1, norm.module_path);
    };
    const auto scale = along(terms.scale), shift = along(terms.shift);
    const auto scaled =
        rewriter_.emit("aten.mul.Tensor", {rewriter_.map(norm.arguments[batch_norm::kInput]), scale}, own,
                       "scaled", norm.module_path);
    const auto& name = graph_.values[static_cast<std::size_t>(norm.results[0])].name;
    rewriter_.bind(norm.results[0],
                   {ValueRef{rewriter_.emit("aten.add.Tensor", {{ValueRef{scaled}}, shift, {std::int64_t{1}}},
                                            own, name, norm.module_path)}});
  }

  const Graph& graph_;
  const StrategyChoice& choice_;
  std::vector<ValueState> states_;
  OpenNodes open_;
  Rewriter rewriter_;
};

}  // namespace

Graph write_out_norms(const Graph& graph, const std::vector<ValueState>& inputs,
                      const StrategyChoice& choice) {
  return Writer(graph, inputs, choice).run();
}

}  // namespace wide
