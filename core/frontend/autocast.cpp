#include "core/frontend/autocast.h"

#include <algorithm>
#include <memory>
#include <string>
#include <utility>

#include "core/eager/higher_order.h"
#include "core/eager/operators.h"
#include "core/ir/scalar_ops.h"

namespace wide {

// Note [Autocast]
// Which operands autocast converts is known to libtorch's dispatcher alone, operator by operator. So each
// operator of such a region is captured as a call under autocast; specialize() finds the casts that give the
// very same bits, and writes those in its place.

Node under_autocast(const Graph& graph, at::ScalarType dtype, Node node) {
  if (is_scalar_op(node.op)) return node;
  const auto op = find_operator(node.op);
  const auto aliases = [](const c10::Argument& one) { return one.alias_info() != nullptr; };
  const auto& returns = op->schema().returns();
  if (op->schema().is_mutable() || returns.empty() || std::any_of(returns.begin(), returns.end(), aliases))
    return node;
  bool numbers = false;
  for (const auto id : node.results) numbers |= id >= 0 && !graph.values[static_cast<std::size_t>(id)].tensor;
  if (numbers) return node;
  auto body = std::make_shared<Graph>();
  Node call{std::string(kAutocast), {{dtype}, {Argument::List()}}, node.results, node.module_path};
  Argument::List operands;
  auto inner = node;
  for (auto& argument : inner.arguments) {
    map_uses(argument, [&](ValueId id) {
      const auto& value = graph.values[static_cast<std::size_t>(id)];
      operands.push_back({ValueRef{id}});
      const auto copy =
          body->add_value(std::to_string(operands.size() - 1) + "_" + value.name, value.tensor, value.type);
      body->inputs.push_back({copy, InputKind::kUser, value.name});
      return Argument{ValueRef{copy}};
    });
  }
  if (operands.empty()) return node;
  for (auto& id : inner.results) {
    if (id < 0) continue;
    const auto& value = graph.values[static_cast<std::size_t>(id)];
    id = body->add_value(value.name, true, value.type);
  }
  for (std::size_t i = 0; i < inner.results.size(); ++i)
    body->outputs.push_back({inner.results[i] < 0 ? Argument{} : Argument{ValueRef{inner.results[i]}}});
  body->nodes.push_back(std::move(inner));
  call.arguments[1] = {std::move(operands)};
  call.bodies = {std::move(body)};
  return call;
}

}  // namespace wide
