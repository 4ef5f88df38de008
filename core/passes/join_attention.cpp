#include "core/passes/join_attention.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>

#include "core/ir/rewriter.h"
#include "core/passes/open_nodes.h"
#include "core/strategy/sequential.h"
#include "core/strategy/written_attention.h"

namespace wide {
namespace {

struct Found {
  Argument q, keys, v;
  Argument added;   ///< or none
  Argument masked;  ///< or none
  bool masked_where_false = false;
  double value = 0, scale = 1;
  std::vector<const Node*> before;  ///< which only serve the last product
};

class AttentionFinder {
 public:
  AttentionFinder(const Graph& graph, const std::vector<ValueState>& inputs, const StrategyChoice& choice)
      : graph_(graph), states_(spread_states(graph, inputs)), open_(graph, choice) {}

  // The attention that `last`, a product, is the end of.
  std::optional<Found> that_ends_in(const Node& last) const {
    if (!is_product(last) || !open_.is_open(last)) return std::nullopt;
    const auto* softmax = open_.maker(last.arguments[0]);
    if (!softmax || !is_over_last_axis(*softmax)) return std::nullopt;
    Found found;
    found.v = last.arguments[1];
    const auto& scores = softmax->arguments[0];
    found.before.push_back(softmax);
    const auto* node = open_.maker(scores);
    if (node && take_mask(*node, found)) node = step_before(*node, masked_argument(*node), found);
    if (node && node->op == "aten.add.Tensor") node = take_addition(*node, found);
    if (node && take_factor(*node, found)) node = step_before(*node, 0, found);
    if (!node || !is_product(*node)) return std::nullopt;
    found.before.push_back(node);
    found.q = node->arguments[0], found.keys = node->arguments[1];
    const auto wanted = type(node->results[0]);
    const bool same =
        std::ranges::all_of(found.before, [&](const Node* one) { return type(one->results[0]) == wanted; });
    return same && fits(found, wanted) && is_each_members(*node) ? std::optional(found) : std::nullopt;
  }

 private:
  ConcreteType type(ValueId id) const { return concrete(graph_.values[static_cast<std::size_t>(id)]); }
  ConcreteType type(const Argument& argument) const { return type(argument.ref()->id); }

  // Scores that are the same for all are better computed once, whatever they weigh.
  bool is_each_members(const Node& node) const {
    const auto& state = states_[static_cast<std::size_t>(node.results[0])];
    return state.mapped && !state.constant;
  }

  static bool is_product(const Node& node) {
    return (node.op == "aten.matmul.default" || node.op == "aten.bmm.default") && node.arguments[0].ref() &&
           node.arguments[1].ref();
  }

  bool is_over_last_axis(const Node& node) const {
    static constexpr std::array<std::string_view, 2> kOps = {"aten.softmax.int", "aten._softmax.default"};
    if (std::ranges::find(kOps, node.op) == kOps.end() || !node.arguments[0].ref()) return false;
    const auto dim = node.arguments[1].number();
    const auto rank = type(node.results[0]).rank();
    return dim == -1 || dim == static_cast<double>(rank - 1);
  }

  // The scores that a mask is laid on.
  static std::size_t masked_argument(const Node& node) {
    return node.op == "aten.where.ScalarOther" ? 1 : node.op == "aten.where.ScalarSelf" ? 2 : 0;
  }

  static bool take_mask(const Node& node, Found& found) {
    if (node.op == "aten.masked_fill.Scalar") return take_mask(node.arguments[1], node.arguments[2], found);
    if (node.op == "aten.where.ScalarSelf") return take_mask(node.arguments[0], node.arguments[1], found);
    found.masked_where_false = node.op == "aten.where.ScalarOther";
    return found.masked_where_false && take_mask(node.arguments[0], node.arguments[2], found);
  }
  static bool take_mask(const Argument& mask, const Argument& value, Found& found) {
    if (!mask.ref() || !value.number()) return false;
    found.masked = mask, found.value = *value.number();
    return true;
  }

  const Node* step_before(const Node& node, std::size_t argument, Found& found) const {
    found.before.push_back(&node);
    return open_.maker(node.arguments[argument]);
  }

  // Of what is added, the scores come from a product.
  const Node* take_addition(const Node& node, Found& found) const {
    if (node.arguments[2].number() != 1) return nullptr;
    for (const std::size_t scores : {0U, 1U}) {
      const auto& other = node.arguments[1 - scores];
      const auto* before = open_.maker(node.arguments[scores]);
      if (!before || !other.ref() || !is_scaled_product(*before)) continue;
      found.added = other;
      return step_before(node, scores, found);
    }
    return nullptr;
  }

  bool is_scaled_product(const Node& node) const {
    const auto* before = factor_in(node) ? open_.maker(node.arguments[0]) : &node;
    return before && is_product(*before);
  }

  // One that takes no score out of the range of its type.
  static std::optional<double> factor_in(const Node& node) {
    constexpr double kLeast = 1e-10, kMost = 1e10;
    if (node.op != "aten.mul.Tensor" && node.op != "aten.div.Tensor") return std::nullopt;
    const auto number = node.arguments[1].number();
    if (!number || !node.arguments[0].ref()) return std::nullopt;
    const auto factor = node.op == "aten.mul.Tensor" ? *number : 1 / *number;
    return std::abs(factor) > kLeast && std::abs(factor) < kMost ? std::optional(factor) : std::nullopt;
  }
  static bool take_factor(const Node& node, Found& found) {
    const auto factor = factor_in(node);
    found.scale = factor.value_or(1);
    return factor.has_value();
  }

  bool fits(const Found& found, const ConcreteType& scores) const {
    const auto batch = [](const ConcreteType& of) {
      return std::vector<std::int64_t>(of.shape.begin(), of.shape.end() - 2);
    };
    for (const auto* one : {&found.q, &found.keys, &found.v}) {
      const auto own = type(*one);
      if (own.dtype != at::kFloat || own.rank() < 3 || own.rank() != scores.rank()) return false;
      if (batch(own) != batch(scores) || own.elements() == 0) return false;
    }
    if (found.masked.ref() && type(found.masked).dtype != at::kBool) return false;
    return !found.added.ref() || type(found.added).dtype == at::kFloat;
  }

  const Graph& graph_;
  std::vector<ValueState> states_;
  OpenNodes open_;
};

}  // namespace

Graph join_attention(const Graph& graph, const std::vector<ValueState>& inputs,
                     const StrategyChoice& choice) {
  if (choice.all == kSequential.name || !graph.device.is_cpu()) return graph;
  const AttentionFinder finder(graph, inputs, choice);
  std::map<const Node*, Found> found;
  std::set<const Node*> joined;
  for (const auto& node : graph.nodes) {
    if (auto one = finder.that_ends_in(node)) {
      joined.insert(one->before.begin(), one->before.end());
      found.emplace(&node, std::move(*one));
    }
  }
  if (found.empty()) return graph;
  Rewriter rewriter(graph);
  for (const auto& node : graph.nodes) {
    const auto at = found.find(&node);
    if (at == found.end()) {
      if (!joined.contains(&node)) rewriter.copy(node);
      continue;
    }
    const auto& one = at->second;
    auto masked = rewriter.map(one.masked);
    if (one.masked_where_false) {
      const auto type = concrete(graph.values[static_cast<std::size_t>(one.masked.ref()->id)]);
      masked = {
          ValueRef{rewriter.emit("aten.logical_not.default", {masked}, type, "masked", node.module_path)}};
    }
    const auto& result = graph.values[static_cast<std::size_t>(node.results[0])];
    rewriter.bind(node.results[0],
                  {ValueRef{rewriter.emit(std::string(kWrittenAttention),
                                          {rewriter.map(one.q),
                                           rewriter.map(one.keys),
                                           rewriter.map(one.v),
                                           rewriter.map(one.added),
                                           masked,
                                           {one.value},
                                           {one.scale}},
                                          concrete(result), result.name, node.module_path)}});
  }
  rewriter.copy_outputs();
  return std::move(rewriter.graph());
}

}  // namespace wide
