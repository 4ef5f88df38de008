#include "core/passes/join_norms.h"

#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "core/ir/rewriter.h"
#include "core/passes/open_nodes.h"
#include "core/strategy/sequential.h"

namespace wide {
namespace {

struct Norm {
  ValueId x;
  Argument weight;  ///< or none
  double eps;
  const Node* last;                 ///< whose result is the norm's
  std::vector<const Node*> before;  ///< which only serve it
};

class Finder {
 public:
  Finder(const Graph& graph, const StrategyChoice& choice) : graph_(graph), open_(graph, choice) {}

  // The norm that `root`, the root of a mean square, is part of.
  std::optional<Norm> around(const Node& root) const {
    const bool inverse = root.op == "aten.rsqrt.default";
    if (!inverse && root.op != "aten.sqrt.default") return std::nullopt;
    const auto* sum = open_.maker(root.arguments[0]);
    if (!sum || sum->op != "aten.add.Tensor" || sum->arguments[2].number() != 1) return std::nullopt;
    const auto eps = sum->arguments[1].number();
    const auto* mean = eps ? open_.maker(sum->arguments[0]) : nullptr;
    const auto* square = mean && mean->op == "aten.mean.dim" ? open_.maker(mean->arguments[0]) : nullptr;
    const auto x = square ? squared(*square) : std::nullopt;
    const auto* scaled = x && is_over_last_axis(*mean) ? open_.reader(root) : nullptr;
    if (!scaled || !is_scaled(*scaled, *x, root, inverse)) return std::nullopt;
    Norm norm{*x, {}, *eps, scaled, {square, mean, sum, &root}};
    if (const auto* weighted = open_.reader(*scaled)) {
      if (const auto weight = weight_in(*weighted, *scaled)) {
        norm.before.push_back(scaled);
        norm.last = weighted, norm.weight = *weight;
      }
    }
    return norm;
  }

 private:
  ConcreteType type(ValueId id) const { return concrete(graph_.values[static_cast<std::size_t>(id)]); }

  static bool is(const Argument& argument, ValueId id) { return argument.ref() && argument.ref()->id == id; }

  // What `node` is the square of: float32 or float64.
  std::optional<ValueId> squared(const Node& node) const {
    const auto* x = node.arguments.empty() ? nullptr : node.arguments[0].ref();
    if (!x) return std::nullopt;
    const bool power = node.op == "aten.pow.Tensor_Scalar" && node.arguments[1].number() == 2;
    const bool product = node.op == "aten.mul.Tensor" && is(node.arguments[1], x->id);
    if (!power && !product && node.op != "aten.square.default") return std::nullopt;
    const auto own = type(x->id);
    if (own.dtype != at::kFloat && own.dtype != at::kDouble) return std::nullopt;
    return own.rank() > 0 && own.elements() > 0 ? std::optional(x->id) : std::nullopt;
  }

  bool is_over_last_axis(const Node& mean) const {
    const auto* dims = mean.arguments[1].list();
    if (!dims || dims->size() != 1 || mean.arguments[2] != Argument{true} || !mean.arguments[3].is_none())
      return false;
    const auto dim = (*dims)[0].number();
    return dim == -1 || dim == static_cast<double>(type(mean.arguments[0].ref()->id).rank() - 1);
  }

  // x · 1/root or x / root.
  bool is_scaled(const Node& node, ValueId x, const Node& root, bool inverse) const {
    if (node.op != (inverse ? "aten.mul.Tensor" : "aten.div.Tensor") || type(node.results[0]) != type(x))
      return false;
    const auto by = root.results[0];
    return (is(node.arguments[0], x) && is(node.arguments[1], by)) ||
           (inverse && is(node.arguments[0], by) && is(node.arguments[1], x));
  }

  // What `node` multiplies `scaled` by, where that is one number for each place of the last axis.
  std::optional<Argument> weight_in(const Node& node, const Node& scaled) const {
    const auto norm = scaled.results[0];
    if (node.op != "aten.mul.Tensor" || type(node.results[0]) != type(norm)) return std::nullopt;
    const auto& other = node.arguments[is(node.arguments[0], norm) ? 1 : 0];
    const auto* ref = other.ref();
    if (!ref || ref->id == norm) return std::nullopt;
    const auto weight = type(ref->id), x = type(norm);
    const bool fits = weight.rank() == 1 && weight.shape[0] == x.shape.back() && weight.dtype == x.dtype;
    return fits ? std::optional(other) : std::nullopt;
  }

  const Graph& graph_;
  OpenNodes open_;
};

}  // namespace

Graph join_norms(const Graph& graph, const StrategyChoice& choice) {
  if (choice.all == kSequential.name) return graph;
  const Finder finder(graph, choice);
  std::map<const Node*, Norm> norms;
  std::set<const Node*> joined;
  for (const auto& node : graph.nodes) {
    if (auto norm = finder.around(node)) {
      joined.insert(norm->before.begin(), norm->before.end());
      norms.emplace(norm->last, std::move(*norm));
    }
  }
  if (norms.empty()) return graph;
  Rewriter rewriter(graph);
  for (const auto& node : graph.nodes) {
    const auto found = norms.find(&node);
    if (found == norms.end()) {
      if (!joined.contains(&node)) rewriter.copy(node);
      continue;
    }
    const auto& [x, weight, eps, last, before] = found->second;
    const auto& result = graph.values[static_cast<std::size_t>(node.results[0])];
    const auto type = concrete(result);
    const Argument shape{Argument::List{{type.shape.back()}}};
    rewriter.bind(node.results[0],
                  {ValueRef{rewriter.emit("aten.rms_norm.default",
                                          {rewriter.bound(x), shape, rewriter.map(weight), {eps}}, type,
                                          result.name, node.module_path)}});
  }
  rewriter.copy_outputs();
  return std::move(rewriter.graph());
}

}  // namespace wide
