#include "core/passes/pure_form.h"

#include <ATen/core/enum_tag.h>

#include <algorithm>
#include <unordered_map>

#include "core/eager/operators.h"

namespace wide {
namespace {

// Overloads by the name before the last dot: "aten.add" -> {"Tensor", "Scalar", "out", …}.
const std::vector<std::string>& overloads(const std::string& base) {
  static const auto all = [] {
    std::unordered_map<std::string, std::vector<std::string>> map;
    for (const auto& name : c10::Dispatcher::singleton().getAllOpNames()) {
      const auto colons = name.name.find("::");
      if (colons == std::string::npos) continue;
      map[name.name.substr(0, colons) + "." + name.name.substr(colons + 2)].push_back(
          name.overload_name.empty() ? "default" : name.overload_name);
    }
    return map;
  }();
  static const std::vector<std::string> none;
  const auto found = all.find(base);
  return found == all.end() ? none : found->second;
}

// The names that the form without writes may have: relu_ is relu, __ior__ is __or__, normal_ is
// normal_functional; with arguments to write into (add.out) the name is the same.
std::vector<std::string> pure_names(const std::string& base) {
  const auto dot = base.rfind('.');
  const auto stem = base.substr(0, dot + 1), name = base.substr(dot + 1);
  if (name.starts_with("__i") && name.ends_with("__")) return {stem + "__" + name.substr(3)};
  if (!name.ends_with("_")) return {base};
  const auto bare = stem + name.substr(0, name.size() - 1);
  return {bare, bare + "_functional"};
}

// `pure` takes what `writing` takes but for `left_out`; the first may have another name (dropout_ says self,
// dropout says input).
bool same_arguments(const c10::FunctionSchema& pure, const c10::FunctionSchema& writing,
                    const std::vector<std::size_t>& left_out) {
  std::vector<const c10::Argument*> wanted;
  for (std::size_t i = 0; i < writing.arguments().size(); ++i) {
    if (std::find(left_out.begin(), left_out.end(), i) == left_out.end())
      wanted.push_back(&writing.arguments()[i]);
  }
  const auto& given = pure.arguments();
  if (given.size() != wanted.size()) return false;
  for (std::size_t i = 0; i < given.size(); ++i) {
    if (i > 0 && given[i].name() != wanted[i]->name()) return false;
    if (*given[i].type() != *wanted[i]->type()) return false;
  }
  return true;
}

template <typename Fits>
std::optional<PureForm> find_form(const Node& node, bool drop_written, Fits fits) {
  const auto dot = node.op.rfind('.');
  const auto op = find_operator(node.op);
  if (!op || dot == std::string::npos) return std::nullopt;
  const auto written = written_arguments(node);
  const auto left_out = drop_written ? written : std::vector<std::size_t>();
  for (const auto& name : pure_names(node.op.substr(0, dot))) {
    auto candidates = overloads(name);
    // The overload of the same name first: others may take the same arguments.
    std::stable_partition(candidates.begin(), candidates.end(),
                          [&](const std::string& one) { return one == node.op.substr(dot + 1); });
    for (const auto& overload : candidates) {
      const auto pure = find_operator(name + "." + overload);
      if (!pure || pure->schema().is_mutable() || !fits(*pure)) continue;
      if (!same_arguments(pure->schema(), op->schema(), left_out)) continue;
      PureForm form{name + "." + overload, {}};
      for (std::size_t i = 0; i < node.arguments.size(); ++i) {
        if (std::find(left_out.begin(), left_out.end(), i) == left_out.end())
          form.arguments.push_back(node.arguments[i]);
      }
      return form;
    }
  }
  return std::nullopt;
}

bool is_metadata(const c10::OperatorHandle& op) {
  return op.hasTag(at::Tag::inplace_view);
}

}  // namespace

std::optional<PureForm> pure_form(const Node& node) {
  const auto op = find_operator(node.op);
  if (!op || is_metadata(*op)) return std::nullopt;
  const auto written = written_arguments(node);
  const bool in_place = written == std::vector<std::size_t>{0};
  const auto gives_all = [&](const c10::OperatorHandle& pure) {
    const auto& returns = pure.schema().returns();
    return returns.size() >= written.size() &&
           std::none_of(returns.begin(), returns.end(), [](const auto& one) { return one.alias_info(); });
  };
  if (in_place) return find_form(node, false, gives_all);
  // Arguments that are written only, named so in every schema.
  const auto& arguments = op->schema().arguments();
  if (!std::all_of(written.begin(), written.end(),
                   [&](std::size_t i) { return arguments[i].is_out() && arguments[i].kwarg_only(); }))
    return std::nullopt;
  return find_form(node, true, gives_all);
}

std::optional<PureForm> view_form(const Node& node) {
  const auto op = find_operator(node.op);
  if (!op || !is_metadata(*op)) return std::nullopt;
  return find_form(node, false, [](const c10::OperatorHandle& pure) {
    const auto& returns = pure.schema().returns();
    return returns.size() == 1 && returns[0].alias_info() != nullptr;
  });
}

}  // namespace wide
