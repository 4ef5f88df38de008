// Names of the program's outputs, from the pytree description that stands as JSON inside a JSON string.

#include <optional>

#include "formats/fault.h"
#include "formats/program_parser.h"

namespace wide::formats {
namespace {

constexpr JsonLimits kLimits{.bytes = std::size_t{16} << 20, .depth = 200, .values = 1'000'000};

std::optional<std::string> key_text(const Json& key) {
  if (const auto* text = std::get_if<std::string>(&key.value)) return *text;
  if (const auto* number = std::get_if<std::uint64_t>(&key.value)) return std::to_string(*number);
  if (const auto* number = std::get_if<std::int64_t>(&key.value)) return std::to_string(*number);
  return {};
}

/// The keys when `json` is a list of `count` strings or integers, or an object or list that holds such a
/// list.
std::optional<std::vector<std::string>> keys_in(const Json& json, std::size_t count, int depth = 0) {
  const auto* list = std::get_if<Json::Array>(&json.value);
  if (list && list->size() == count) {
    std::vector<std::string> keys;
    for (const Json& key : *list)
      if (auto text = key_text(key)) keys.push_back(std::move(*text));
    if (keys.size() == count) return keys;
  }
  if (depth == 2) return {};
  if (list)
    for (const Json& item : *list)
      if (auto keys = keys_in(item, count, depth + 1)) return keys;
  if (const auto* object = std::get_if<Json::Object>(&json.value))
    for (const auto& [key, item] : *object)
      if (auto keys = keys_in(item, count, depth + 1)) return keys;
  return {};
}

/// A context is JSON inside a string, or bare text, which carries no keys.
Json parse_context(const std::string& text) {
  try {
    return parse_json(text, kLimits);
  } catch (const Fault&) {
    return {text};
  }
}

/// Fields of a named tuple, keys of a dictionary or of a registered class; nothing for plain sequences.
std::optional<std::vector<std::string>> child_keys(const Json& context, const Json& named_tuples,
                                                   std::size_t count) {
  const auto* text = std::get_if<std::string>(&context.value);
  if (!text) return keys_in(context, count);
  const Json parsed = parse_context(*text);
  if (const auto* type = std::get_if<std::string>(&parsed.value))
    if (const Json* fields = optional_member(named_tuples, *type)) return keys_in(*fields, count);
  return keys_in(parsed, count);
}

void collect(const Json& tree, const Json& named_tuples, const std::string& path,
             std::vector<std::string>& names) {
  const auto& children = as_array(member(tree, "children_spec"), "children_spec");
  if (!optional_member(tree, "type")) {
    if (!children.empty()) throw Fault("a leaf has children");
    names.push_back(path.empty() ? "0" : path);
    return;
  }
  const Json* context = optional_member(tree, "context");
  const auto keys = context ? child_keys(*context, named_tuples, children.size()) : std::nullopt;
  for (std::size_t i = 0; i < children.size(); ++i) {
    const std::string key = keys ? (*keys)[i] : std::to_string(i);
    collect(children[i], named_tuples, path.empty() ? key : path + "." + key, names);
  }
}

}  // namespace

std::vector<std::string> parse_output_names(const Json& graph_module, std::size_t count) {
  const auto& modules = as_array(member(graph_module, "module_call_graph"), "module_call_graph");
  if (modules.empty()) throw Fault("module_call_graph is empty");
  const std::string& text = as_text(member(member(modules[0], "signature"), "out_spec"), "out_spec");
  const Json parsed = parse_json(text, kLimits);
  const auto& spec = as_array(parsed, "out_spec");
  if (spec.size() != 2 || as_integer(spec[0], "the version of out_spec") != 1)
    throw Fault("out_spec is of an unknown version");
  const Json* named_tuples = optional_member(graph_module, "treespec_namedtuple_fields");
  std::vector<std::string> names;
  collect(spec[1], named_tuples ? *named_tuples : Json{Json::Object()}, "", names);
  if (names.size() != count)
    throw Fault("out_spec has " + std::to_string(names.size()) + " leaves for " + std::to_string(count) +
                " outputs");
  return names;
}

}  // namespace wide::formats
