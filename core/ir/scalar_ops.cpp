#include "core/ir/scalar_ops.h"

#include <cmath>
#include <unordered_map>

#include "formats/error.h"

namespace wide {
namespace {

using Operands = std::span<const c10::IValue>;

[[noreturn]] void fail(std::string_view op, std::string_view why) {
  throw Error("run", std::string(op) + ": " + std::string(why));
}

bool all_int(Operands in) {
  for (const auto& value : in) {
    if (!value.isInt() && !value.isBool()) return false;
  }
  return true;
}

std::int64_t integer(const c10::IValue& value) {
  return value.isBool() ? value.toBool() : value.toInt();
}
double real(const c10::IValue& value) {
  return value.isDouble() ? value.toDouble() : static_cast<double>(integer(value));
}

template <typename Checked, typename Real>
c10::IValue arithmetic(Operands in, Checked checked, Real on_reals) {
  if (!all_int(in)) return on_reals(real(in[0]), real(in[1]));
  std::int64_t result = 0;
  if (checked(integer(in[0]), integer(in[1]), &result)) fail("size arithmetic", "overflow");
  return result;
}

std::int64_t floor_div(std::int64_t a, std::int64_t b) {
  if (b == 0) fail("sym.floordiv", "division by zero");
  if (b == -1) {
    std::int64_t negated = 0;
    if (__builtin_sub_overflow(std::int64_t{0}, a, &negated)) fail("sym.floordiv", "overflow");
    return negated;
  }
  const auto quotient = a / b;
  return (a % b != 0 && (a < 0) != (b < 0)) ? quotient - 1 : quotient;
}

std::int64_t power(std::int64_t base, std::int64_t exponent) {
  if (exponent < 0) fail("sym.pow", "negative exponent");
  std::int64_t result = 1;
  for (; exponent > 0; --exponent) {
    if (__builtin_mul_overflow(result, base, &result)) fail("sym.pow", "overflow");
    if (result == 0 || result == 1) break;
  }
  return result;
}

struct ScalarOp {
  std::size_t arity;
  c10::IValue (*run)(Operands);
};

const std::unordered_map<std::string_view, ScalarOp>& table() {
  static const std::unordered_map<std::string_view, ScalarOp> ops = {
      {"add",
       {2,
        [](Operands in) {
          return arithmetic(
              in, [](auto a, auto b, auto* r) { return __builtin_add_overflow(a, b, r); },
              [](double a, double b) { return c10::IValue(a + b); });
        }}},
      {"sub",
       {2,
        [](Operands in) {
          return arithmetic(
              in, [](auto a, auto b, auto* r) { return __builtin_sub_overflow(a, b, r); },
              [](double a, double b) { return c10::IValue(a - b); });
        }}},
      {"mul",
       {2,
        [](Operands in) {
          return arithmetic(
              in, [](auto a, auto b, auto* r) { return __builtin_mul_overflow(a, b, r); },
              [](double a, double b) { return c10::IValue(a * b); });
        }}},
      {"floordiv",
       {2,
        [](Operands in) -> c10::IValue {
          if (!all_int(in)) return std::floor(real(in[0]) / real(in[1]));
          return floor_div(integer(in[0]), integer(in[1]));
        }}},
      {"mod",
       {2,
        [](Operands in) -> c10::IValue {
          const auto a = integer(in[0]), b = integer(in[1]);
          return a - floor_div(a, b) * b;
        }}},
      {"truediv", {2, [](Operands in) { return c10::IValue(real(in[0]) / real(in[1])); }}},
      {"pow",
       {2,
        [](Operands in) -> c10::IValue {
          if (!all_int(in)) return std::pow(real(in[0]), real(in[1]));
          return power(integer(in[0]), integer(in[1]));
        }}},
      {"neg",
       {1,
        [](Operands in) -> c10::IValue {
          if (!all_int(in)) return -real(in[0]);
          return -integer(in[0]);
        }}},
      {"max", {2, [](Operands in) { return real(in[0]) >= real(in[1]) ? in[0] : in[1]; }}},
      {"min", {2, [](Operands in) { return real(in[0]) <= real(in[1]) ? in[0] : in[1]; }}},
      {"float", {1, [](Operands in) { return c10::IValue(real(in[0])); }}},
      {"int", {1, [](Operands in) { return c10::IValue(static_cast<std::int64_t>(real(in[0]))); }}},
      {"sqrt", {1, [](Operands in) { return c10::IValue(std::sqrt(real(in[0]))); }}},
      {"ceil",
       {1, [](Operands in) { return c10::IValue(static_cast<std::int64_t>(std::ceil(real(in[0])))); }}},
      {"floor",
       {1, [](Operands in) { return c10::IValue(static_cast<std::int64_t>(std::floor(real(in[0])))); }}},
      {"eq", {2, [](Operands in) { return c10::IValue(real(in[0]) == real(in[1])); }}},
      {"ne", {2, [](Operands in) { return c10::IValue(real(in[0]) != real(in[1])); }}},
      {"lt", {2, [](Operands in) { return c10::IValue(real(in[0]) < real(in[1])); }}},
      {"le", {2, [](Operands in) { return c10::IValue(real(in[0]) <= real(in[1])); }}},
      {"gt", {2, [](Operands in) { return c10::IValue(real(in[0]) > real(in[1])); }}},
      {"ge", {2, [](Operands in) { return c10::IValue(real(in[0]) >= real(in[1])); }}},
      {"not", {1, [](Operands in) { return c10::IValue(real(in[0]) == 0.0); }}},
      {"and_", {2, [](Operands in) { return c10::IValue(real(in[0]) != 0.0 && real(in[1]) != 0.0); }}},
      {"or_", {2, [](Operands in) { return c10::IValue(real(in[0]) != 0.0 || real(in[1]) != 0.0); }}},
  };
  return ops;
}

constexpr std::string_view kPrefix = "sym.";

}  // namespace

std::optional<std::string> scalar_op_name(std::string_view target) {
  static const std::unordered_map<std::string_view, std::string_view> python = {
      {"torch.sym_max", "max"},    {"torch.sym_min", "min"},  {"torch.sym_float", "float"},
      {"torch.sym_int", "int"},    {"torch.sym_not", "not"},  {"math.ceil", "ceil"},
      {"math.floor", "floor"},     {"math.trunc", "int"},     {"torch.sym_sqrt", "sqrt"},
      {"torch._sym_sqrt", "sqrt"}, {"_operator.not_", "not"}, {"torch.sym_ite", "ite"},
  };
  std::string_view stem;
  if (const auto found = python.find(target); found != python.end()) stem = found->second;
  if (target.starts_with("_operator.")) {
    if (stem.empty()) stem = target.substr(std::string_view("_operator.").size());
  }
  if (!table().contains(stem)) return std::nullopt;
  return std::string(kPrefix) + std::string(stem);
}

bool is_scalar_op(std::string_view op) {
  return op.starts_with(kPrefix);
}

c10::IValue scalar_constant(std::string_view op, const Argument& argument) {
  if (const auto* number = std::get_if<std::int64_t>(&argument.value)) return *number;
  if (const auto* number = std::get_if<double>(&argument.value)) return *number;
  if (const auto* flag = std::get_if<bool>(&argument.value)) return *flag;
  fail(op, "an operand is neither a number nor a bool");
}

c10::IValue run_scalar_op(std::string_view op, Operands operands) {
  const auto found = table().find(op.substr(kPrefix.size()));
  if (found == table().end()) fail(op, "unknown operator on sizes");
  if (operands.size() != found->second.arity) fail(op, "wrong number of operands");
  return found->second.run(operands);
}

}  // namespace wide
