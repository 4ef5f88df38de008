#include "core/functionalize.h"

#include <ATen/ATen.h>

#include <algorithm>
#include <optional>
#include <unordered_map>

#include "core/operators.h"
#include "core/rewriter.h"
#include "core/scalar_ops.h"
#include "core/view_inverse.h"
#include "formats/error.h"

namespace wide {
namespace {

constexpr std::string_view kStage = "functionalize";

// The argument an in-place operator writes, if the schema says that it writes one.
std::optional<std::size_t> written_argument(const Node& node) {
  if (is_scalar_op(node.op)) return std::nullopt;
  const auto op = find_operator(node.op);
  if (!op || !op->schema().is_mutable()) return std::nullopt;
  for (std::size_t i = 0; i < op->schema().arguments().size(); ++i) {
    const auto* alias = op->schema().arguments()[i].alias_info();
    if (alias && alias->isWrite()) return i;
  }
  return std::nullopt;
}

// "aten.add_.Tensor" -> "aten.add.Tensor", when ATen has it with the same arguments.
std::optional<std::string> pure_twin(const Node& node) {
  const auto dot = node.op.rfind('.');
  if (dot == std::string::npos || dot == 0 || node.op[dot - 1] != '_') return std::nullopt;
  const auto twin = node.op.substr(0, dot - 1) + node.op.substr(dot);
  const auto pure = find_operator(twin);
  const auto in_place = find_operator(node.op);
  if (!pure || !in_place || pure->schema().is_mutable()) return std::nullopt;
  // The written argument may have another name in the pure form (dropout_ says self, dropout says input).
  const auto& a = pure->schema().arguments();
  const auto& b = in_place->schema().arguments();
  const bool same = !a.empty() && a.size() == b.size() &&
                    std::equal(a.begin() + 1, a.end(), b.begin() + 1,
                               [](const auto& x, const auto& y) { return x.name() == y.name(); });
  if (!same) return std::nullopt;
  return twin;
}

bool is_true(const Argument& argument) {
  const auto* flag = std::get_if<bool>(&argument.value);
  return flag && *flag;
}

// batch_norm and instance_norm write their running statistics without saying so in their schema.
struct HiddenWrite {
  std::string_view op;
  std::size_t mean, variance, training;
};
constexpr HiddenWrite kHiddenWrites[] = {{"aten.batch_norm.default", 3, 4, 5},
                                         {"aten.instance_norm.default", 3, 4, 5}};

const HiddenWrite* hidden_write(const Node& node) {
  for (const auto& write : kHiddenWrites) {
    if (node.op == write.op && is_true(node.arguments[write.training]) && node.arguments[write.mean].ref()) {
      return &write;
    }
  }
  return nullptr;
}

// Note [Aliases]
// Every value is a root with memory of its own, or derives from a parent by a view node. A write replaces the
// root's current value and raises its version; a derived value with an older version is computed again from
// its parent when it is used next. A write through a view is first carried to the parent by the view's
// inverse.
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
      if (input.kind != InputKind::kBuffer || at(input.value).version == 0) continue;
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
      const auto inverse = invert_view(*state.view, state.result, type(parent));
      if (!inverse) {
        throw Error(std::string(kStage), describe(old_, writer) + ": writes through the view " +
                                             describe(old_, *state.view) + ", which is not supported");
      }
      std::vector<Argument> arguments;
      for (const auto& argument : inverse->arguments) {
        const auto* ref = argument.ref();
        if (!ref) {
          arguments.push_back(argument);
        } else {
          arguments.push_back(ref->id == kInverseParent ? rewriter_.bound(parent)
                                                        : Argument{ValueRef{value}});
        }
      }
      const auto written =
          rewriter_.emit(inverse->op, std::move(arguments), type(parent), name(parent), writer.module_path);
      assign(writer, parent, written);
    }
    at(id).version = at(root(id)).version;
  }

  void step(const Node& node) {
    for_each_use(node, [&](ValueId id) { refresh(id); });
    if (const auto written = written_argument(node)) return write(node, *written);
    if (const auto* hidden = hidden_write(node)) return write_statistics(node, *hidden);
    rewriter_.copy(node);
    for (std::size_t i = 0; i < node.results.size(); ++i) {
      const auto id = node.results[i];
      if (id < 0) continue;
      if (const auto parent = alias_of_[static_cast<std::size_t>(id)]) {
        at(id) = {*parent, &node, i, at(root(*parent)).version};
      }
    }
  }

  void write(const Node& node, std::size_t written) {
    const auto* target = node.arguments[written].ref();
    const auto twin = pure_twin(node);
    if (!twin || !target || written != 0) {
      throw Error(std::string(kStage),
                  describe(old_, node) + ": this in-place operator has no pure twin in ATen");
    }
    const auto self = target->id;
    for (const auto id : node.results) {
      if (id < 0 || type(id) == type(self)) continue;
      throw Error(std::string(kStage), describe(old_, node) +
                                           ": changes the shape or dtype of a tensor in place, "
                                           "which is not supported; export the model without it");
    }
    std::vector<Argument> arguments;
    for (const auto& argument : node.arguments) arguments.push_back(rewriter_.map(argument));
    const auto self_type = type(self);
    auto computed = rewriter_.emit(*twin, std::move(arguments), self_type, name(self), node.module_path);
    if (may_promote(node, self_type.dtype)) {
      // In place keeps the dtype of self; the pure operator promotes.
      computed =
          rewriter_.emit("aten.to.dtype", {{ValueRef{computed}}, {self_type.dtype}, {false}, {false}, {}},
                         self_type, name(self), node.module_path);
    }
    assign(node, self, computed);
    for (const auto id : node.results) {
      if (id < 0) continue;
      rewriter_.bind(id, {ValueRef{computed}});
      at(id) = {self, nullptr, 0, at(root(self)).version};
    }
  }

  bool may_promote(const Node& node, at::ScalarType dtype) const {
    bool other = false;
    for_each_use(node, [&](ValueId id) { other |= type(id).dtype != dtype; });
    return other;
  }

  void write_statistics(const Node& node, const HiddenWrite& hidden) {
    const auto mean = node.arguments[hidden.mean].ref()->id,
               variance = node.arguments[hidden.variance].ref()->id;
    const auto [new_mean, new_variance] = node.op == "aten.batch_norm.default"
                                              ? batch_statistics(node, mean, variance)
                                              : instance_statistics(node, mean, variance);
    assign(node, mean, new_mean);
    assign(node, variance, new_variance);
  }

  enum { kInput, kWeight, kBias, kMean, kVariance, kTraining, kMomentum, kEps, kCudnn };

  std::pair<ValueId, ValueId> batch_statistics(const Node& node, ValueId mean, ValueId variance) {
    std::vector<Argument> arguments;
    for (const auto index : {kInput, kWeight, kBias, kMean, kVariance, kTraining, kMomentum, kEps}) {
      arguments.push_back(rewriter_.map(node.arguments[index]));
    }
    const auto results =
        rewriter_.emit("aten._native_batch_norm_legit_functional.default", std::move(arguments),
                       {as_type(type(node.results[0])), std::nullopt, std::nullopt, as_type(type(mean)),
                        as_type(type(variance))},
                       name(node.results[0]), node.module_path);
    rewriter_.bind(node.results[0], {ValueRef{results[0]}});
    return {results[3], results[4]};
  }

  // ATen normalises every sample on its own and moves the running values towards the batch's mean of their
  // statistics.
  std::pair<ValueId, ValueId> instance_statistics(const Node& node, ValueId mean, ValueId variance) {
    std::vector<Argument> arguments;
    for (const auto index : {kInput, kWeight, kBias, kMean, kVariance, kTraining, kMomentum, kEps, kCudnn}) {
      const bool running = index == kMean || index == kVariance;
      arguments.push_back(running ? Argument{} : rewriter_.map(node.arguments[index]));
    }
    const auto input = type(node.arguments[kInput].ref()->id);
    const auto output =
        rewriter_.emit(node.op, std::move(arguments), input, name(node.results[0]), node.module_path);
    rewriter_.bind(node.results[0], {ValueRef{output}});
    Argument::List spatial;
    for (std::int64_t dim = 2; dim < input.rank(); ++dim) spatial.push_back({dim});
    const TensorType each = as_type({type(mean).dtype, {input.shape[0], input.shape[1]}});
    const auto statistics =
        rewriter_.emit("aten.var_mean.correction",
                       {rewriter_.map(node.arguments[kInput]), {spatial}, {std::int64_t{1}}, {false}},
                       {each, each}, name(mean), node.module_path);
    return {moved(node, mean, statistics[1]), moved(node, variance, statistics[0])};
  }

  // running + momentum * (mean over the batch - running)
  ValueId moved(const Node& node, ValueId running, ValueId each) {
    const auto running_type = type(running);
    const auto batch =
        rewriter_.emit("aten.mean.dim", {{ValueRef{each}}, {Argument::List{{std::int64_t{0}}}}, {false}, {}},
                       running_type, name(running), node.module_path);
    return rewriter_.emit("aten.lerp.Scalar",
                          {rewriter_.bound(running), {ValueRef{batch}}, node.arguments[kMomentum]},
                          running_type, name(running), node.module_path);
  }

  const Graph& old_;
  const std::vector<std::optional<ValueId>>& alias_of_;
  Rewriter rewriter_;
  std::vector<State> state_;
};

}  // namespace

Graph functionalize(const Specialized& specialized) {
  return Functionalizer(specialized).run();
}

std::vector<bool> written_inputs(const Specialized& specialized) {
  const auto& graph = specialized.graph;
  std::unordered_map<ValueId, std::size_t> inputs;
  for (std::size_t i = 0; i < graph.inputs.size(); ++i) inputs[graph.inputs[i].value] = i;
  std::vector<bool> written(graph.inputs.size(), false);
  const auto mark = [&](const Argument& argument) {
    const auto* ref = argument.ref();
    if (!ref) return;
    auto id = ref->id;
    while (specialized.alias_of[static_cast<std::size_t>(id)])
      id = *specialized.alias_of[static_cast<std::size_t>(id)];
    if (const auto found = inputs.find(id); found != inputs.end()) written[found->second] = true;
  };
  for (const auto& node : graph.nodes) {
    if (const auto argument = written_argument(node)) mark(node.arguments[*argument]);
    if (const auto* hidden = hidden_write(node)) {
      mark(node.arguments[hidden->mean]);
      mark(node.arguments[hidden->variance]);
    }
  }
  return written;
}

}  // namespace wide
