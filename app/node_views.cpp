#include "app/node_views.h"

#include <algorithm>
#include <set>
#include <variant>

#include "core/aten/torch_bridge.h"
#include "core/eager/higher_order.h"
#include "core/ir/text.h"
#include "core/run/listing.h"
#include "core/strategy/candidates.h"
#include "core/strategy/strategy_choice.h"

namespace wide::app {
namespace {

using gui::NodeView;

std::string value_name(const Graph& graph, ValueId id) {
  return graph.values[static_cast<std::size_t>(id)].name;
}

std::string type_text(const Value& value) {
  if (!value.tensor || !value.type) return value.tensor ? "" : "number";
  std::string text = dtype_name(value.type->dtype) + "[";
  for (std::size_t i = 0; i < value.type->sizes.size(); ++i) {
    const auto* size = std::get_if<std::int64_t>(&value.type->sizes[i]);
    text.append(i == 0 ? "" : ", ").append(size ? std::to_string(*size) : "?");
  }
  return text + "]";
}

std::string layouts_text(const std::vector<Layout>& operands, const std::vector<Layout>& results) {
  std::string text;
  for (const auto layout : operands) text.append(text.empty() ? "" : ", ").append(name(layout));
  text += " → ";
  for (std::size_t i = 0; i < results.size(); ++i) text.append(i == 0 ? "" : ", ").append(name(results[i]));
  return text;
}

// Who makes and who reads each value.
struct Uses {
  std::vector<std::ptrdiff_t> maker;     // by value: index of a node, -1 for none
  std::vector<const GraphInput*> input;  // by value; null: no input of the graph
};

Uses uses_of(const Graph& graph) {
  Uses uses{std::vector<std::ptrdiff_t>(graph.values.size(), -1),
            std::vector<const GraphInput*>(graph.values.size())};
  for (const auto& one : graph.inputs) uses.input[static_cast<std::size_t>(one.value)] = &one;
  for (std::size_t i = 0; i < graph.nodes.size(); ++i) {
    for (const auto id : graph.nodes[i].results) {
      if (id >= 0) uses.maker[static_cast<std::size_t>(id)] = static_cast<std::ptrdiff_t>(i);
    }
  }
  return uses;
}

void add_plan(NodeView& view, const NodePlan& plan) {
  view.primitive = plan.primitive;
  view.strategy = plan.strategy;
  view.microseconds = plan.offer.cost / 1e3;
  view.measured = plan.measured;
  for (const auto& other : plan.alternatives) {
    view.alternatives.push_back(
        {other.strategy, layouts_text(other.operands, other.results), other.cost / 1e3, other.measured});
  }
  std::stable_sort(view.alternatives.begin(), view.alternatives.end(),
                   [](const auto& a, const auto& b) { return a.microseconds < b.microseconds; });
  for (const auto& refusal : plan.refusals) view.refusals.push_back({refusal.strategy, refusal.reason});
}

// Of a group: its operators, and what was generated for it.
gui::FusedView fused_view(const Graph& graph, const Plan& plan, std::size_t index) {
  gui::FusedView view;
  const auto& node = graph.nodes[index];
  if (node.op != kGroup) return view;
  const auto& body = *node.bodies[0];
  for (const auto& one : body.nodes) {
    view.operators.push_back(print(body, one));
    auto& text = view.operators.back();
    while (text.ends_with('\n')) text.pop_back();
  }
  const auto call = make_call(graph, node, plan.values, plan.members);
  view.bytes = static_cast<std::int64_t>(call.results[0].bytes()) * plan.members;
  view.stored = plan.nodes[index].strategy == "one_by_one";
  view.code = listing(graph, plan, index);
  return view;
}

NodeView node_view(const Graph& graph, const Plan& plan, const Uses& uses, std::size_t index) {
  const auto& node = graph.nodes[index];
  NodeView view;
  view.op = node.op;
  view.kind = operator_kind(node.op);
  view.module = node.module_path;
  view.text = print(graph, node);
  while (!view.text.empty() && view.text.back() == '\n') view.text.pop_back();
  add_plan(view, plan.nodes[index]);
  view.fused = fused_view(graph, plan, index);
  if (plan.at_build(node)) view.strategy = std::string(kConstantStrategy);
  const auto& offer = plan.nodes[index].offer;
  std::size_t use = 0;
  std::set<std::size_t> reads;
  std::set<std::string> inputs;
  for_each_use(node, [&](ValueId id) {
    const auto at = static_cast<std::size_t>(id);
    const auto* input = uses.input[at];
    const auto layout = use < offer.operands.size() ? offer.operands[use] : plan.values[at].layout;
    ++use;
    view.operands.push_back({graph.values[at].name, type_text(graph.values[at]), std::string(name(layout)),
                             input != nullptr && input->kind != InputKind::kUser});
    if (uses.maker[at] >= 0) reads.insert(static_cast<std::size_t>(uses.maker[at]));
    if (input != nullptr && input->kind == InputKind::kUser) inputs.insert(graph.values[at].name);
  });
  view.reads.assign(reads.begin(), reads.end());
  view.inputs.assign(inputs.begin(), inputs.end());
  view.name = node_name(graph, index);
  for (const auto id : node.results) {
    if (id < 0) continue;
    view.type = type_text(graph.values[static_cast<std::size_t>(id)]);
    view.layout = std::string(name(plan.values[static_cast<std::size_t>(id)].layout));
    break;
  }
  return view;
}

}  // namespace

std::string node_name(const Graph& graph, std::size_t index) {
  for (const auto id : graph.nodes[index].results) {
    if (id >= 0) return value_name(graph, id);
  }
  return "unused" + std::to_string(index);
}

std::vector<NodeView> node_views(const Graph& graph, const Plan& plan) {
  const auto uses = uses_of(graph);
  std::vector<NodeView> views;
  for (std::size_t i = 0; i < graph.nodes.size(); ++i) views.push_back(node_view(graph, plan, uses, i));
  return views;
}

}  // namespace wide::app
