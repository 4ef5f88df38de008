#include "core/passes/write_out_norms.h"

#include <algorithm>

#include "core/ir/rewriter.h"
#include "core/passes/inference_norm.h"
#include "core/strategy/group.h"

namespace wide {
namespace {

class Writer {
 public:
  Writer(const Graph& graph, const std::vector<ValueState>& inputs, const StrategyChoice& choice)
      : graph_(graph),
        choice_(choice),
        states_(spread_states(graph, inputs)),
        connections_(graph),
        rewriter_(graph) {}

  Graph run() {
    for (const auto& node : graph_.nodes) is_written_out(node) ? write_out(node) : rewriter_.copy(node);
    rewriter_.copy_outputs();
    return std::move(rewriter_.graph());
  }

 private:
  ConcreteType type(ValueId id) const { return concrete(graph_.values[static_cast<std::size_t>(id)]); }
  const ValueState& state(ValueId id) const { return states_[static_cast<std::size_t>(id)]; }

  const Node* only_reader(ValueId id) const {
    const auto at = static_cast<std::size_t>(id);
    return connections_.reads[at] == 1 ? connections_.reader[at] : nullptr;
  }
  // Of what the norm alone reads.
  const Node* only_maker(ValueId id) const {
    const auto at = static_cast<std::size_t>(id);
    return connections_.reads[at] == 1 ? connections_.maker[at] : nullptr;
  }

  // A step of the group that the norm would join.
  bool is_step(const Node* node, const ConcreteType& norm) const {
    return node && may_join_group(graph_, states_, choice_, *node) && type(node->results[0]) == norm;
  }

  bool is_constant(const Argument& argument) const {
    const auto* ref = argument.ref();
    return !ref || (state(ref->id).constant && type(ref->id).dtype == at::kFloat);
  }

  bool is_written_out(const Node& node) const {
    if (!is_inference_norm(node) || node.results.size() != 1 || node.results[0] < 0) return false;
    if (depends_on_data(graph_, node) || !leaves_to_groups(choice_, graph_, node)) return false;
    const auto wanted = wanted_strategy(choice_, graph_, node, find_primitive(node.op));
    if (!wanted.must && wanted.name != kAuto && wanted.name != kWide) return false;
    const auto& x = node.arguments[batch_norm::kInput];
    const auto own = type(node.results[0]);
    if (!state(x.ref()->id).mapped || state(x.ref()->id).constant) return false;
    if (own.dtype != at::kFloat || type(x.ref()->id) != own || own.rank() < 2) return false;
    if (!std::all_of(node.arguments.begin() + batch_norm::kGamma,
                     node.arguments.begin() + batch_norm::kTraining,
                     [&](const Argument& one) { return is_constant(one); }))
      return false;
    return is_step(only_reader(node.results[0]), own) || is_step(only_maker(x.ref()->id), own);
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
  Connections connections_;
  Rewriter rewriter_;
};

}  // namespace

Graph write_out_norms(const Graph& graph, const std::vector<ValueState>& inputs,
                      const StrategyChoice& choice) {
  return Writer(graph, inputs, choice).run();
}

}  // namespace wide
