#include "core/passes/verify.h"

#include <stdexcept>
#include <unordered_set>

#include "core/eager/higher_order.h"
#include "core/eager/operators.h"
#include "core/ir/scalar_ops.h"

namespace wide {
namespace {

class Verifier {
 public:
  Verifier(const Graph& graph, std::string_view stage)
      : graph_(graph), stage_(stage), defined_(graph.values.size(), false) {}

  void run() {
    std::unordered_set<std::string_view> names;
    for (const auto& value : graph_.values) {
      if (!names.insert(value.name).second) fail("the name %" + value.name + " stands twice");
    }
    for (const auto& input : graph_.inputs) define(input.value, "input");
    for (const auto& node : graph_.nodes) check(node);
    for (const auto& output : graph_.outputs) {
      for_each_use(output.value, [&](ValueId id) { use(id, "output"); });
    }
  }

 private:
  [[noreturn]] void fail(const std::string& why) const {
    throw std::logic_error("after " + std::string(stage_) + ": " + why);
  }
  bool in_range(ValueId id) const { return id >= 0 && static_cast<std::size_t>(id) < graph_.values.size(); }
  void define(ValueId id, const std::string& where) {
    if (!in_range(id)) fail(where + " defines a value out of range");
    if (defined_[static_cast<std::size_t>(id)]) {
      fail(where + " defines %" + graph_.values[static_cast<std::size_t>(id)].name + " again");
    }
    defined_[static_cast<std::size_t>(id)] = true;
  }
  void use(ValueId id, const std::string& where) const {
    if (!in_range(id)) fail(where + " uses a value out of range");
    if (!defined_[static_cast<std::size_t>(id)]) {
      fail(where + " uses %" + graph_.values[static_cast<std::size_t>(id)].name + " before its definition");
    }
  }
  void check(const Node& node) {
    // describe() reads the names of the results.
    for (const auto id : node.results) {
      if (id >= 0 && !in_range(id)) fail(node.op + " defines a value out of range");
    }
    const auto where = describe(graph_, node);
    for_each_use(node, [&](ValueId id) { use(id, where); });
    for (const auto id : node.results) {
      if (id >= 0) define(id, where);
    }
    if (is_scalar_op(node.op)) return;
    if (is_higher_order(node) || higher_order_form(node.op)) return check_bodies(node, where);
    const auto op = find_operator(node.op);
    if (!op) fail(where + ": unknown operator");
    if (op->schema().arguments().size() != node.arguments.size())
      fail(where + ": arguments do not match the schema");
  }

  void check_bodies(const Node& node, const std::string& where) const {
    const auto* form = higher_order_form(node.op);
    if (!form || form->bodies != node.bodies.size() || form->arguments != node.arguments.size())
      fail(where + ": its graphs or arguments do not match the operator");
    for (const auto& body : node.bodies) Verifier(*body, stage_).run();
  }

  const Graph& graph_;
  std::string_view stage_;
  std::vector<bool> defined_;
};

}  // namespace

void verify(const Graph& graph, std::string_view stage) {
  Verifier(graph, stage).run();
}

}  // namespace wide
