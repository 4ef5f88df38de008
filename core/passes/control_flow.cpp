#include "core/passes/control_flow.h"

#include <ATen/ATen.h>
#include <ATen/CPUGeneratorImpl.h>

#include <algorithm>
#include <array>

#include "core/aten/device.h"
#include "core/eager/higher_order.h"
#include "core/eager/interpreter.h"
#include "core/eager/operators.h"
#include "core/ir/compare.h"
#include "core/ir/rewriter.h"
#include "core/ir/scalar_ops.h"
#include "core/passes/canonicalize_rules.h"
#include "core/strategy/primitive.h"
#include "formats/error.h"

namespace wide {
namespace {

// Beyond so many nodes a loop is not written out.
constexpr std::int64_t kMostNodes = 2048;

using Flags = std::vector<bool>;

// Which outputs of `graph` depend on inputs that are marked.
Flags spread(const Graph& graph, const Flags& inputs) {
  Flags marked(graph.values.size(), false);
  for (std::size_t i = 0; i < inputs.size(); ++i)
    marked[static_cast<std::size_t>(graph.inputs[i].value)] = inputs[i];
  const auto any = [&](const auto& user) {
    bool found = false;
    for_each_use(user, [&](ValueId id) { found |= marked[static_cast<std::size_t>(id)]; });
    return found;
  };
  for (const auto& node : graph.nodes) {
    const bool mark = any(node) || draws_random(node);
    for (const auto id : node.results) {
      if (id >= 0) marked[static_cast<std::size_t>(id)] = mark;
    }
  }
  Flags outputs;
  for (const auto& output : graph.outputs) outputs.push_back(any(output.value));
  return outputs;
}

// Primitives whose operators accept every number in their operands.
bool never_fails(const Node& node) {
  constexpr std::array<std::string_view, 13> kSafe = {
      "linear", "conv", "conv_transpose", "layer_norm", "group_norm", "prelu", "softmax",
      "matmul", "cat",  "reduction",      "pad",        "pooling",    "einsum"};
  if (is_scalar_op(node.op) || is_higher_order(node) || draws_random(node)) return false;
  const auto op = find_operator(node.op);
  if (!op || op->schema().is_mutable()) return false;
  // Whole numbers cannot be divided by zero.
  for (const auto* division : {"div", "remainder", "fmod", "divide"}) {
    if (node.op.find(division) != std::string::npos && node.op != "aten.div.Tensor" &&
        node.op != "aten.div.Scalar")
      return false;
  }
  if (is_pointwise(*op) || has_canonical_rule(node.op)) return true;
  const auto* primitive = find_primitive(node.op);
  return primitive && std::find(kSafe.begin(), kSafe.end(), primitive->name) != kSafe.end();
}

bool can_select(const Node& node) {
  for (const auto& body : node.bodies) {
    if (!std::all_of(body->nodes.begin(), body->nodes.end(), never_fails)) return false;
    for (const auto& output : body->outputs) {
      const auto* ref = output.value.ref();
      if (!ref || !body->values[static_cast<std::size_t>(ref->id)].tensor) return false;
    }
  }
  return true;
}

// Operands of a node as the interpreter gives them, one per use, put back into its arguments.
class Given {
 public:
  Given(const Node& node, std::span<const c10::IValue> operands) : node_(node), operands_(operands) {}

  std::vector<c10::IValue> list(std::size_t argument) const {
    std::size_t use = 0;
    for (std::size_t i = 0; i < argument; ++i) for_each_use(node_.arguments[i], [&](ValueId) { ++use; });
    std::vector<c10::IValue> values;
    for (const auto& item : *node_.arguments[argument].list()) {
      if (item.ref()) {
        values.push_back(operands_[use++]);
      } else if (const auto* number = std::get_if<std::int64_t>(&item.value)) {
        values.emplace_back(*number);
      } else if (const auto* real = std::get_if<double>(&item.value)) {
        values.emplace_back(*real);
      } else if (const auto* flag = std::get_if<bool>(&item.value)) {
        values.emplace_back(*flag);
      } else {
        values.emplace_back();
      }
    }
    return values;
  }

 private:
  const Node& node_;
  std::span<const c10::IValue> operands_;
};

// What a member takes of two results is one tensor: both have its shape and dtype.
bool give_the_same(const Node& node, const std::vector<c10::IValue>& operands) {
  const auto first = Interpreter(*node.bodies[0], false).run(operands);
  const auto second = Interpreter(*node.bodies[1], false).run(operands);
  return std::ranges::equal(first, second, [](const c10::IValue& a, const c10::IValue& b) {
    return a.isTensor() && b.isTensor() && a.toTensor().sizes() == b.toTensor().sizes() &&
           a.toTensor().scalar_type() == b.toTensor().scalar_type();
  });
}

std::optional<Expansion> of_cond(const Node& node, std::span<const c10::IValue> operands,
                                 const std::function<bool(ValueId)>& from_data) {
  const auto& predicate = node.arguments[0];
  if (predicate.ref() && from_data(predicate.ref()->id))
    return can_select(node) && give_the_same(node, Given(node, operands).list(1))
               ? std::optional(Expansion{Expansion::Kind::kSelect})
               : std::nullopt;
  const bool taken = predicate.ref() ? (operands[0].isTensor() ? operands[0].toTensor().item().toBool()
                                                               : operands[0].toScalar().toBool())
                                     : predicate == Argument{true};
  return Expansion{Expansion::Kind::kBranch, taken ? 0 : 1};
}

std::optional<Expansion> of_while(const Node& node, std::span<const c10::IValue> operands,
                                  const std::function<bool(ValueId)>& from_data) {
  const auto& step = *node.bodies[1];
  Flags marked;
  for (const auto& argument : node.arguments) {
    for (const auto& item : *argument.list()) marked.push_back(item.ref() && from_data(item.ref()->id));
  }
  for (Flags before; before != marked;) {
    before = marked;
    const auto given = spread(step, marked);
    for (std::size_t i = 0; i < given.size(); ++i) marked[i] = marked[i] || given[i];
  }
  if (spread(*node.bodies[0], marked)[0]) return std::nullopt;
  const Given given(node, operands);
  auto carried = given.list(0);
  const auto others = given.list(1);
  const Interpreter goes_on(*node.bodies[0], false), body(step, false);
  const auto inputs = [&] {
    auto all = carried;
    all.insert(all.end(), others.begin(), others.end());
    return all;
  };
  for (std::int64_t count = 0; count * std::ssize(step.nodes) <= kMostNodes; ++count) {
    const auto answer = goes_on.run(inputs())[0];
    const bool more = answer.isTensor() ? answer.toTensor().item().toBool() : answer.toScalar().toBool();
    if (!more) return Expansion{Expansion::Kind::kSteps, count};
    carried = body.run(inputs());
  }
  return std::nullopt;
}

std::optional<Expansion> of_rows(const Node& node, std::span<const c10::IValue> operands) {
  const auto rows = Given(node, operands).list(node.op == kScan ? 1 : 0);
  if (rows.empty() || !rows[0].isTensor()) return std::nullopt;
  const auto count = rows[0].toTensor().size(0);
  if (count == 0 || count * std::ssize(node.bodies[0]->nodes) > kMostNodes) return std::nullopt;
  return Expansion{Expansion::Kind::kRows, count};
}

// Numbers that a cast to a type of lower precision changes.
at::Tensor made_up(const at::Tensor& like) {
  if (!like.is_floating_point()) return like;
  return at::rand(like.sizes(), like.options().dtype(at::kDouble)).add(0.5).to(like.scalar_type());
}

// See Note [Autocast] of capture: the casts that give the same bits, if all operands of one sort are cast.
std::optional<Expansion> of_autocast(const Node& node, std::span<const c10::IValue> operands) {
  std::vector<c10::IValue> values;
  for (const auto& operand : operands)
    values.push_back(operand.isTensor() && operand.toTensor().defined()
                         ? c10::IValue(made_up(operand.toTensor()))
                         : operand);
  constexpr std::uint64_t kSeed = 1;
  auto generator = default_generator(at::kCPU);
  std::vector<c10::IValue> wanted;
  try {
    generator.set_current_seed(kSeed);
    HigherOrderCall(localize(node).node).run(values, wanted);
  } catch (const std::exception&) {
    return std::nullopt;
  }
  const Interpreter body(*node.bodies[0], false);
  const auto lower = std::get<at::ScalarType>(node.arguments[0].value);
  for (const auto target :
       {std::optional<at::ScalarType>(), std::optional(lower), std::optional(at::kFloat)}) {
    Expansion expansion{Expansion::Kind::kCasts};
    auto cast = values;
    for (auto& value : cast) {
      expansion.casts.emplace_back();
      if (!target || !value.isTensor() || !value.toTensor().is_floating_point()) continue;
      const auto dtype = value.toTensor().scalar_type();
      if (dtype == at::kDouble || dtype == *target) continue;
      expansion.casts.back() = *target;
      value = value.toTensor().to(*target);
    }
    try {
      generator.set_current_seed(kSeed);
      const auto got = body.run(cast);
      bool equal = got.size() == wanted.size();
      for (std::size_t i = 0; equal && i < got.size(); ++i)
        equal = got[i].isTensor() == wanted[i].isTensor() &&
                (!got[i].isTensor() || same_bits(got[i].toTensor(), wanted[i].toTensor()));
      if (equal) return expansion;
    } catch (const std::exception&) {
      continue;  // without the casts it does not run
    }
  }
  return std::nullopt;
}

class Expander {
 public:
  explicit Expander(const Graph& graph) : graph_(graph), rewriter_(graph) {}

  Graph run(const std::map<std::size_t, Expansion>& expansions) {
    for (std::size_t i = 0; i < graph_.nodes.size(); ++i) {
      const auto& node = graph_.nodes[i];
      const auto found = expansions.find(i);
      if (found == expansions.end()) {
        rewriter_.copy(node);
        continue;
      }
      const auto results = expanded(node, found->second);
      for (std::size_t k = 0; k < node.results.size(); ++k) {
        if (node.results[k] >= 0) rewriter_.bind(node.results[k], results[k]);
      }
    }
    rewriter_.copy_outputs();
    return std::move(rewriter_.graph());
  }

 private:
  using List = std::vector<Argument>;

  List list(const Node& node, std::size_t argument) const {
    return *rewriter_.map(node.arguments[argument]).list();
  }
  Argument emit(const Node& node, std::string op, List arguments, std::optional<TensorType> type = {}) {
    const auto stem = node.results.empty() || node.results[0] < 0
                          ? std::string("value")
                          : graph_.values[static_cast<std::size_t>(node.results[0])].name;
    auto& graph = rewriter_.graph();
    const auto id =
        rewriter_.emit(std::move(op), std::move(arguments), {TensorType{}}, stem, node.module_path)[0];
    graph.values[static_cast<std::size_t>(id)].type = std::move(type);
    return {ValueRef{id}};
  }

  List expanded(const Node& node, const Expansion& expansion) {
    switch (expansion.kind) {
      case Expansion::Kind::kBranch:
        return rewriter_.inline_graph(*node.bodies[static_cast<std::size_t>(expansion.count)], list(node, 1));
      case Expansion::Kind::kSelect:
        return select(node);
      case Expansion::Kind::kSteps: {
        auto carried = list(node, 0);
        const auto others = list(node, 1);
        for (std::int64_t i = 0; i < expansion.count; ++i) {
          carried.insert(carried.end(), others.begin(), others.end());
          carried = rewriter_.inline_graph(*node.bodies[1], carried);
        }
        return carried;
      }
      case Expansion::Kind::kRows:
        return rows(node, expansion.count);
      case Expansion::Kind::kCasts:
        break;
    }
    auto operands = list(node, 1);
    for (std::size_t i = 0; i < operands.size(); ++i) {
      if (expansion.casts[i])
        operands[i] = emit(node, "aten.to.dtype", {operands[i], {*expansion.casts[i]}, {false}, {false}, {}});
    }
    return rewriter_.inline_graph(*node.bodies[0], operands);
  }

  List select(const Node& node) {
    const auto operands = list(node, 1);
    const auto yes = rewriter_.inline_graph(*node.bodies[0], operands),
               no = rewriter_.inline_graph(*node.bodies[1], operands);
    auto predicate = rewriter_.map(node.arguments[0]);
    if (!graph_.values[static_cast<std::size_t>(node.arguments[0].ref()->id)].tensor) {
      predicate = emit(node, "aten.scalar_tensor.default", {predicate, {at::kBool}, {}, {}, {}});
    } else {
      predicate = emit(node, "aten.to.dtype", {predicate, {at::kBool}, {false}, {false}, {}});
      predicate = emit(node, "aten.reshape.default", {predicate, {List()}});
    }
    List results;
    for (std::size_t k = 0; k < yes.size(); ++k) {
      const auto id = node.results[k];
      results.push_back(id < 0 ? Argument{}
                               : emit(node, "aten.where.self", {predicate, yes[k], no[k]},
                                      graph_.values[static_cast<std::size_t>(id)].type));
    }
    return results;
  }

  List rows(const Node& node, std::int64_t count) {
    const bool scan = node.op == kScan;
    auto carried = scan ? list(node, 0) : List();
    const auto kept = carried.size();
    const auto xs = list(node, scan ? 1 : 0), others = list(node, scan ? 2 : 1);
    std::vector<List> stacked;
    for (std::int64_t i = 0; i < count; ++i) {
      auto inputs = carried;
      for (const auto& x : xs) inputs.push_back(emit(node, "aten.select.int", {x, {std::int64_t{0}}, {i}}));
      inputs.insert(inputs.end(), others.begin(), others.end());
      const auto given = rewriter_.inline_graph(*node.bodies[0], inputs);
      carried.assign(given.begin(), given.begin() + static_cast<std::ptrdiff_t>(kept));
      stacked.resize(given.size() - kept);
      for (std::size_t k = kept; k < given.size(); ++k) stacked[k - kept].push_back(given[k]);
    }
    for (std::size_t k = 0; k < stacked.size(); ++k) {
      const auto id = node.results[kept + k];
      carried.push_back(id < 0 ? Argument{}
                               : emit(node, "aten.stack.default", {{stacked[k]}, {std::int64_t{0}}},
                                      graph_.values[static_cast<std::size_t>(id)].type));
    }
    return carried;
  }

  const Graph& graph_;
  Rewriter rewriter_;
};

}  // namespace

std::optional<Expansion> find_expansion(const Node& node, std::span<const c10::IValue> operands,
                                        const std::function<bool(ValueId)>& from_data) {
  if (node.op == kCond) return of_cond(node, operands, from_data);
  if (node.op == kWhileLoop) return of_while(node, operands, from_data);
  if (node.op == kMap || node.op == kScan) return of_rows(node, operands);
  return node.op == kAutocast ? of_autocast(node, operands) : std::nullopt;
}

Graph expand(const Graph& graph, const std::map<std::size_t, Expansion>& expansions) {
  return Expander(graph).run(expansions);
}

}  // namespace wide
