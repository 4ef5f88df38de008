#include "core/eager/operators.h"

#include <ATen/ScalarOps.h>
#include <ATen/core/enum_tag.h>
#include <ATen/core/jit_type.h>

#include <algorithm>
#include <array>

#include "core/eager/higher_order.h"
#include "core/ir/scalar_ops.h"
#include "formats/error.h"

namespace wide {
namespace {

// "aten.linear.default" -> {"aten::linear", ""}; "aten.mean.dim" -> {"aten::mean", "dim"}.
std::optional<c10::OperatorName> dispatcher_name(std::string_view op) {
  const auto first = op.find('.');
  const auto last = op.rfind('.');
  if (first == std::string_view::npos || last == first) return std::nullopt;
  const std::string base =
      std::string(op.substr(0, first)) + "::" + std::string(op.substr(first + 1, last - first - 1));
  const auto overload = op.substr(last + 1);
  return c10::OperatorName(base, overload == "default" ? "" : std::string(overload));
}

// Operators whose dropout has a probability, and perhaps a training flag, among their arguments.
struct InnerDropout {
  std::string_view op;
  std::optional<std::size_t> probability, training;
};
constexpr std::array kInnerDropout = {
    InnerDropout{"aten.scaled_dot_product_attention.default", 4, std::nullopt},
    InnerDropout{"aten.lstm.input", 5, 6},
    InnerDropout{"aten.gru.input", 5, 6},
    InnerDropout{"aten.rnn_tanh.input", 5, 6},
    InnerDropout{"aten.rnn_relu.input", 5, 6},
    InnerDropout{"aten.rrelu.default", std::nullopt, 3},
    InnerDropout{"aten.rrelu_.default", std::nullopt, 3},
    InnerDropout{"aten.dropout.default", 1, 2},
    InnerDropout{"aten.dropout_.default", 1, 2},
    InnerDropout{"aten.alpha_dropout.default", 1, 2},
    InnerDropout{"aten.alpha_dropout_.default", 1, 2},
    InnerDropout{"aten.feature_dropout.default", 1, 2},
    InnerDropout{"aten.feature_dropout_.default", 1, 2},
    InnerDropout{"aten.feature_alpha_dropout.default", 1, 2},
    InnerDropout{"aten.feature_alpha_dropout_.default", 1, 2},
};

[[noreturn]] void misfit(const Node& node, const c10::Argument& schema, std::string_view why) {
  throw Error("capture", node.op + ": argument '" + schema.name() + "' " + std::string(why) +
                             " (the schema wants " + schema.type()->str() + ")");
}

bool accepts_tensor(const c10::TypePtr& type) {
  return type->isSubtypeOf(*c10::TensorType::get());
}

c10::TypePtr unwrap_optional(const c10::TypePtr& type) {
  const auto optional = type->cast<c10::OptionalType>();
  return optional ? optional->getElementType() : type;
}

c10::IValue box(const Node& node, const c10::Argument& schema, const Argument& argument,
                const c10::TypePtr& type);

c10::IValue box_list(const Node& node, const c10::Argument& schema, const Argument::List& items,
                     const c10::TypePtr& element) {
  c10::impl::GenericList list(element);
  list.reserve(items.size());
  for (const auto& item : items) list.push_back(box(node, schema, item, element));
  return c10::IValue(std::move(list));
}

// A constant as the schema wants it.
c10::IValue box(const Node& node, const c10::Argument& schema, const Argument& argument,
                const c10::TypePtr& declared) {
  if (argument.is_none()) return {};
  const auto type = unwrap_optional(declared);
  const bool wants_tensor = accepts_tensor(type);
  const bool wants_float = type->kind() == c10::TypeKind::FloatType;
  return std::visit(
      [&](const auto& value) -> c10::IValue {
        using T = std::decay_t<decltype(value)>;
        if constexpr (std::is_same_v<T, std::monostate> || std::is_same_v<T, ValueRef>) {
          misfit(node, schema, "is not a constant");
        } else if constexpr (std::is_same_v<T, bool>) {
          if (wants_tensor) return at::native::wrapped_scalar_tensor(at::Scalar(value));
          return value;
        } else if constexpr (std::is_same_v<T, std::int64_t>) {
          if (wants_tensor) return at::native::wrapped_scalar_tensor(at::Scalar(value));
          if (wants_float) return static_cast<double>(value);
          return value;
        } else if constexpr (std::is_same_v<T, double>) {
          if (wants_tensor) return at::native::wrapped_scalar_tensor(at::Scalar(value));
          return value;
        } else if constexpr (std::is_same_v<T, std::complex<double>>) {
          const c10::complex<double> number(value.real(), value.imag());
          if (wants_tensor) return at::native::wrapped_scalar_tensor(at::Scalar(number));
          return number;
        } else if constexpr (std::is_same_v<T, at::ScalarType> || std::is_same_v<T, at::MemoryFormat> ||
                             std::is_same_v<T, at::Layout>) {
          return static_cast<std::int64_t>(value);
        } else if constexpr (std::is_same_v<T, Argument::List>) {
          const auto list = type->cast<c10::ListType>();
          if (!list) misfit(node, schema, "is a list");
          return box_list(node, schema, value, list->getElementType());
        } else {
          return c10::IValue(value);
        }
      },
      argument.value);
}

bool has_ref(const Argument::List& items) {
  return std::any_of(items.begin(), items.end(), [](const Argument& item) { return item.ref() != nullptr; });
}

void spread(c10::IValue value, std::vector<c10::IValue>& results) {
  if (value.isTensorList()) {
    for (const auto& tensor : value.toTensorList()) results.emplace_back(at::Tensor(tensor));
  } else if (value.isSymInt()) {
    results.emplace_back(value.toSymInt().guard_int(__FILE__, __LINE__));
  } else {
    results.push_back(std::move(value));
  }
}

}  // namespace

std::optional<c10::OperatorHandle> find_operator(std::string_view op) {
  const auto name = dispatcher_name(op);
  if (!name) return std::nullopt;
  return c10::Dispatcher::singleton().findSchema(*name);
}

c10::OperatorHandle require_operator(const Graph& graph, const Node& node) {
  const auto op = find_operator(node.op);
  if (!op) {
    throw Error("capture", describe(graph, node) +
                               ": unknown operator, no library registers it; export the model "
                               "with operators of ATen only");
  }
  return *op;
}

std::optional<std::size_t> argument_index(const c10::FunctionSchema& schema, std::string_view name) {
  for (std::size_t i = 0; i < schema.arguments().size(); ++i) {
    if (schema.arguments()[i].name() == name) return i;
  }
  return std::nullopt;
}

Argument to_argument(const c10::IValue& value) {
  if (value.isNone()) return {};
  if (value.isBool()) return {value.toBool()};
  if (value.isInt()) return {value.toInt()};
  if (value.isSymInt()) return {value.toSymInt().guard_int(__FILE__, __LINE__)};
  if (value.isDouble()) return {value.toDouble()};
  if (value.isComplexDouble()) {
    const auto number = value.toComplexDouble();
    return {std::complex<double>(number.real(), number.imag())};
  }
  if (value.isString()) return {value.toStringRef()};
  if (value.isDevice()) return {value.toDevice()};
  if (value.isList()) {
    Argument::List items;
    for (const auto& item : value.toListRef()) items.push_back(to_argument(item));
    return {std::move(items)};
  }
  throw Error("capture", "a default of type " + value.tagKind() + " is not supported");
}

bool is_random(const c10::OperatorHandle& op) {
  return op.hasTag(at::Tag::nondeterministic_seeded);
}

bool draws_random(const Graph& graph) {
  return std::ranges::any_of(graph.nodes, [](const Node& node) { return draws_random(node); });
}

bool draws_random(const Node& node) {
  if (std::ranges::any_of(node.bodies, [](const auto& body) { return draws_random(*body); })) return true;
  for (const auto& inner : kInnerDropout) {
    if (node.op != inner.op) continue;
    if (inner.training && node.arguments[*inner.training] == Argument{false}) return false;
    return !inner.probability || node.arguments[*inner.probability] != Argument{0.0};
  }
  const auto op = find_operator(node.op);
  return op && is_random(*op);
}

bool is_pointwise(const c10::OperatorHandle& op) {
  return op.hasTag(at::Tag::pointwise);
}

std::vector<std::size_t> written_arguments(const Node& node) {
  std::vector<std::size_t> written;
  const auto op = find_operator(node.op);
  if (!op || !op->schema().is_mutable()) return written;
  for (std::size_t i = 0; i < op->schema().arguments().size(); ++i) {
    const auto* alias = op->schema().arguments()[i].alias_info();
    if (alias && alias->isWrite()) written.push_back(i);
  }
  return written;
}

PreparedCall::PreparedCall(const Node& node) {
  if (is_scalar_op(node.op)) {
    scalar_op_ = node.op;
    for (std::size_t i = 0; i < node.arguments.size(); ++i) {
      if (const auto* ref = node.arguments[i].ref()) {
        patches_.push_back({i, static_cast<std::size_t>(ref->id)});
        stack_.emplace_back();
      } else {
        stack_.push_back(scalar_constant(node.op, node.arguments[i]));
      }
    }
    return;
  }
  if (is_higher_order(node)) {
    higher_order_ = std::make_shared<const HigherOrderCall>(node);
    return;
  }
  op_ = find_operator(node.op);
  if (!op_) throw Error("capture", node.op + ": unknown operator, no library registers it");
  check_ = argument_check(node.op);
  const auto& schema = op_->schema().arguments();
  if (node.arguments.size() != schema.size()) {
    throw Error("capture", node.op + ": " + std::to_string(node.arguments.size()) +
                               " arguments, the schema has " + std::to_string(schema.size()));
  }
  for (std::size_t i = 0; i < schema.size(); ++i) {
    const auto& argument = node.arguments[i];
    if (const auto* ref = argument.ref()) {
      patches_.push_back(
          {i, static_cast<std::size_t>(ref->id), accepts_tensor(unwrap_optional(schema[i].type()))});
      stack_.emplace_back();
      continue;
    }
    const auto* items = argument.list();
    if (items && has_ref(*items)) {
      const auto list = unwrap_optional(schema[i].type())->cast<c10::ListType>();
      if (!list) misfit(node, schema[i], "is a list");
      ListPatch patch{i, list->getElementType(), {}, {}};
      for (const auto& item : *items) {
        const auto* ref = item.ref();
        patch.operands.push_back(ref ? std::optional<std::size_t>(static_cast<std::size_t>(ref->id))
                                     : std::nullopt);
        patch.constants.push_back(ref ? c10::IValue() : box(node, schema[i], item, patch.element));
      }
      list_patches_.push_back(std::move(patch));
      stack_.emplace_back();
      continue;
    }
    stack_.push_back(box(node, schema[i], argument, schema[i].type()));
  }
}

void PreparedCall::run(std::span<const c10::IValue> operands, std::vector<c10::IValue>& results) const {
  if (higher_order_) return higher_order_->run(operands, results);
  std::vector<c10::IValue> stack = stack_;
  for (const auto& patch : patches_) {
    const auto& operand = operands[patch.operand];
    stack[patch.argument] = patch.tensor && operand.isScalar()
                                ? c10::IValue(at::native::wrapped_scalar_tensor(operand.toScalar()))
                                : operand;
  }
  for (const auto& patch : list_patches_) {
    c10::impl::GenericList list(patch.element);
    list.reserve(patch.operands.size());
    for (std::size_t i = 0; i < patch.operands.size(); ++i) {
      list.push_back(patch.operands[i] ? operands[*patch.operands[i]] : patch.constants[i]);
    }
    stack[patch.argument] = c10::IValue(std::move(list));
  }
  results.clear();
  if (!op_) {
    results.push_back(run_scalar_op(scalar_op_, stack));
    return;
  }
  if (check_ != nullptr) check_(stack);
  op_->callBoxed(&stack);
  for (auto& value : stack) spread(std::move(value), results);
}

}  // namespace wide
