#include "core/passes/optimize.h"

#include <algorithm>
#include <array>
#include <cmath>

#include "core/ir/rewriter.h"
#include "core/passes/canonicalize.h"
#include "core/passes/inference_norm.h"
#include "core/strategy/sequential.h"

namespace wide {
namespace {

enum LayerArgument { kX, kWeight, kBias };

// Layers whose weight can be scaled per output channel, and the axis of the weight that those are on.
struct FoldableLayer {
  std::string_view op;
  std::size_t channel_axis;
  bool one_group;  ///< only where the layer has a single group (argument 6)
};
constexpr std::array kLayers = {
    FoldableLayer{"aten.conv1d.default", 0, false},
    FoldableLayer{"aten.conv2d.default", 0, false},
    FoldableLayer{"aten.conv3d.default", 0, false},
    FoldableLayer{"aten.linear.default", 0, false},
    FoldableLayer{"aten.conv_transpose1d.default", 1, true},
    FoldableLayer{"aten.conv_transpose2d.input", 1, true},
    FoldableLayer{"aten.conv_transpose3d.input", 1, true},
};

class Folder {
 public:
  Folder(const Graph& graph, const std::vector<ValueState>& inputs, const StrategyChoice& choice,
         const ConstantRange& range)
      : graph_(graph),
        choice_(choice),
        range_(range),
        connections_(graph),
        states_(spread_states(graph, inputs)),
        rewriter_(graph) {}

  Graph run() {
    for (const auto& node : graph_.nodes) {
      const auto* layer = layer_before(node);
      layer ? fold(node, *layer) : rewriter_.copy(node);
    }
    rewriter_.copy_outputs();
    auto result = std::move(rewriter_.graph());
    drop_unused(result);
    return result;
  }

 private:
  const Value& value(ValueId id) const { return graph_.values[static_cast<std::size_t>(id)]; }
  bool is_constant(const Argument& argument) const {
    const auto* ref = argument.ref();
    return argument.is_none() || (ref && states_[static_cast<std::size_t>(ref->id)].constant);
  }

  // The user names a strategy for the norm. A strategy that no norm has, by the name of the result, is for
  // the layer that the norm is folded into: that is what has this name then.
  bool must_stay(const Node& norm) const {
    const auto* primitive = find_primitive(norm.op);
    const auto wanted = wanted_strategy(choice_, graph_, norm, primitive);
    const bool by_result =
        norm.results[0] >= 0 && choice_.by_value.contains("%" + value(norm.results[0]).name);
    const bool is_its_own = wanted.name == kAuto ||
                            (primitive && std::ranges::any_of(primitive->strategies, [&](const auto& one) {
                               return one.name == wanted.name;
                             }));
    return wanted.must && (!by_result || is_its_own);
  }

  // The layer that `node`, a batch norm, can be folded into.
  const Node* layer_before(const Node& node) const {
    if (!is_inference_norm(node) || must_stay(node)) return nullptr;
    const auto* input = node.arguments[batch_norm::kInput].ref();
    const auto id = static_cast<std::size_t>(input->id);
    if (connections_.reads[id] != 1 || !connections_.maker[id]) return nullptr;
    const auto& layer = *connections_.maker[id];
    const auto known = std::find_if(kLayers.begin(), kLayers.end(),
                                    [&](const FoldableLayer& one) { return one.op == layer.op; });
    if (known == kLayers.end()) return nullptr;
    if (known->one_group && layer.arguments[6] != Argument{std::int64_t{1}}) return nullptr;
    if (depends_on_data(graph_, node) || depends_on_data(graph_, layer)) return nullptr;
    const auto result = concrete(value(input->id));
    if (result.dtype != at::kFloat && result.dtype != at::kDouble) return nullptr;
    // A linear layer's features are batch norm's channels only where they are its second axis.
    if (layer.op == "aten.linear.default" && result.rank() != 2) return nullptr;
    // Without a batch axis the second axis is not the channels.
    const auto* weight = layer.arguments[kWeight].ref();
    if (layer.op == "aten.linear.default" && weight && concrete(value(weight->id)).rank() != 2)
      return nullptr;
    const auto* bias = layer.arguments[kBias].ref();
    if (bias && concrete(value(bias->id)).rank() != 1) return nullptr;
    if (!weight || (layer.op != "aten.linear.default" && concrete(value(weight->id)).rank() != result.rank()))
      return nullptr;
    const bool constant = is_constant(layer.arguments[kWeight]) && is_constant(layer.arguments[kBias]) &&
                          std::all_of(node.arguments.begin() + batch_norm::kGamma,
                                      node.arguments.begin() + batch_norm::kTraining,
                                      [&](const Argument& one) { return is_constant(one); });
    return constant && stays_in_range(node, layer) ? &layer : nullptr;
  }

  // The largest absolute value of a constant; 1 for one that is left out or computed from others.
  double magnitude(const Argument& argument) const {
    const auto range = argument.ref() ? range_(argument.ref()->id) : std::nullopt;
    return range ? std::max(std::abs(range->first), std::abs(range->second)) : 1;
  }

  // The layer and the norm one after the other reach an overflow that scaled weights may not reach, or the
  // other way round: such weights are left alone.
  bool stays_in_range(const Node& norm, const Node& layer) const {
    constexpr double kLeast = 1e-30, kMost = 1e30;
    const auto variance = norm.arguments[batch_norm::kVariance].ref()
                              ? range_(norm.arguments[batch_norm::kVariance].ref()->id)
                              : std::nullopt;
    const auto* epsilon = std::get_if<double>(&norm.arguments[batch_norm::kEpsilon].value);
    const double least = (variance ? variance->first : 1) + (epsilon ? *epsilon : 0);
    const double scale = magnitude(norm.arguments[batch_norm::kGamma]) / std::sqrt(least);
    const auto fits = [](double value) { return value == 0 || (value > kLeast && value < kMost); };
    return fits(scale) && fits(magnitude(layer.arguments[kWeight]) * scale) &&
           fits(magnitude(layer.arguments[kBias]) * scale) &&
           fits(magnitude(norm.arguments[batch_norm::kMean]) * scale);
  }

  // w' = w * scale; b' = (b - mean) * scale + beta.
  void fold(const Node& norm, const Node& layer) {
    const auto axis = std::find_if(kLayers.begin(), kLayers.end(), [&](const FoldableLayer& one) {
                        return one.op == layer.op;
                      })->channel_axis;
    const auto weight = concrete(value(layer.arguments[kWeight].ref()->id));
    const auto terms = norm_terms(rewriter_, norm, layer.arguments[kBias]);
    const auto scale = along_axis(rewriter_, terms.scale, weight.shape.size(), axis, norm.module_path);
    auto arguments = layer.arguments;
    for (auto& argument : arguments) argument = rewriter_.map(argument);
    arguments[kWeight] = {ValueRef{
        rewriter_.emit("aten.mul.Tensor", {arguments[kWeight], scale}, weight, "folded", norm.module_path)}};
    arguments[kBias] = terms.shift;
    const auto result = norm.results[0];
    rewriter_.bind(result, {ValueRef{rewriter_.emit(layer.op, std::move(arguments), concrete(value(result)),
                                                    value(result).name, layer.module_path)}});
  }

  const Graph& graph_;
  const StrategyChoice& choice_;
  const ConstantRange& range_;
  Connections connections_;
  std::vector<ValueState> states_;
  Rewriter rewriter_;
};

}  // namespace

Graph optimize(const Graph& graph, const std::vector<ValueState>& inputs, const StrategyChoice& choice,
               const ConstantRange& range) {
  if (choice.all == kSequential.name) return graph;
  return Folder(graph, inputs, choice, range).run();
}

}  // namespace wide
