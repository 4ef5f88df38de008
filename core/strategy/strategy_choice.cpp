#include "core/strategy/strategy_choice.h"

#include <algorithm>

#include "core/strategy/sequential.h"
#include "core/strategy/strategy_text.h"
#include "formats/error.h"

namespace wide {
namespace {

bool is_general(std::string_view name) {
  return name == kAuto || name == kWide || name == kSequential.name;
}

bool has_strategy(const Primitive& primitive, std::string_view name) {
  return std::any_of(primitive.strategies.begin(), primitive.strategies.end(),
                     [&](const Strategy& strategy) { return strategy.name == name; });
}

bool any_has_strategy(std::string_view name) {
  return is_general(name) || std::any_of(primitives().begin(), primitives().end(),
                                         [&](const Primitive& one) { return has_strategy(one, name); });
}

std::string strategy_names(const Primitive& primitive) {
  std::string names(kAuto);
  for (const auto& strategy : primitive.strategies) names.append(", ").append(strategy.name);
  return names.append(", ").append(kSequential.name);
}

// A convolution joined with its activation is still of the convolution's kind.
constexpr std::string_view kWithActivation = "_activation";

std::string value_name(const Graph& graph, ValueId id) {
  return id < 0 ? std::string() : "%" + graph.values[static_cast<std::size_t>(id)].name;
}

}  // namespace

std::string operator_kind(std::string_view op) {
  const auto first = op.find('.'), last = op.rfind('.');
  if (first == std::string_view::npos || last <= first) return std::string(op);
  auto kind = op.substr(first + 1, last - first - 1);
  if (kind.starts_with("conv") && kind.ends_with(kWithActivation)) kind.remove_suffix(kWithActivation.size());
  return std::string(kind);
}

void add_choice(StrategyChoice& choice, const std::string& text) {
  for (const auto& one : strategies_in(text)) {
    const auto equals = one.find('=');
    if (equals == std::string::npos) {
      if (choice.all != kAuto && one != kAuto && choice.all != one) {
        throw Error("plan",
                    "'" + choice.all + "' and '" + one +
                        "' are both for all operations; name what the one is for, as in 'KIND=" + one + "'");
      }
      choice.all = one;
      continue;
    }
    auto& map = one.starts_with('%') ? choice.by_value : choice.by_kind;
    map[one.substr(0, equals)] = strategy_name(one);
  }
}

void check_choice(const StrategyChoice& choice) {
  const auto require = [](const std::string& name) {
    if (!any_has_strategy(name))
      throw Error("plan", "no primitive has a strategy '" + name + "'; `widebench info` lists them");
  };
  require(choice.all);
  for (const auto& [value, strategy] : choice.by_value) require(strategy);
  for (const auto& [kind, strategy] : choice.by_kind) {
    const auto& all = primitives();
    const auto owner = std::find_if(all.begin(), all.end(), [&](const Primitive& one) {
      return one.name == kind || std::any_of(one.ops.begin(), one.ops.end(),
                                             [&](std::string_view op) { return operator_kind(op) == kind; });
    });
    if (owner == all.end())
      throw Error("plan", "there is no primitive '" + kind + "'; `widebench info` lists them");
    if (!is_general(strategy) && !has_strategy(*owner, strategy)) {
      throw Error("plan",
                  "'" + kind + "' has no strategy '" + strategy + "'; it has " + strategy_names(*owner));
    }
  }
}

void check_values(const StrategyChoice& choice, const Graph& graph) {
  for (const auto& [name, strategy] : choice.by_value) {
    const bool known = std::any_of(graph.nodes.begin(), graph.nodes.end(), [&](const Node& node) {
      return std::any_of(node.results.begin(), node.results.end(),
                         [&](ValueId id) { return value_name(graph, id) == name; });
    });
    if (!known) {
      throw Error("plan", "no operation makes a value " + name +
                              "; `widebench trace --after optimize` shows their names");
    }
  }
}

WantedStrategy wanted_strategy(const StrategyChoice& choice, const Graph& graph, const Node& node,
                               const Primitive* primitive) {
  for (const auto id : node.results) {
    if (const auto named = choice.by_value.find(value_name(graph, id)); named != choice.by_value.end())
      return {named->second, true};
  }
  for (const auto& key : {operator_kind(node.op), std::string(primitive ? primitive->name : "")}) {
    if (const auto named = choice.by_kind.find(key); named != choice.by_kind.end())
      return {named->second, true};
  }
  if (is_general(choice.all)) return {choice.all, false};
  return {primitive && has_strategy(*primitive, choice.all) ? choice.all : std::string(kAuto), false};
}

}  // namespace wide
