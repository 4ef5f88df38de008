// Graphs: nodes, the descriptions of their values, and that every value is defined once, before its use.

#include <set>

#include "formats/fault.h"
#include "formats/program_parser.h"

namespace wide::formats {
namespace {

constexpr std::size_t kMostNodes = 200'000;
constexpr std::size_t kMostValues = 1'000'000;
constexpr std::int64_t kPositional = 1, kKeyword = 2;

void count_values(const Json::Object& entries, ProgramParsing& parsing) {
  parsing.values += entries.size();
  if (parsing.values > kMostValues)
    throw Fault("more than " + std::to_string(kMostValues) + " values; export a smaller model");
}

void parse_values(const Json& json, Subgraph& graph, ProgramParsing& parsing) {
  const auto& tensors = as_object(member(json, "tensor_values"), "tensor_values");
  count_values(tensors, parsing);
  for (const auto& entry : tensors)
    graph.tensors.emplace(entry.key, within([&] { return "tensor " + quote(entry.key); },
                                            [&] { return parse_tensor_meta(entry.value, parsing); }));
  const auto& integers = as_object(member(json, "sym_int_values"), "sym_int_values");
  count_values(integers, parsing);
  for (const auto& entry : integers)
    graph.symbolic_ints.emplace(entry.key, within([&] { return "symbolic integer " + quote(entry.key); },
                                                  [&] { return parse_symbolic_int(entry.value); }));
  if (const Json* objects = optional_member(json, "custom_obj_values");
      objects && !as_object(*objects, "custom_obj_values").empty())
    throw Fault("custom objects are not supported; export the model without them");
}

// nn_module_stack is "key,path,type" of each module from the outside in, joined by ";". Keys and types may
// hold brackets and quotes with "," and ";" inside.
std::vector<std::string_view> split_outside_brackets(std::string_view text, char separator) {
  std::vector<std::string_view> parts;
  std::size_t begin = 0;
  int depth = 0;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] == '[' || text[i] == '(') ++depth;
    if (text[i] == ']' || text[i] == ')') --depth;
    if (text[i] != separator || depth > 0) continue;
    parts.push_back(text.substr(begin, i - begin));
    begin = i + 1;
  }
  parts.push_back(text.substr(begin));
  return parts;
}

std::string innermost_module(const Json& metadata) {
  const std::string* stack = text_if(optional_member(metadata, "nn_module_stack"));
  if (!stack) return {};
  const auto modules = split_outside_brackets(*stack, ';');
  const auto fields = split_outside_brackets(modules.back(), ',');
  if (fields.size() < 3 || fields[0] == "_empty_nn_module_stack_from_metadata_hook") return {};
  return std::string(fields[1]);
}

NamedArgument parse_named_argument(const Json& json, ProgramParsing& parsing, int depth) {
  NamedArgument result;
  result.name = as_text(member(json, "name"), "the name of an argument");
  result.value = within([&] { return "argument " + quote(result.name); },
                        [&] { return parse_argument(member(json, "arg"), parsing, depth); });
  if (const Json* kind = optional_member(json, "kind")) {
    const auto code = as_integer(*kind, "the kind of an argument");
    if (code != kPositional && code != kKeyword)
      throw Fault("argument " + quote(result.name) + " is neither positional nor a keyword (kind " +
                  std::to_string(code) + ")");
    result.keyword = code == kKeyword;
  }
  return result;
}

ProgramNode parse_node(const Json& json, ProgramParsing& parsing, int depth) {
  ProgramNode node;
  node.target = as_text(member(json, "target"), "target");
  for (const Json& input : as_array(member(json, "inputs"), "inputs"))
    node.inputs.push_back(parse_named_argument(input, parsing, depth));
  for (const Json& output : as_array(member(json, "outputs"), "outputs"))
    node.outputs.push_back(
        within([] { return "output"; }, [&] { return parse_argument(output, parsing, depth); }));
  if (const Json* name = optional_member(json, "name")) node.name = as_text(*name, "name");
  if (const Json* metadata = optional_member(json, "metadata"))
    node.module_path = innermost_module(*metadata);
  return node;
}

std::string describe(const Json& json, std::size_t index) {
  std::string result = "node " + std::to_string(index);
  if (!std::holds_alternative<Json::Object>(json.value)) return result;
  if (const std::string* name = text_if(optional_member(json, "name"))) result += " " + quote(*name);
  if (const std::string* target = text_if(optional_member(json, "target")))
    result += " (" + quote(*target) + ")";
  return result;
}

/// Names of values, to see that each is defined once and before it is used.
class Scope {
 public:
  explicit Scope(const Subgraph& graph) : graph_(graph) {}

  void define(const Argument& argument) {
    if (const auto* tensor = std::get_if<TensorName>(&argument.value)) {
      if (!graph_.tensors.contains(tensor->name))
        throw Fault("tensor " + quote(tensor->name) +
                    " is not described in tensor_values; export the model again");
      add(tensor->name);
    } else if (const auto* symbol = std::get_if<SymbolName>(&argument.value)) {
      add(symbol->name);
    } else if (const auto* items = std::get_if<std::vector<Argument>>(&argument.value)) {
      for (const auto& item : *items) define(item);
    }
  }

  void use(const Argument& argument) const {
    if (const auto* tensor = std::get_if<TensorName>(&argument.value)) {
      check(tensor->name);
      if (!graph_.tensors.contains(tensor->name))
        throw Fault(quote(tensor->name) + " is used as a tensor but is none");
    } else if (const auto* symbol = std::get_if<SymbolName>(&argument.value)) {
      check(symbol->name);
    } else if (const auto* items = std::get_if<std::vector<Argument>>(&argument.value)) {
      for (const auto& item : *items) use(item);
    }
  }

 private:
  void add(const std::string& name) {
    if (!names_.insert(name).second)
      throw Fault("value " + quote(name) + " is defined twice; export the model again");
  }
  void check(const std::string& name) const {
    if (!names_.contains(name))
      throw Fault("value " + quote(name) + " is used before it is defined; export the model again");
  }

  const Subgraph& graph_;
  std::set<std::string, std::less<>> names_;
};

bool is_result(const Argument& argument) {
  if (const auto* items = std::get_if<std::vector<Argument>>(&argument.value)) {
    for (const auto& item : *items)
      if (!is_result(item)) return false;
    return true;
  }
  return std::holds_alternative<TensorName>(argument.value) ||
         std::holds_alternative<SymbolName>(argument.value) || std::holds_alternative<None>(argument.value);
}

void add_node(const ProgramNode& node, Scope& scope) {
  for (const auto& input : node.inputs)
    within([&] { return "argument " + quote(input.name); }, [&] { scope.use(input.value); });
  for (const auto& output : node.outputs) {
    if (!is_result(output))
      throw Fault("an output is neither a tensor nor a symbolic value, which is not supported");
    scope.define(output);
  }
}

}  // namespace

Subgraph parse_graph(const Json& json, ProgramParsing& parsing, int depth) {
  Subgraph graph;
  parse_values(json, graph, parsing);
  Scope scope(graph);
  for (const Json& input : as_array(member(json, "inputs"), "inputs")) {
    graph.inputs.push_back(
        within([] { return "graph input"; }, [&] { return parse_argument(input, parsing, depth); }));
    within([] { return "graph input"; }, [&] { scope.define(graph.inputs.back()); });
  }
  const auto& nodes = as_array(member(json, "nodes"), "nodes");
  parsing.nodes += nodes.size();
  if (parsing.nodes > kMostNodes)
    throw Fault("more than " + std::to_string(kMostNodes) + " nodes; export a smaller model");
  graph.nodes.reserve(nodes.size());
  for (std::size_t i = 0; i < nodes.size(); ++i) {
    within([&] { return describe(nodes[i], i); },
           [&] {
             graph.nodes.push_back(parse_node(nodes[i], parsing, depth));
             add_node(graph.nodes.back(), scope);
           });
  }
  for (const Json& output : as_array(member(json, "outputs"), "outputs")) {
    graph.outputs.push_back(
        within([] { return "graph output"; }, [&] { return parse_argument(output, parsing, depth); }));
    within([] { return "graph output"; }, [&] { scope.use(graph.outputs.back()); });
  }
  return graph;
}

}  // namespace wide::formats
