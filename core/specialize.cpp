#include "core/specialize.h"

#include <ATen/ATen.h>

#include <algorithm>
#include <unordered_map>
#include <unordered_set>

#include "core/device.h"
#include "core/interpreter.h"
#include "core/rewriter.h"
#include "core/scalar_ops.h"
#include "core/torch_bridge.h"
#include "formats/error.h"

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

class Specializer {
 public:
  Specializer(const Graph& old, std::span<const c10::IValue> inputs)
      : old_(old), inputs_(inputs), rewriter_(old) {}

  Specialized run() {
    bind_inputs();
    Interpreter(old_).run(
        inputs_, [&](const Node& node, auto operands, auto results) { observe(node, operands, results); });
    rewriter_.copy_outputs();
    Specialized result{std::move(rewriter_.graph()), {}};
    std::erase_if(result.graph.inputs, [&](const auto& input) {
      return !result.graph.values[static_cast<std::size_t>(input.value)].tensor;
    });
    result.graph.ranges.clear();
    result.alias_of.resize(result.graph.values.size());
    for (const auto& [value, target] : aliases_) result.alias_of[static_cast<std::size_t>(value)] = target;
    return result;
  }

 private:
  ValueId new_id(ValueId old_id) const { return rewriter_.bound(old_id).ref()->id; }

  void set_type(ValueId old_id, const at::Tensor& tensor) {
    auto& value = rewriter_.graph().values[static_cast<std::size_t>(new_id(old_id))];
    value.type = as_type({tensor.scalar_type(), tensor.sizes().vec()});
  }

  void bind_inputs() {
    for (std::size_t i = 0; i < old_.inputs.size(); ++i) {
      const auto id = old_.inputs[i].value;
      if (!inputs_[i].isTensor()) {
        rewriter_.bind(id, literal(inputs_[i]));
        continue;
      }
      set_type(id, inputs_[i].toTensor());
      if (old_.inputs[i].kind != InputKind::kConstant) from_data_.insert(id);
    }
  }

  void observe(const Node& node, std::span<const c10::IValue> operands,
               std::span<const c10::IValue> results) {
    bool data = false;
    std::vector<ValueId> used;
    for_each_use(node, [&](ValueId id) {
      used.push_back(id);
      data |= from_data_.contains(id);
    });
    const bool gives_scalar = std::any_of(node.results.begin(), node.results.end(), [&](ValueId id) {
      return id >= 0 && !old_.values[static_cast<std::size_t>(id)].tensor;
    });
    if (is_scalar_op(node.op) || gives_scalar) {
      // Numbers become literals; only sizes may feed them, or tensors that no member can change.
      if (data && !reads_only_shape(node.op) && !is_scalar_op(node.op)) {
        throw Error("specialize",
                    describe(old_, node) +
                        ": a number read out of a tensor decides how the model runs, which may differ "
                        "from member to member; export the model without it");
      }
      for (std::size_t i = 0; i < node.results.size(); ++i) {
        if (node.results[i] >= 0) rewriter_.bind(node.results[i], literal(results[i]));
      }
      return;
    }
    rewriter_.copy(node);
    for (std::size_t i = 0; i < node.results.size(); ++i) {
      const auto id = node.results[i];
      if (id < 0 || !results[i].isTensor()) continue;
      if (data) from_data_.insert(id);
      const auto& tensor = results[i].toTensor();
      if (!tensor.defined()) continue;
      set_type(id, tensor);
      for (std::size_t k = 0; k < operands.size(); ++k) {
        if (!same_memory(results[i], operands[k])) continue;
        aliases_[new_id(id)] = new_id(used[k]);
        break;
      }
    }
  }

  const Graph& old_;
  std::span<const c10::IValue> inputs_;
  Rewriter rewriter_;
  std::unordered_set<ValueId> from_data_;
  std::unordered_map<ValueId, ValueId> aliases_;
};

// What the run draws must not move the caller's random stream.
class KeptGenerator {
 public:
  explicit KeptGenerator(at::Device device)
      : generator_(default_generator(device)), state_(generator_.get_state()) {}
  ~KeptGenerator() { generator_.set_state(state_); }
  KeptGenerator(const KeptGenerator&) = delete;
  KeptGenerator& operator=(const KeptGenerator&) = delete;

 private:
  at::Generator generator_;
  at::Tensor state_;
};

}  // namespace

Specialized specialize(const Graph& graph, std::span<const c10::IValue> inputs) {
  const KeptGenerator kept(graph.device);
  return Specializer(graph, inputs).run();
}

void check_input(const Graph& graph, const GraphInput& input, const at::Tensor& tensor,
                 const std::string& who) {
  const auto& value = graph.values[static_cast<std::size_t>(input.value)];
  if (!value.type) return;
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
    if ((range->second.min && extent < *range->second.min) ||
        (range->second.max && extent > *range->second.max)) {
      throw Error("run", who + " has " + std::to_string(extent) + " in dimension " + std::to_string(i) +
                             ", the model was exported for " + std::to_string(range->second.min.value_or(0)) +
                             " to " + (range->second.max ? std::to_string(*range->second.max) : "any"));
    }
  }
  if (!fits)
    throw Error("run", who + " is " + shape_text(tensor.sizes()) + ", the model wants " + wanted + "]");
}

}  // namespace wide
