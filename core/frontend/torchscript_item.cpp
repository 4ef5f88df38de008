#include "core/frontend/torchscript_item.h"

#include <unordered_map>
#include <utility>

namespace wide::torchscript {

Item refused(std::string why) {
  Item item;
  item.refusal = std::move(why);
  return item;
}
Item number_item(Argument argument) {
  Item item;
  item.argument = std::move(argument);
  item.number = true;
  return item;
}
Item plain(Argument argument) {
  Item item;
  item.argument = std::move(argument);
  return item;
}

bool is_number(const c10::TypePtr& type) {
  return type->kind() == c10::TypeKind::IntType || type->kind() == c10::TypeKind::FloatType ||
         type->kind() == c10::TypeKind::BoolType || type->kind() == c10::TypeKind::NumberType;
}
bool is_tensor(const c10::TypePtr& type) {
  return type->isSubtypeOf(*c10::TensorType::get());
}

std::optional<std::string> scalar_operator(std::string_view kind) {
  static const std::unordered_map<std::string_view, std::string_view> names = {
      {"aten::add", "add"},
      {"aten::sub", "sub"},
      {"aten::mul", "mul"},
      {"aten::floordiv", "floordiv"},
      {"aten::floor_divide", "floordiv"},
      {"aten::div", "truediv"},
      {"aten::remainder", "mod"},
      {"aten::neg", "neg"},
      {"aten::pow", "pow"},
      {"aten::eq", "eq"},
      {"aten::ne", "ne"},
      {"aten::lt", "lt"},
      {"aten::le", "le"},
      {"aten::gt", "gt"},
      {"aten::ge", "ge"},
      {"aten::__not__", "not"},
      {"aten::__and__", "and_"},
      {"aten::__or__", "or_"},
      {"aten::sqrt", "sqrt"},
      {"aten::ceil", "ceil"},
      {"aten::floor", "floor"},
      {"prim::max", "max"},
      {"prim::min", "min"}};
  const auto found = names.find(kind);
  if (found == names.end()) return std::nullopt;
  return std::string("sym.").append(found->second);
}

}  // namespace wide::torchscript
