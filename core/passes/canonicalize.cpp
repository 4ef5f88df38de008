#include "core/passes/canonicalize.h"

#include <algorithm>
#include <array>
#include <unordered_set>

#include "core/eager/operators.h"
#include "core/ir/scalar_ops.h"
#include "core/passes/canonicalize_rules.h"
#include "core/strategy/primitive.h"

namespace wide {
namespace {

bool names_dimension(std::string_view name) {
  return name == "dim" || name == "dimension" || name == "dims" || name == "dim0" || name == "dim1" ||
         name == "dim2" || name == "start_dim" || name == "end_dim" || name == "source" ||
         name == "destination" || name == "axis0" || name == "axis1";
}

// The rank that a dimension argument of `node` counts in: the largest operand's, one more where a dimension
// is added.
std::int64_t dimension_rank(const Graph& graph, const Node& node) {
  std::int64_t rank = 0;
  for_each_use(node, [&](ValueId id) {
    rank = std::max(rank, concrete(graph.values[static_cast<std::size_t>(id)]).rank());
  });
  const bool adds = node.op == "aten.unsqueeze.default" || node.op == "aten.stack.default" ||
                    node.op == "aten.diag_embed.default";
  return rank + (adds ? 1 : 0);
}

// Only for operators that somebody here knows: an unknown one may count its dimensions in another way, as
// does _weight_norm, to which -1 is all of them.
bool knows_dimensions(const Node& node) {
  return node.op != "aten._weight_norm.default" && (has_canonical_rule(node.op) || find_primitive(node.op));
}

void wrap_dimensions(const Graph& graph, Node& node) {
  if (is_scalar_op(node.op) || !knows_dimensions(node)) return;
  const auto op = find_operator(node.op);
  if (!op) return;
  const auto rank = std::max<std::int64_t>(dimension_rank(graph, node), 1);
  const auto wrap = [&](Argument& argument) {
    if (auto* dim = std::get_if<std::int64_t>(&argument.value); dim && *dim < 0) *dim += rank;
  };
  for (std::size_t i = 0; i < node.arguments.size(); ++i) {
    if (!names_dimension(op->schema().arguments()[i].name())) continue;
    wrap(node.arguments[i]);
    if (auto* list = std::get_if<Argument::List>(&node.arguments[i].value)) {
      for (auto& item : *list) wrap(item);
    }
  }
}

// The node refuses some inputs, and does nothing else.
bool is_check(const Node& node) {
  if (node.op != "aten._assert_scalar.default" && node.op != "aten._assert_async.default" &&
      node.op != "aten._assert_async.msg")
    return false;
  return node.arguments[0].ref() != nullptr;
}

// Refuses some values: an error in PyTorch whether or not the result is used. Indices may be out of bounds,
// whole numbers be divided by zero.
bool may_refuse(const Graph& graph, const Node& node) {
  constexpr std::array<std::string_view, 6> kLookups = {"aten.index.Tensor",   "aten.index_select.default",
                                                        "aten.gather.default", "aten.embedding.default",
                                                        "aten.take.default",   "aten.take_along_dim.default"};
  if (std::find(kLookups.begin(), kLookups.end(), node.op) != kLookups.end()) return true;
  constexpr std::array<std::string_view, 4> kDivisions = {
      "aten.floor_divide.default", "aten.remainder.Tensor", "aten.fmod.Tensor", "aten.div.Tensor_mode"};
  if (std::find(kDivisions.begin(), kDivisions.end(), node.op) == kDivisions.end()) return false;
  const auto whole = [&](const Argument& argument) {
    const auto* ref = argument.ref();
    if (!ref) return false;
    const auto& type = graph.values[static_cast<std::size_t>(ref->id)].type;
    return type && at::isIntegralType(type->dtype, false);
  };
  return whole(node.arguments[0]) && whole(node.arguments[1]);
}

bool is_needed(const Node& node, const std::unordered_set<ValueId>& wanted) {
  return is_check(node) || std::any_of(node.results.begin(), node.results.end(),
                                       [&](ValueId id) { return wanted.contains(id); });
}

// What the outputs, and checks of data, depend on; the results of nodes that do something besides; and with
// `random` those of all nodes that draw random numbers.
std::unordered_set<ValueId> wanted_values(const Graph& graph, bool random) {
  std::unordered_set<ValueId> wanted;
  const auto add = [&](ValueId id) { wanted.insert(id); };
  for (const auto& output : graph.outputs) for_each_use(output.value, add);
  for (auto node = graph.nodes.rbegin(); node != graph.nodes.rend(); ++node) {
    if (may_refuse(graph, *node) || (random && draws_random(*node))) {
      for (const auto id : node->results) {
        if (id >= 0) add(id);
      }
    }
    if (is_needed(*node, wanted)) for_each_use(*node, add);
  }
  return wanted;
}

// What nobody reads has been drawn all the same: what is drawn after it goes on from there.
std::unordered_set<ValueId> wanted_values(const Graph& graph) {
  auto wanted = wanted_values(graph, false);
  const bool random = std::any_of(graph.nodes.begin(), graph.nodes.end(), [&](const Node& node) {
    return draws_random(node) && is_needed(node, wanted);
  });
  return random ? wanted_values(graph, true) : wanted;
}

// Views of which elements may lie on one another, where something is scattered into. ATen copies what it
// scatters into with its strides: a copy of such a view that was left out would change as the view does.
std::unordered_set<ValueId> overlapping_views(const Graph& graph) {
  constexpr std::array<std::string_view, 3> kScatters = {
      "aten.select_scatter.default", "aten.slice_scatter.default", "aten.diagonal_scatter.default"};
  constexpr std::array<std::string_view, 4> kViews = {"aten.select.int", "aten.slice.Tensor",
                                                      "aten.narrow.default", "aten.diagonal.default"};
  const auto is_in = [](const auto& names, const Node& node) {
    return std::find(names.begin(), names.end(), node.op) != names.end();
  };
  std::unordered_set<ValueId> found;
  if (std::none_of(graph.nodes.begin(), graph.nodes.end(),
                   [&](const Node& node) { return is_in(kScatters, node); }))
    return found;
  for (const auto& node : graph.nodes) {
    const auto* operand = node.arguments.empty() ? nullptr : node.arguments[0].ref();
    const bool of_one =
        operand && found.contains(operand->id) && (is_in(kViews, node) || has_canonical_rule(node.op));
    if (of_one || node.op == "aten.unfold.default" || node.op == "aten.as_strided.default")
      found.insert(node.results.begin(), node.results.end());
  }
  return found;
}

}  // namespace

void drop_unused(Graph& graph) {
  const auto used = wanted_values(graph);
  std::erase_if(graph.nodes, [&](const Node& node) { return !is_needed(node, used); });
  for (auto& node : graph.nodes) {
    for (auto& id : node.results) {
      if (!used.contains(id)) id = -1;
    }
  }
}

Graph canonicalize(const Graph& graph) {
  const auto wanted = wanted_values(graph);
  const auto overlapping = overlapping_views(graph);
  Rewriter rewriter(graph);
  for (auto node : graph.nodes) {
    if (!is_needed(node, wanted)) continue;
    // Rules go by sizes, which those of data are not.
    if (depends_on_data(graph, node) || is_check(node)) {
      rewriter.copy(node);
      continue;
    }
    wrap_dimensions(graph, node);
    if (!apply_canonical_rule({graph, node, rewriter, wanted, overlapping})) rewriter.copy(node);
  }
  rewriter.copy_outputs();
  auto result = std::move(rewriter.graph());
  drop_unused(result);
  return result;
}

}  // namespace wide
