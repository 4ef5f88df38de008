#include "core/passes/specialize.h"

#include <ATen/ATen.h>

#include <algorithm>
#include <array>
#include <map>
#include <unordered_map>
#include <unordered_set>

#include "core/aten/device.h"
#include "core/aten/torch_bridge.h"
#include "core/eager/higher_order.h"
#include "core/eager/interpreter.h"
#include "core/eager/operators.h"
#include "core/ir/rewriter.h"
#include "core/ir/scalar_ops.h"
#include "core/passes/control_flow.h"
#include "formats/error.h"
#include "formats/guard.h"

namespace wide {
namespace {

bool reads_only_shape(std::string_view op) {
  return op == "aten.sym_size.int" || op == "aten.sym_numel.default" || op == "aten.sym_stride.int" ||
         op == "aten.sym_storage_offset.default" || op == "aten.sym_is_contiguous.default";
}

// A literal for a number seen in the run.
Argument literal(const c10::IValue& value) {
  if (value.isInt()) return {value.toInt()};
  if (value.isDouble()) return {value.toDouble()};
  if (value.isBool()) return {value.toBool()};
  throw Error("specialize", "a symbolic value is neither a number nor a bool");
}

bool same_memory(const c10::IValue& result, const c10::IValue& operand) {
  if (!operand.isTensor()) return false;
  const auto& a = result.toTensor();
  const auto& b = operand.toTensor();
  return a.defined() && b.defined() && a.has_storage() && b.has_storage() &&
         a.storage().is_alias_of(b.storage());
}

// Its result has a size that depends on numbers in its operands, as far as can be told without a type.
bool has_dynamic_result(const Node& node, std::span<const c10::IValue> operands) {
  // Made of others that have the tag.
  constexpr std::array<std::string_view, 4> kComposite = {"aten.repeat_interleave.", "aten.where.default",
                                                          "aten.nonzero_numpy.", "aten.argwhere."};
  if (is_higher_order(node) || std::any_of(kComposite.begin(), kComposite.end(),
                                           [&](std::string_view one) { return node.op.starts_with(one); }))
    return true;
  const auto op = find_operator(node.op);
  if (!op || !op->hasTag(at::Tag::dynamic_output_shape)) return false;
  if (!node.op.starts_with("aten.index.")) return true;
  return std::any_of(operands.begin(), operands.end(), [](const c10::IValue& operand) {
    if (!operand.isTensor() || !operand.toTensor().defined()) return false;
    const auto dtype = operand.toTensor().scalar_type();
    return dtype == at::kBool || dtype == at::kByte;  // a mask among the indices
  });
}

void collect_symbols(const formats::Expression& expression, std::unordered_set<std::string>& symbols) {
  if (expression.kind == formats::Expression::Kind::kSymbol) symbols.insert(expression.symbol);
  for (const auto& operand : expression.operands) collect_symbols(operand, symbols);
}

std::unordered_set<std::string> symbols_of(const TensorType& type) {
  std::unordered_set<std::string> symbols;
  for (const auto& size : type.sizes) {
    if (const auto* expression = std::get_if<formats::Expression>(&size))
      collect_symbols(*expression, symbols);
  }
  return symbols;
}

at::ScalarType dtype_of(const c10::IValue& number) {
  if (number.isBool()) return at::kBool;
  return number.isDouble() ? at::kDouble : at::kLong;
}

class Specializer {
 public:
  Specializer(const Graph& old, std::span<const c10::IValue> inputs)
      : old_(old), inputs_(inputs), rewriter_(old) {
    for (const auto& input : old.inputs) {
      const auto& type = old.values[static_cast<std::size_t>(input.value)].type;
      if (type) given_symbols_.merge(symbols_of(*type));
    }
  }

  Specialized run() {
    bind_inputs();
    Interpreter(old_).run(
        inputs_, [&](const Node& node, auto operands, auto results) { observe(node, operands, results); });
    rewriter_.copy_outputs();
    Specialized result{std::move(rewriter_.graph()), {}, std::move(same_tensor_)};
    std::erase_if(result.graph.inputs, [&](const auto& input) {
      return !result.graph.values[static_cast<std::size_t>(input.value)].tensor;
    });
    result.graph.ranges.clear();
    result.graph.guards.clear();
    result.alias_of.resize(result.graph.values.size());
    for (const auto& [value, target] : aliases_) result.alias_of[static_cast<std::size_t>(value)] = target;
    return result;
  }

  /// Nodes over graphs that can be written out, by index.
  const std::map<std::size_t, Expansion>& expansions() const { return expansions_; }

 private:
  ValueId new_id(ValueId old_id) const { return rewriter_.bound(old_id).ref()->id; }

  void set_type(ValueId old_id, const ConcreteType& type) {
    rewriter_.graph().values[static_cast<std::size_t>(new_id(old_id))].type = as_type(type);
  }

  void bind_inputs() {
    const auto written = directly_written();
    for (std::size_t i = 0; i < old_.inputs.size(); ++i) {
      const auto id = old_.inputs[i].value;
      if (!inputs_[i].isTensor()) {
        rewriter_.bind(id, literal(inputs_[i]));
        continue;
      }
      const auto& tensor = inputs_[i].toTensor();
      set_type(id, {tensor.scalar_type(), tensor.sizes().vec()});
      if (old_.inputs[i].kind != InputKind::kConstant || written.contains(id)) from_data_.insert(id);
    }
  }

  std::unordered_set<ValueId> directly_written() const {
    std::unordered_set<ValueId> ids;
    for (const auto& node : old_.nodes) {
      for (const auto index : written_arguments(node)) {
        if (const auto* target = node.arguments[index].ref()) ids.insert(target->id);
      }
    }
    return ids;
  }

  // Whether the size of a result depends on data: as the file says by symbols that no input gives; where it
  // says nothing, by the operator and its operands.
  bool varies(ValueId id, const at::Tensor& tensor, bool dynamic) const {
    const auto& type = old_.values[static_cast<std::size_t>(id)].type;
    if (!type) return tensor.dim() > 0 && dynamic;
    const auto symbols = symbols_of(*type);
    return std::any_of(symbols.begin(), symbols.end(),
                       [&](const std::string& symbol) { return !given_symbols_.contains(symbol); });
  }

  void observe(const Node& node, std::span<const c10::IValue> operands,
               std::span<const c10::IValue> results) {
    bool data = draws_random(node), varying = false;
    std::vector<ValueId> used;
    for_each_use(node, [&](ValueId id) {
      data |= from_data_.contains(id) || holds_data(operands[used.size()]);
      used.push_back(id);
      varying |= varying_.contains(id);
    });
    if (data) mark_written(node, operands);
    if (is_higher_order(node)) {
      const auto expansion =
          find_expansion(node, operands, [&](ValueId id) { return from_data_.contains(id); });
      if (expansion) expansions_[static_cast<std::size_t>(&node - old_.nodes.data())] = *expansion;
    }
    // Sizes, and what is computed from them, are the same for every member and pass; but not those of tensors
    // whose size depends on data, and not numbers read out of a tensor.
    const bool sizes_only = reads_only_shape(node.op) || is_scalar_op(node.op);
    const bool fixed = sizes_only ? !varying : !data;
    const auto is_number = [&](std::size_t i) {
      return node.results[i] >= 0 && !old_.values[static_cast<std::size_t>(node.results[i])].tensor;
    };
    bool all_literal = !node.results.empty();
    for (std::size_t i = 0; i < node.results.size(); ++i) {
      if (node.results[i] >= 0) all_literal = all_literal && is_number(i) && fixed;
    }
    if (!all_literal) rewriter_.copy(node);
    const bool dynamic = data && has_dynamic_result(node, operands);
    for (std::size_t i = 0; i < node.results.size(); ++i) {
      const auto id = node.results[i];
      if (id < 0) continue;
      if (is_number(i)) {
        if (fixed) {
          rewriter_.bind(id, literal(results[i]));
        } else {
          set_type(id, {dtype_of(results[i]), {}});
          varying_.insert(id);
          from_data_.insert(id);
        }
        continue;
      }
      if (data) from_data_.insert(id);
      if (results[i].isTensor() && results[i].toTensor().defined())
        set_result(id, results[i], operands, used,
                   data && varies(id, results[i].toTensor(), dynamic || varying));
    }
  }

  // Memory that data was written into holds data under each name that it has.
  bool holds_data(const c10::IValue& operand) const {
    return operand.isTensor() && operand.toTensor().defined() && operand.toTensor().has_storage() &&
           written_.contains(operand.toTensor().storage().unsafeGetStorageImpl());
  }
  void mark_written(const Node& node, std::span<const c10::IValue> operands) {
    const auto written = written_arguments(node);
    std::size_t use = 0;
    for (std::size_t i = 0; i < node.arguments.size(); ++i) {
      const bool writes = std::find(written.begin(), written.end(), i) != written.end();
      for_each_use(node.arguments[i], [&](ValueId) {
        const auto& operand = operands[use++];
        if (!writes || !operand.isTensor() || !operand.toTensor().defined()) return;
        const auto storage = operand.toTensor().storage();
        if (written_.insert(storage.unsafeGetStorageImpl()).second) kept_.push_back(storage);
      });
    }
  }

  void set_result(ValueId id, const c10::IValue& result, std::span<const c10::IValue> operands,
                  const std::vector<ValueId>& used, bool size_varies) {
    const auto& tensor = result.toTensor();
    if (size_varies) varying_.insert(id);
    set_type(id, {tensor.scalar_type(), tensor.sizes().vec(), size_varies});
    for (std::size_t k = 0; k < operands.size(); ++k) {
      if (!same_memory(result, operands[k])) continue;
      aliases_[new_id(id)] = new_id(used[k]);
      if (tensor.is_same(operands[k].toTensor())) same_tensor_.insert(new_id(id));
      break;
    }
  }

  const Graph& old_;
  std::span<const c10::IValue> inputs_;
  Rewriter rewriter_;
  std::unordered_set<std::string> given_symbols_;
  std::unordered_set<ValueId> from_data_;    ///< what another member or pass may have otherwise
  std::unordered_set<ValueId> varying_;      ///< of these, numbers, and tensors whose size may be another
  std::unordered_set<const void*> written_;  ///< memory that data was written into,
  std::vector<c10::Storage> kept_;           ///< which no other tensor gets meanwhile
  std::unordered_map<ValueId, ValueId> aliases_;
  std::unordered_set<ValueId> same_tensor_;
  std::map<std::size_t, Expansion> expansions_;
};

// The run writes into what it is given; a graph that is run more than once wants copies.
std::vector<c10::IValue> copies(std::span<const c10::IValue> inputs) {
  std::vector<c10::IValue> copied;
  for (const auto& input : inputs)
    copied.push_back(input.isTensor() ? c10::IValue(input.toTensor().clone()) : input);
  return copied;
}

}  // namespace

void check_guards(const Graph& graph, std::span<const c10::IValue> inputs) {
  std::map<std::string, std::int64_t> symbols;
  std::map<std::string, std::string> places;
  std::size_t user = 0;
  for (std::size_t i = 0; i < graph.inputs.size(); ++i) {
    if (graph.inputs[i].kind != InputKind::kUser) continue;
    const auto who = "input." + std::to_string(user++);
    const auto& value = graph.values[static_cast<std::size_t>(graph.inputs[i].value)];
    const auto bind = [&](const std::string& symbol, std::int64_t number, const std::string& place) {
      const auto [found, added] = symbols.emplace(symbol, number);
      if (added) places[symbol] = place;
      if (found->second == number) return;
      throw Error("run", place + " is " + std::to_string(number) + ", " + places[symbol] + " is " +
                             std::to_string(found->second) + "; the model was exported for equal ones");
    };
    if (inputs[i].isInt()) bind(value.name, inputs[i].toInt(), who);
    if (!inputs[i].isTensor() || !value.type) continue;
    for (std::size_t k = 0; k < value.type->sizes.size(); ++k) {
      const auto* size = std::get_if<formats::Expression>(&value.type->sizes[k]);
      if (!size || size->kind != formats::Expression::Kind::kSymbol) continue;
      bind(size->symbol, inputs[i].toTensor().size(static_cast<std::int64_t>(k)),
           who + "'s dimension " + std::to_string(k));
    }
  }
  for (const auto& guard : graph.guards) {
    if (formats::guard_holds(guard, symbols)) continue;
    std::string given;
    for (const auto& [symbol, number] : symbols)
      given +=
          (given.empty() ? "" : ", ") + symbol + " = " + std::to_string(number) + " (" + places[symbol] + ")";
    throw Error("run",
                "these sizes break a condition under which torch.export has traced the model: " + guard +
                    ", where " + given + "; give others, or export the model with sizes like these");
  }
}

Specialized specialize(const Graph& graph, std::span<const c10::IValue> inputs) {
  check_guards(graph, inputs);
  const KeptGenerator kept(graph.device);
  if (std::none_of(graph.nodes.begin(), graph.nodes.end(), is_higher_order))
    return Specializer(graph, inputs).run();
  auto current = graph;
  for (;;) {
    const auto own = copies(inputs);
    Specializer one(current, own);
    auto result = one.run();
    if (one.expansions().empty()) return result;
    current = expand(current, one.expansions());
  }
}

void check_input(const Graph& graph, const GraphInput& input, const at::Tensor& tensor,
                 const std::string& who) {
  const auto& value = graph.values[static_cast<std::size_t>(input.value)];
  if (!value.type) return;
  if (tensor.layout() != at::kStrided || tensor.is_nested() || tensor.is_quantized())
    throw Error("run", who + " is sparse, nested or quantized; give a dense tensor");
  const auto& sizes = value.type->sizes;
  if (tensor.scalar_type() != value.type->dtype) {
    throw Error("run", who + " is " + dtype_name(tensor.scalar_type()) + ", the model wants " +
                           dtype_name(value.type->dtype) + "; convert it");
  }
  bool fits = sizes.size() == static_cast<std::size_t>(tensor.dim());
  std::string wanted = "[";
  for (std::size_t i = 0; i < sizes.size(); ++i) {
    const auto* number = std::get_if<std::int64_t>(&sizes[i]);
    wanted += (i ? ", " : "") + (number ? std::to_string(*number) : std::string("*"));
    if (fits && number && *number != tensor.size(static_cast<std::int64_t>(i))) fits = false;
    const auto* expression = std::get_if<formats::Expression>(&sizes[i]);
    if (!fits || !expression || expression->kind != formats::Expression::Kind::kSymbol) continue;
    const auto range = graph.ranges.find(expression->symbol);
    if (range == graph.ranges.end()) continue;
    const auto extent = tensor.size(static_cast<std::int64_t>(i));
    // Exporters promise 2 and more of a size whose value 1 they have not looked at; one of 1 is still the
    // same graph.
    const bool below = range->second.min && extent < (*range->second.min == 2 ? 1 : *range->second.min);
    if (below || (range->second.max && extent > *range->second.max)) {
      throw Error("run", who + " has " + std::to_string(extent) + " in dimension " + std::to_string(i) +
                             ", the model was exported for " + std::to_string(range->second.min.value_or(0)) +
                             " to " + (range->second.max ? std::to_string(*range->second.max) : "any"));
    }
  }
  if (!fits) {
    const bool other_size = sizes.size() == static_cast<std::size_t>(tensor.dim());
    throw Error("run", who + " is " + shape_text(tensor.sizes()) + ", the model wants " + wanted + "]" +
                           (other_size ? "; dynamic_shapes of torch.export allow other sizes" : ""));
  }
}

}  // namespace wide
