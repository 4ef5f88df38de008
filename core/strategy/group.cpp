#include "core/strategy/group.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>

#include "core/strategy/activation.h"
#include "core/strategy/primitive.h"

namespace wide {
namespace {

// Where an operator finds the operands of its step among its arguments. `kLeast` and `kMost` stand for a
// bound that may be None.
enum Source : std::uint8_t { kFirst, kSecond, kThird, kFourth, kLeast, kMost };

struct Rule {
  std::string_view op, function;
  std::vector<Source> operands;
  int factor = -1;  ///< the argument that must be 1; -1: none
};

const std::vector<Rule>& rules() {
  static const std::vector<Rule> all = {
      {"aten.add.Tensor", "add", {kFirst, kSecond}, 2},
      {"aten.add.Scalar", "add", {kFirst, kSecond}, 2},
      {"aten.sub.Tensor", "sub", {kFirst, kSecond}, 2},
      {"aten.sub.Scalar", "sub", {kFirst, kSecond}, 2},
      {"aten.add.Tensor", "add_scaled", {kFirst, kSecond, kThird}},
      {"aten.add.Scalar", "add_scaled", {kFirst, kSecond, kThird}},
      {"aten.sub.Tensor", "sub_scaled", {kFirst, kSecond, kThird}},
      {"aten.sub.Scalar", "sub_scaled", {kFirst, kSecond, kThird}},
      {"aten.rsub.Scalar", "sub", {kSecond, kFirst}, 2},
      {"aten.rsub.Tensor", "sub", {kSecond, kFirst}, 2},
      {"aten.mul.Tensor", "mul", {kFirst, kSecond}},
      {"aten.mul.Scalar", "mul", {kFirst, kSecond}},
      {"aten.div.Tensor", "div", {kFirst, kSecond}},
      {"aten.div.Scalar", "div", {kFirst, kSecond}},
      {"aten.maximum.default", "maximum", {kFirst, kSecond}},
      {"aten.minimum.default", "minimum", {kFirst, kSecond}},
      {"aten.neg.default", "neg", {kFirst}},
      {"aten.abs.default", "abs", {kFirst}},
      {"aten.square.default", "square", {kFirst}},
      {"aten.sqrt.default", "sqrt", {kFirst}},
      {"aten.rsqrt.default", "rsqrt", {kFirst}},
      {"aten.reciprocal.default", "reciprocal", {kFirst}},
      {"aten.exp.default", "exp", {kFirst}},
      {"aten.log.default", "log", {kFirst}},
      {"aten.sin.default", "sin", {kFirst}},
      {"aten.cos.default", "cos", {kFirst}},
      {"aten.clamp.default", "clamp", {kFirst, kLeast, kMost}},
      {"aten.hardtanh.default", "clamp", {kFirst, kSecond, kThird}},
      {"aten.leaky_relu.default", "leaky_relu", {kFirst, kSecond}},
      {"aten.hardswish.default", "hardswish", {kFirst}},
      {"aten.hardsigmoid.default", "hardsigmoid", {kFirst}},
      {"aten.where.self", "where", {kFirst, kSecond, kThird}},
      {"aten.where.ScalarOther", "where", {kFirst, kSecond, kThird}},
      {"aten.where.ScalarSelf", "where", {kFirst, kSecond, kThird}},
      {"aten.where.Scalar", "where", {kFirst, kSecond, kThird}},
      {"aten.masked_fill.Scalar", "where", {kSecond, kThird, kFirst}},
      {"aten.gt.Tensor", "gt", {kFirst, kSecond}},
      {"aten.gt.Scalar", "gt", {kFirst, kSecond}},
      {"aten.ge.Tensor", "ge", {kFirst, kSecond}},
      {"aten.ge.Scalar", "ge", {kFirst, kSecond}},
      {"aten.lt.Tensor", "gt", {kSecond, kFirst}},
      {"aten.lt.Scalar", "gt", {kSecond, kFirst}},
      {"aten.le.Tensor", "ge", {kSecond, kFirst}},
      {"aten.le.Scalar", "ge", {kSecond, kFirst}},
      {"aten.logical_not.default", "not", {kFirst}},
  };
  return all;
}

std::optional<Argument> operand(const Node& node, Source source) {
  if (source == kLeast || source == kMost) {
    const auto& bound = node.arguments[source == kLeast ? 1 : 2];
    constexpr double kInfinity = std::numeric_limits<double>::infinity();
    if (bound.is_none()) return Argument{source == kLeast ? -kInfinity : kInfinity};
    return bound;
  }
  return node.arguments[source];
}

bool has_factor_of_one(const Node& node, int factor) {
  return factor < 0 || node.arguments[static_cast<std::size_t>(factor)].number() == 1.0;
}

// x^2, x^3, 1/x and the square root; other powers are not computed here.
std::optional<GroupStep> power(const Node& node) {
  const auto exponent = node.arguments[1].number();
  const std::vector<Argument> x{node.arguments[0]};
  if (exponent == 2.0) return GroupStep{"square", x};
  if (exponent == 3.0) return GroupStep{"cube", x};
  if (exponent == -1.0) return GroupStep{"reciprocal", x};
  return std::nullopt;
}

std::optional<GroupStep> step_of(const Node& node) {
  if (node.op == "aten.pow.Tensor_Scalar") return power(node);
  if (node.op == "aten.relu6.default") return GroupStep{"clamp", {node.arguments[0], {0.0}, {6.0}}};
  for (const auto& rule : rules()) {
    if (rule.op != node.op || !has_factor_of_one(node, rule.factor)) continue;
    GroupStep step{rule.function, {}};
    for (const auto source : rule.operands) {
      const auto one = operand(node, source);
      if (!one->ref() && !one->number()) return std::nullopt;
      step.operands.push_back(*one);
    }
    return step;
  }
  if (const auto* activation = activation_of(node)) return GroupStep{activation->name, {node.arguments[0]}};
  return std::nullopt;
}

// ATen refuses numbers that float32 cannot hold.
bool fits(const Graph& graph, const Argument& operand, bool mask) {
  if (!operand.ref())
    return !mask && (std::isinf(*operand.number()) ||
                     std::abs(*operand.number()) <= std::numeric_limits<float>::max());
  const auto& value = graph.values[static_cast<std::size_t>(operand.ref()->id)];
  return value.tensor && concrete(value).dtype == (mask ? at::kBool : at::kFloat);
}

}  // namespace

std::optional<GroupStep> group_step(const Graph& graph, const Node& node) {
  if (node.results.size() != 1 || node.results[0] < 0 || depends_on_data(graph, node)) return std::nullopt;
  auto step = step_of(node);
  if (!step) return std::nullopt;
  const bool compares = step->function == "gt" || step->function == "ge";
  const bool negates = step->function == "not";
  const auto dtype = concrete(graph.values[static_cast<std::size_t>(node.results[0])]).dtype;
  if (dtype != (compares || negates ? at::kBool : at::kFloat)) return std::nullopt;
  for (std::size_t i = 0; i < step->operands.size(); ++i) {
    const bool mask = negates || (step->function == "where" && i == 0);
    if (!fits(graph, step->operands[i], mask)) return std::nullopt;
  }
  return step;
}

bool leaves_to_groups(const StrategyChoice& choice, const Graph& graph, const Node& node) {
  const auto wanted = wanted_strategy(choice, graph, node, find_primitive(node.op));
  return !wanted.must || std::ranges::any_of(find_primitive(kGroup)->strategies,
                                             [&](const Strategy& one) { return one.name == wanted.name; });
}

bool may_join_group(const Graph& graph, const std::vector<ValueState>& states, const StrategyChoice& choice,
                    const Node& node) {
  if (node.results.size() != 1 || node.results[0] < 0 || depends_on_data(graph, node)) return false;
  const auto& state = states[static_cast<std::size_t>(node.results[0])];
  return state.mapped && !state.constant && leaves_to_groups(choice, graph, node) && group_step(graph, node);
}

}  // namespace wide
