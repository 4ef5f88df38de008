#include "core/strategy/primitive.h"

#include <unordered_map>

#include "core/native/code_cache.h"

namespace wide {

std::optional<std::size_t> Call::operand_of(std::size_t index) const {
  if (index >= node.arguments.size()) return std::nullopt;
  const auto* ref = node.arguments[index].ref();
  if (!ref) return std::nullopt;
  return static_cast<std::size_t>(ref->id);
}

Call without_constants(Call call) {
  for (auto& operand : call.operands) operand.constant.reset();
  return call;
}

const Operand* Call::operand_at(std::size_t index) const {
  const auto operand = operand_of(index);
  return operand ? &operands[*operand] : nullptr;
}

std::int64_t Call::integer(std::size_t index) const {
  const auto& value = node.arguments[index].value;
  if (const auto* flag = std::get_if<bool>(&value)) return *flag;
  return std::get<std::int64_t>(value);
}

bool Call::is_real(std::size_t index) const {
  const auto& value = node.arguments[index].value;
  return std::holds_alternative<std::int64_t>(value) || std::holds_alternative<double>(value);
}

double Call::real(std::size_t index) const {
  const auto& value = node.arguments[index].value;
  if (const auto* number = std::get_if<std::int64_t>(&value)) return static_cast<double>(*number);
  return std::get<double>(value);
}

bool Call::flag(std::size_t index) const {
  return std::get<bool>(node.arguments[index].value);
}

std::vector<std::int64_t> Call::integers(std::size_t index) const {
  const auto& argument = node.arguments[index];
  if (argument.is_none()) return {};
  if (const auto* one = std::get_if<std::int64_t>(&argument.value)) return {*one};
  std::vector<std::int64_t> values;
  for (const auto& item : *argument.list()) values.push_back(std::get<std::int64_t>(item.value));
  return values;
}

std::string missing_code(const Strategy& strategy, const Call& call, const Offer& offer, bool may_compile) {
  if (!strategy.source) return {};
  return native::CodeCache::of_this_user().find(strategy.source(call, offer), kEntry, may_compile).refusal;
}

const Primitive* find_primitive(std::string_view op) {
  static const auto by_op = [] {
    std::unordered_map<std::string_view, const Primitive*> map;
    for (const auto& primitive : primitives()) {
      for (const auto name : primitive.ops) map.emplace(name, &primitive);
    }
    return map;
  }();
  if (const auto found = by_op.find(op); found != by_op.end()) return found->second;
  for (const auto& primitive : primitives()) {
    if (primitive.matches && primitive.matches(op)) return &primitive;
  }
  return nullptr;
}

}  // namespace wide
