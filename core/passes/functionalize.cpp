#include "core/passes/functionalize.h"

#include <ATen/ATen.h>

#include <algorithm>
#include <array>
#include <optional>
#include <unordered_map>
#include <unordered_set>

#include "core/aten/torch_bridge.h"
#include "core/eager/higher_order.h"
#include "core/eager/operators.h"
#include "core/ir/graph_body.h"
#include "core/ir/rewriter.h"
#include "core/passes/canonicalize_rules.h"
#include "core/passes/hidden_write.h"
#include "core/passes/infer.h"
#include "core/passes/metadata_views.h"
#include "core/passes/pure_form.h"
#include "core/passes/running_statistics.h"
#include "core/passes/view_inverse.h"
#include "formats/error.h"

namespace wide {
namespace {

constexpr std::string_view kStage = "functionalize";

// Note [Aliases]
// Every value is a root with memory of its own, or derives from a parent by a view node. A write replaces the
// root's current value and raises its version; a derived value with an older version is computed again from
// its parent when it is used next. A write through a view is first carried to the parent by the view's
// inverse. Where a view in between has none (elements of `unfold` lie on one another), all views from that
// one on are taken of a copy, and written.
class Functionalizer {
 public:
  explicit Functionalizer(const Specialized& specialized)
      : old_(specialized.graph),
        alias_of_(specialized.alias_of),
        rewriter_(old_),
        state_(old_.values.size()) {}

  Graph run() {
    for (const auto& node : old_.nodes) step(node);
    for (const auto& output : old_.outputs) for_each_use(output.value, [&](ValueId id) { refresh(id); });
    rewriter_.copy_outputs();
    for (const auto& input : old_.inputs) {
      if (input.kind == InputKind::kUser || old_.writes(input) || at(input.value).version == 0) continue;
      rewriter_.graph().outputs.push_back(
          {rewriter_.bound(input.value), OutputKind::kBufferMutation, input.target});
    }
    return std::move(rewriter_.graph());
  }

 private:
  struct State {
    std::optional<ValueId> parent;  ///< shares memory with it
    const Node* view = nullptr;     ///< how it derives; null: it is the parent under another name
    std::size_t result = 0;         ///< which result of the view
    int version = 0;                ///< roots: number of writes; others: the root's version they were made at
  };

  State& at(ValueId id) { return state_[static_cast<std::size_t>(id)]; }
  ConcreteType type(ValueId id) const { return concrete(old_.values[static_cast<std::size_t>(id)]); }
  const std::string& name(ValueId id) const { return old_.values[static_cast<std::size_t>(id)].name; }

  ValueId root(ValueId id) {
    while (at(id).parent) id = *at(id).parent;
    return id;
  }

  // The value that `id` is another name of.
  ValueId named(ValueId id) {
    while (at(id).parent && !at(id).view) id = *at(id).parent;
    return id;
  }

  void refresh(ValueId id) {
    auto& state = at(id);
    if (!state.parent) return;
    const auto current = at(root(id)).version;
    if (state.version == current) return;
    refresh(*state.parent);
    if (!state.view) {
      rewriter_.bind(id, rewriter_.bound(*state.parent));
    } else {
      for_each_use(*state.view, [&](ValueId used) { refresh(used); });
      std::vector<Argument> arguments;
      for (const auto& argument : state.view->arguments) arguments.push_back(rewriter_.map(argument));
      std::vector<std::optional<TensorType>> types;
      for (const auto result : state.view->results) {
        types.push_back(result >= 0 ? std::optional(as_type(type(result))) : std::nullopt);
      }
      const auto results =
          rewriter_.emit(state.view->op, std::move(arguments), types, name(id), state.view->module_path);
      rewriter_.bind(id, {ValueRef{results[state.result]}});
    }
    state.version = current;
  }

  // The memory of `id` now holds `value`.
  void assign(const Node& writer, ValueId id, ValueId value) {
    auto& state = at(id);
    if (const auto views = views_from_uninvertible(id); !views.empty()) {
      // What else lies there changes, too: `id` itself is computed again.
      const auto copy = written_through(writer, views, {ValueRef{value}}, nullptr);
      return assign(writer, *at(views.front()).parent, copy);
    }
    rewriter_.bind(id, {ValueRef{value}});
    if (!state.parent) {
      ++state.version;
      return;
    }
    const auto parent = *state.parent;
    if (!state.view) {
      assign(writer, parent, value);
    } else {
      refresh(parent);
      assign(writer, parent, written_parent(writer, state, parent, value));
    }
    at(id).version = at(root(id)).version;
  }

  // What `parent` holds once its view has been given `value`.
  ValueId written_parent(const Node& writer, const State& state, ValueId parent, ValueId value) {
    if (expands(*state.view)) return first_of_expanded(writer, state, parent, value);
    const auto inverse = invert_view(*state.view, state.result, type(parent));
    std::vector<Argument> arguments;
    for (auto argument : inverse->arguments) {
      map_uses(argument, [&](ValueId id) {
        if (id == kInverseValue) return Argument{ValueRef{value}};
        if (id == kInverseParent) return rewriter_.bound(parent);
        refresh(id);
        return rewriter_.bound(id);
      });
      arguments.push_back(std::move(argument));
    }
    return rewriter_.emit(inverse->op, std::move(arguments), type(parent), name(parent), writer.module_path);
  }

  static bool is_mesh(const Node& view) {
    return view.op == "aten.meshgrid.default" || view.op == "aten.meshgrid.indexing";
  }
  static bool expands(const Node& view) {
    return view.op == "aten.expand.default" || view.op == "aten.expand_as.default" ||
           view.op == "aten.broadcast_to.default" || view.op == "aten.broadcast_tensors.default" ||
           is_mesh(view);
  }

  // PyTorch writes into an expanded tensor only what is the same all along its expanded axes: the first of it
  // is what the parent holds.
  ValueId first_of_expanded(const Node& writer, const State& state, ValueId parent, ValueId value) {
    auto part = concrete(rewriter_.value(value));
    const auto kept = type(parent);
    if (part.elements() == 0 && kept.elements() != 0) return rewriter_.bound(parent).ref()->id;
    const auto take = [&](std::string op, std::vector<Argument> arguments) {
      arguments.insert(arguments.begin(), {ValueRef{value}});
      value = rewriter_.emit(std::move(op), std::move(arguments), part, name(parent), writer.module_path);
    };
    // Of the results of a mesh each lies along an axis of its own.
    auto own = static_cast<std::int64_t>(state.result);
    if (state.view->op == "aten.meshgrid.indexing" && own < 2 &&
        std::get<std::string>(state.view->arguments[1].value) == "xy")
      own = 1 - own;
    const bool mesh = is_mesh(*state.view);
    for (std::int64_t dim = part.rank() - 1; dim >= 0 && part.rank() > kept.rank(); --dim) {
      if (mesh ? dim == own && kept.rank() > 0 : dim >= part.rank() - kept.rank()) continue;
      part.shape.erase(part.shape.begin() + dim);
      take("aten.select.int", {{dim}, {std::int64_t{0}}});
    }
    for (std::int64_t i = 0; i < kept.rank(); ++i) {
      auto& size = part.shape[static_cast<std::size_t>(i)];
      if (size == kept.shape[static_cast<std::size_t>(i)]) continue;
      size = 1;
      take("aten.slice.Tensor", {{i}, {std::int64_t{0}}, {std::int64_t{1}}, {std::int64_t{1}}});
    }
    return value;
  }

  bool has_inverse(const State& state) {
    const auto parent = type(*state.parent);
    return !parent.varies && (expands(*state.view) || invert_view(*state.view, state.result, parent));
  }

  // The views from the outermost without an inverse down to `id`; none where all that lead to it have one.
  // Empty, too, below an expanded view: PyTorch writes into none.
  std::vector<ValueId> views_from_uninvertible(ValueId id) {
    std::vector<ValueId> views;
    std::size_t count = 0;
    for (; at(id).parent; id = *at(id).parent) {
      if (!at(id).view) continue;  // another name
      const bool invertible = has_inverse(at(id));
      if (invertible && expands(*at(id).view)) break;
      views.push_back(id);
      if (!invertible) count = views.size();
    }
    views.resize(count);
    std::reverse(views.begin(), views.end());
    return views;
  }

  // On a copy of what `views` are of, they are taken and the last, or `part` of it, is written. Gives the
  // copy, with `part` the last view.
  ValueId written_through(const Node& writer, const std::vector<ValueId>& views, const Argument& value,
                          const Node* part) {
    const auto parent = named(*at(views.front()).parent);
    refresh(parent);
    GraphBody body;
    std::unordered_map<ValueId, Argument> inner;
    const auto copy = body.add("aten.clone.default", {body.input(rewriter_.bound(parent)), {}});
    inner.emplace(parent, copy);
    const auto add = [&](Node node) {
      for (auto& argument : node.arguments) {
        map_uses(argument, [&](ValueId id) {
          id = named(id);
          if (const auto known = inner.find(id); known != inner.end()) return known->second;
          refresh(id);
          return inner.emplace(id, body.input(rewriter_.bound(id))).first->second;
        });
      }
      return body.add(std::move(node));
    };
    for (const auto id : views) inner.emplace(id, add(*at(id).view)[at(id).result]);
    const auto last = inner.at(views.back());
    const auto target = part ? add(*part)[0] : last;
    body.add("aten.copy_.default", {target, body.input(value), {false}});
    body.output(part ? last : copy);
    const auto given = part ? views.back() : parent;
    return call(std::move(body), {as_type(type(given))}, name(given), writer.module_path)[0];
  }

  // `slice_scatter` and its kind write into a copy that keeps the strides, so that elements which lie on one
  // another (of `unfold`) change together.
  bool scatter_into_overlapping(const Node& node) {
    constexpr std::array<std::pair<std::string_view, std::string_view>, 3> kParts = {{
        {"aten.select_scatter.default", "aten.select.int"},
        {"aten.slice_scatter.default", "aten.slice.Tensor"},
        {"aten.diagonal_scatter.default", "aten.diagonal.default"},
    }};
    const auto* found =
        std::find_if(kParts.begin(), kParts.end(), [&](const auto& part) { return part.first == node.op; });
    if (found == kParts.end() || !node.arguments[0].ref()) return false;
    const auto views = views_from_uninvertible(node.arguments[0].ref()->id);
    if (views.empty()) return false;
    Node part{std::string(found->second), node.arguments, {0}, node.module_path};
    part.arguments.erase(part.arguments.begin() + 1);
    part.arguments[0] = {ValueRef{views.back()}};
    const auto value = written_through(node, views, rewriter_.map(node.arguments[1]), &part);
    rewriter_.bind(node.results[0], {ValueRef{value}});
    return true;
  }

  std::vector<ValueId> call(GraphBody body, const std::vector<std::optional<TensorType>>& types,
                            const std::string& stem, const std::string& module_path) {
    const auto results = rewriter_.emit(std::string(kCall), {body.operands()}, types, stem, module_path);
    rewriter_.graph().nodes.back().bodies = {body.take()};
    return results;
  }

  void step(const Node& node) {
    for_each_use(node, [&](ValueId id) { refresh(id); });
    if (!written_arguments(node).empty()) return write(node);
    if (const auto* hidden = hidden_write(node)) return write_statistics(node, *hidden);
    if (scatter_into_overlapping(node)) return;
    rewriter_.copy(node);
    for (std::size_t i = 0; i < node.results.size(); ++i) {
      const auto id = node.results[i];
      if (id < 0) continue;
      if (const auto parent = alias_of_[static_cast<std::size_t>(id)]) {
        at(id) = {*parent, &node, i, at(root(*parent)).version};
      }
    }
  }

  void write(const Node& node) {
    std::vector<ValueId> targets;
    for (const auto index : written_arguments(node))
      for_each_use(node.arguments[index], [&](ValueId id) { targets.push_back(id); });
    for (const auto id : node.results) {
      if (id < 0 || !alias(id) || type(id) == type(*alias(id))) continue;
      throw Error(std::string(kStage),
                  describe(old_, node) + ": changes the shape or dtype of a tensor in place");
    }
    const bool keeps_size = (node.op == "aten.resize_.default" || node.op == "aten.resize_as_.default") &&
                            node.results[0] >= 0;  // as looked at above
    if (keeps_size) {
      const auto memory = root(targets[0]);
      assign(node, memory, rewriter_.bound(memory).ref()->id);
      return name_again(node);
    }
    refuse_shared_memory(node, targets);
    std::vector<ValueId> values = computed_purely(node, targets);
    if (values.empty()) values = computed_on_copies(node, targets);
    for (std::size_t i = 0; i < targets.size(); ++i) assign(node, targets[i], values[i]);
    name_again(node);
  }

  // An operator that writes several tensors goes along them, and sees in one what it wrote into another.
  void refuse_shared_memory(const Node& node, const std::vector<ValueId>& targets) {
    if (targets.size() < 2) return;
    std::unordered_map<ValueId, ValueId> written;  // by what they are views of
    for (const auto id : targets) {
      if (!written.emplace(root(id), id).second) throw_shared(node);
    }
    std::unordered_set<ValueId> used;
    for_each_use(node, [&](ValueId id) {
      const auto found = written.find(root(id));
      if (found != written.end() && (found->second != id || !used.insert(id).second)) throw_shared(node);
    });
  }

  [[noreturn]] void throw_shared(const Node& node) const {
    throw Error(std::string(kStage), describe(old_, node) + ": writes several tensors that share memory");
  }

  // What is written in place is also a result.
  void name_again(const Node& node) {
    for (const auto id : node.results) {
      if (id < 0 || !alias(id)) continue;
      refresh(*alias(id));
      rewriter_.bind(id, rewriter_.bound(*alias(id)));
      at(id) = {*alias(id), nullptr, 0, at(root(*alias(id))).version};
    }
  }

  std::optional<ValueId> alias(ValueId id) const { return alias_of_[static_cast<std::size_t>(id)]; }

  // The new values of `targets` by an operator that gives them; none where there is no such operator.
  std::vector<ValueId> computed_purely(const Node& node, const std::vector<ValueId>& targets) {
    auto form = pure_form(node);
    if (!form) return {};
    for (const auto id : node.results) {
      if (id >= 0 && !alias(id)) return {};  // something else that it gives is wanted, too
    }
    for (auto& argument : form->arguments) argument = rewriter_.map(argument);
    Node pure{form->op, form->arguments, {}, node.module_path};
    const auto types = infer_results(rewriter_.graph(), pure);
    for (std::size_t i = 0; types && i < types->size() && i < targets.size(); ++i) {
      // Sums and scans compute in the dtype of what they write into.
      const bool other = (*types)[i] && (*types)[i]->dtype != type(targets[i]).dtype;
      if (other && !is_pointwise(*find_operator(pure.op))) return {};
    }
    std::vector<std::optional<TensorType>> wanted(targets.size());
    for (std::size_t i = 0; i < targets.size(); ++i) {
      auto given = type(targets[i]);
      if (types && i < types->size() && (*types)[i]) {
        given.dtype = (*types)[i]->dtype;
        if (!given.varies) given.shape = (*types)[i]->shape;
      }
      wanted[i] = as_type(given);
    }
    auto values = rewriter_.emit(std::move(pure.op), std::move(pure.arguments), wanted, name(targets[0]),
                                 node.module_path);
    for (std::size_t i = 0; i < targets.size(); ++i) values[i] = as_target(node, values[i], targets[i]);
    return values;
  }

  // In place keeps the dtype and shape of what is written; the pure operator has its own.
  ValueId as_target(const Node& node, ValueId value, ValueId target) {
    auto given = concrete(rewriter_.value(value));
    const auto kept = type(target);
    if (given.dtype != kept.dtype) {
      given.dtype = kept.dtype;
      value = rewriter_.emit("aten.to.dtype", {{ValueRef{value}}, {kept.dtype}, {false}, {false}, {}}, given,
                             name(target), node.module_path);
    }
    if (given.shape == kept.shape) return value;
    return rewriter_.emit("aten.expand.default", {{ValueRef{value}}, int_list(kept.shape), {false}}, kept,
                          name(target), node.module_path);
  }

  // The same by the operator itself on copies, member by member; what else it gives is bound.
  std::vector<ValueId> computed_on_copies(const Node& node, const std::vector<ValueId>& targets) {
    GraphBody body;
    std::unordered_map<ValueId, Argument> inner;
    const auto is_target = [&](ValueId id) {
      return std::find(targets.begin(), targets.end(), id) != targets.end();
    };
    auto copied = node;
    for (auto& argument : copied.arguments) {
      map_uses(argument, [&](ValueId id) {
        if (const auto known = inner.find(id); known != inner.end()) return known->second;
        auto value = body.input(rewriter_.bound(id));
        if (is_target(id) && value.ref()) value = body.add("aten.clone.default", {value, {}});
        return inner.emplace(id, value).first->second;
      });
    }
    const auto results = body.add(copied);
    std::vector<std::optional<TensorType>> types;
    for (const auto id : targets) {
      body.output(inner.at(id));
      types.emplace_back(as_type(type(id)));
    }
    std::vector<ValueId> others;
    for (std::size_t i = 0; i < node.results.size(); ++i) {
      if (node.results[i] < 0 || alias(node.results[i])) continue;
      body.output(results[i]);
      types.emplace_back(as_type(type(node.results[i])));
      others.push_back(node.results[i]);
    }
    auto values = call(std::move(body), types, name(targets[0]), node.module_path);
    for (std::size_t i = 0; i < others.size(); ++i)
      rewriter_.bind(others[i], {ValueRef{values[targets.size() + i]}});
    values.resize(targets.size());
    return values;
  }

  void write_statistics(const Node& node, const HiddenWrite& hidden) {
    const auto mean = node.arguments[hidden.mean].ref()->id,
               variance = node.arguments[hidden.variance].ref()->id;
    const auto moved = move_running_statistics(rewriter_, node, mean, variance);
    assign(node, mean, moved.mean);
    assign(node, variance, moved.variance);
  }

  const Graph& old_;
  const std::vector<std::optional<ValueId>>& alias_of_;
  Rewriter rewriter_;
  std::vector<State> state_;
};

}  // namespace

Graph functionalize(const Specialized& specialized) {
  const auto renamed = with_views_for_metadata(specialized);
  return Functionalizer(renamed).run();
}

}  // namespace wide
