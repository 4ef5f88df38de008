#include "core/passes/fuse.h"

#include <algorithm>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/ir/rewriter.h"
#include "core/passes/open_nodes.h"
#include "core/strategy/activation.h"
#include "core/strategy/combination.h"
#include "core/strategy/group.h"
#include "core/strategy/low_rank.h"
#include "core/strategy/sequential.h"

namespace wide {
namespace {

class Fuser {
 public:
  Fuser(const Graph& graph, const std::vector<ValueState>& inputs, const StrategyChoice& choice)
      : graph_(graph),
        choice_(choice),
        states_(spread_states(graph, inputs)),
        open_(graph, choice),
        connections_(open_.connections()),
        rewriter_(graph) {}

  Graph run() {
    for (const auto& node : graph_.nodes) {
      if (const auto* layer = layer_before(node)) {
        join(*layer, node, with_activation(layer->op), {std::string(activation_of(node)->name)});
      } else if (const auto change = change_in(node)) {
        add_change(*change, node);
      } else if (const auto combined = combined_layer(node)) {
        join(*combined->layer, node, combination_of(node)->joined,
             rewriter_.map(node.arguments[combined->other]));
      } else if (!waits(node) && !part_of_change(node)) {
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
    const auto* layer = layer_that_makes(node.arguments[0]);
    if (!layer || !(may_become(node, with_activation(layer->op)) || runs_one_by_one(*layer, node)))
      return nullptr;
    if (concrete(value(layer->results[0])) != concrete(value(node.results[0]))) return nullptr;
    return is_linear(*layer) || ((is_batched(*layer) || is_norm(*layer)) && !joins_group(node)) ? layer
                                                                                                : nullptr;
  }

  // The user wants the convolution that bears the activation's name member by member.
  bool runs_one_by_one(const Node& layer, const Node& node) const {
    const auto named = choice_.by_value.find("%" + value(node.results[0]).name);
    return !is_linear(layer) && named != choice_.by_value.end() && named->second == kSequential.name;
  }

  // A convolution of one image each runs member by member, and an activation need not.
  bool is_batched(const Node& convolution) const {
    const auto *x = convolution.arguments[0].ref(), *weight = convolution.arguments[1].ref();
    return x && weight && concrete(value(x->id)).rank() == concrete(value(weight->id)).rank();
  }

  static bool is_linear(const Node& node) { return node.op == "aten.linear.default"; }

  // One that looks at its input alone.
  static bool is_norm(const Node& node) {
    if (node.op == "aten.group_norm.default") return true;
    return node.op == "aten.instance_norm.default" && node.arguments[3].is_none() &&
           node.arguments[4].is_none();
  }

  // A group will take it along with what comes after it: that saves a pass over the numbers, too.
  bool joins_group(const Node& node) const {
    if (choice_.mode == Mode::kEager || !graph_.device.is_cpu()) return false;
    const auto id = static_cast<std::size_t>(node.results[0]);
    const auto* reader = connections_.reads[id] == 1 ? connections_.reader[id] : nullptr;
    return reader && may_join_group(graph_, states_, choice_, node) &&
           may_join_group(graph_, states_, choice_, *reader) &&
           concrete(value(reader->results[0])) == concrete(value(node.results[0]));
  }

  // No strategy is named for the node, or one that only `joined` has, which keeps its name.
  bool may_become(const Node& node, std::string_view joined) const {
    const auto has = [](const Primitive* primitive, const std::string& name) {
      return primitive && std::ranges::any_of(primitive->strategies,
                                              [&](const Strategy& one) { return one.name == name; });
    };
    const auto wanted = wanted_strategy(choice_, graph_, node, find_primitive(node.op));
    return !wanted.must ||
           (has(find_primitive(joined), wanted.name) && !has(find_primitive(node.op), wanted.name));
  }

  // The layer, of those that can be joined with others, that makes what nothing else reads, unless it is
  // named.
  const Node* layer_that_makes(const Argument& argument) const {
    const auto* made = argument.ref();
    const auto* layer = made ? connections_.maker[static_cast<std::size_t>(made->id)] : nullptr;
    if (!layer || with_activation(layer->op).empty() || depends_on_data(graph_, *layer)) return nullptr;
    if (connections_.reads[static_cast<std::size_t>(made->id)] != 1) return nullptr;
    return choice_.by_value.contains("%" + value(made->id).name) ? nullptr : layer;
  }

  // A layer that `node`, an addition or a product, combines with a tensor of the same type.
  struct Combined {
    const Node* layer;
    std::size_t other;  ///< argument of `node`
  };

  // The layer's result is each member's own: else it is computed once, as it stands.
  bool is_each_members(const Node& layer) const {
    const auto& state = states_[static_cast<std::size_t>(layer.results[0])];
    return state.mapped && !state.constant;
  }

  // The layer will run where `node` does. Between the two, what it reads is kept in place of its result.
  bool may_wait(const Node& layer, const Node& node) const {
    const auto* x = layer.arguments[0].ref();
    if (!x || !connections_.maker[static_cast<std::size_t>(x->id)] || &layer + 1 == &node) return true;
    return concrete(value(x->id)).elements() <= concrete(value(layer.results[0])).elements();
  }

  // Of two layers the later one: what the earlier one reads need not be kept.
  std::optional<Combined> combined_layer(const Node& node) const {
    const auto* combination = combination_of(node);
    if (!combination || node.results[0] < 0 || depends_on_data(graph_, node) ||
        !may_become(node, combination->joined) || change_in(node))
      return std::nullopt;
    const auto type = concrete(value(node.results[0]));
    std::optional<Combined> found;
    for (const std::size_t other : {0U, 1U}) {
      const auto* layer = layer_that_makes(node.arguments[1 - other]);
      if (!layer || !is_linear(*layer) || !is_each_members(*layer) || !may_wait(*layer, node)) continue;
      if (concrete(value(layer->results[0])) != type ||
          concrete(value(node.arguments[other].ref()->id)) != type)
        continue;
      if (!found || found->layer < layer) found = {layer, other};
    }
    return found;
  }

  // The node is a layer that its activation, or what it is combined with, brings along.
  bool waits(const Node& node) const {
    if (with_activation(node.op).empty() || node.results[0] < 0) return false;
    const auto* reader = connections_.reader[static_cast<std::size_t>(node.results[0])];
    if (!reader) return false;
    const auto combined = combined_layer(*reader);
    return layer_before(*reader) == &node || (combined && combined->layer == &node);
  }

  // `last`: what follows the layer's own arguments.
  void join(const Node& layer, const Node& node, std::string_view joined, Argument last) {
    auto arguments = layer.arguments;
    for (auto& argument : arguments) argument = rewriter_.map(argument);
    arguments.push_back(std::move(last));
    const auto result = node.results[0];
    rewriter_.bind(
        result, {ValueRef{rewriter_.emit(std::string(joined), std::move(arguments), concrete(value(result)),
                                         value(result).name, layer.module_path)}});
  }

  // What an adapter adds to its layer: scale · (left · right), where right has few rows.
  struct Change {
    const Node* product;  ///< matmul, or linear without a bias
    const Node* scaled;   ///< the multiplication by a number, or null
    double scale;
    std::size_t base;  ///< argument of the addition that the change is added to
  };

  // A product whose right factor is one matrix of few rows, for each row of a left factor of rank 2 and more.
  bool is_low_rank(const Node& node) const {
    const bool linear = node.op == "aten.linear.default" && node.arguments[2].is_none();
    if (node.op != "aten.matmul.default" && !linear) return false;
    const auto *left = node.arguments[0].ref(), *right = node.arguments[1].ref();
    if (!left || !right) return false;
    const auto shape = concrete(value(right->id)).shape;
    const auto rows = concrete(value(left->id));
    if (rows.elements() == 0 || concrete(value(right->id)).elements() == 0) return false;
    return rows.rank() >= 2 && shape.size() == 2 && shape[linear ? 1 : 0] <= kMostRank;
  }

  std::optional<Change> change_in(const Node& node) const {
    if (node.op != "aten.add.Tensor" || node.arguments[2].number() != 1.0 || !open_.is_open(node))
      return std::nullopt;
    const auto type = concrete(value(node.results[0]));
    if (type.dtype != at::kFloat && type.dtype != at::kDouble) return std::nullopt;
    for (const std::size_t base : {0U, 1U}) {
      Change change{open_.maker(node.arguments[1 - base]), nullptr, 1, base};
      if (change.product && change.product->op == "aten.mul.Tensor") {
        const auto scale = change.product->arguments[1].number();
        if (!scale) continue;
        change.scaled = change.product, change.scale = *scale;
        change.product = open_.maker(change.scaled->arguments[0]);
      }
      const auto* other = node.arguments[base].ref();
      if (!change.product || !other || !is_low_rank(*change.product)) continue;
      if (concrete(value(other->id)) == type && concrete(value(change.product->results[0])) == type)
        return change;
    }
    return std::nullopt;
  }

  // The node is brought along by the addition that it is part of a change in.
  bool part_of_change(const Node& node) const {
    if (node.results.empty() || node.results[0] < 0) return false;
    const auto* reader = connections_.reader[static_cast<std::size_t>(node.results[0])];
    if (reader && reader->op == "aten.mul.Tensor" && reader->results[0] >= 0 && &node != reader)
      reader = connections_.reader[static_cast<std::size_t>(reader->results[0])];
    const auto change = reader ? change_in(*reader) : std::nullopt;
    return change && (change->product == &node || change->scaled == &node);
  }

  void add_change(const Change& change, const Node& node) {
    auto right = rewriter_.map(change.product->arguments[1]);
    if (change.product->op == "aten.linear.default") {
      auto type = concrete(value(change.product->arguments[1].ref()->id));
      std::swap(type.shape[0], type.shape[1]);
      const Argument axes{Argument::List{{std::int64_t{1}}, {std::int64_t{0}}}};
      right = {ValueRef{rewriter_.emit("aten.permute.default", {right, axes}, type, "transposed",
                                       change.product->module_path)}};
    }
    const auto result = node.results[0];
    rewriter_.bind(result,
                   {ValueRef{rewriter_.emit(std::string(kAddMatmul),
                                            {rewriter_.map(node.arguments[change.base]),
                                             rewriter_.map(change.product->arguments[0]),
                                             right,
                                             {change.scale}},
                                            concrete(value(result)), value(result).name, node.module_path)}});
  }

  const Graph& graph_;
  const StrategyChoice& choice_;
  std::vector<ValueState> states_;
  OpenNodes open_;
  const Connections& connections_;
  Rewriter rewriter_;
};

}  // namespace

Graph fuse(const Graph& graph, const std::vector<ValueState>& inputs, const StrategyChoice& choice) {
  if (choice.all == kSequential.name) return graph;
  return Fuser(graph, inputs, choice).run();
}

}  // namespace wide
