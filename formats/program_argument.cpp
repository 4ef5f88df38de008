// The union "Argument": one reader per tag.

#include <limits>
#include <map>

#include "formats/fault.h"
#include "formats/program_parser.h"

namespace wide::formats {
namespace {

constexpr int kDeepestGraph = 16;

struct Reading {
  ProgramParsing& parsing;
  int depth;
};
using ReadValue = Argument (*)(const Json&, const Reading&);

template <class Value>
Argument argument(Value value) {
  return Argument{{std::move(value)}};
}

Argument none(const Json&, const Reading&) {
  return argument(None{});
}
Argument boolean(const Json& json, const Reading&) {
  return argument(as_boolean(json, "as_bool"));
}
Argument integer(const Json& json, const Reading&) {
  // What torch.export compares a size with that data decide: a multiple of the largest integer.
  if (is_beyond_integers(json)) return argument(as_real(json, "as_int"));
  return argument(as_integer(json, "as_int"));
}
Argument real(const Json& json, const Reading&) {
  return argument(as_real(json, "as_float"));
}
Argument text(const Json& json, const Reading&) {
  return argument(as_text(json, "as_string"));
}

Argument tensor(const Json& json, const Reading&) {
  return argument(TensorName{as_text(member(json, "name"), "the name of a tensor")});
}

Argument complex(const Json& json, const Reading&) {
  return argument(
      std::complex<double>(as_real(member(json, "real"), "real"), as_real(member(json, "imag"), "imag")));
}

Argument scalar_type(const Json& json, const Reading& reading) {
  return argument(parse_dtype(json, reading.parsing));
}

Argument memory_format(const Json& json, const Reading& reading) {
  const auto code = as_integer(json, "as_memory_format");
  if (code < 1 || code > 4)
    throw Fault("unknown memory format " + std::to_string(code) + " (file: " + reading.parsing.versions +
                ")");
  return argument(MemoryFormat{static_cast<int>(code)});
}

Argument layout(const Json& json, const Reading& reading) {
  const auto code = as_integer(json, "as_layout");
  if (code < 1 || code > 7)
    throw Fault("unknown layout " + std::to_string(code) + " (file: " + reading.parsing.versions + ")");
  return argument(TensorLayout{static_cast<int>(code)});
}

Argument device(const Json& json, const Reading&) {
  DeviceName result{as_text(member(json, "type"), "the type of a device"), {}};
  if (const Json* index = optional_member(json, "index")) {
    const auto number = as_integer(*index, "the index of a device");
    if (number < -1 || number > std::numeric_limits<std::int8_t>::max())
      throw Fault("device index " + std::to_string(number) + " is out of range");
    result.index = static_cast<int>(number);
  }
  return argument(std::move(result));
}

Argument operator_name(const Json& json, const Reading&) {
  return argument(OperatorName{as_text(json, "as_operator")});
}

Argument graph(const Json& json, const Reading& reading) {
  if (reading.depth >= kDeepestGraph) throw Fault("graphs nested deeper than 16 levels are not supported");
  const std::string& name = as_text(member(json, "name"), "the name of a graph");
  return within(
      [&] { return "graph " + quote(name); },
      [&] {
        Subgraph nested = parse_graph(member(json, "graph"), reading.parsing, reading.depth + 1);
        return argument(std::shared_ptr<const Subgraph>(std::make_shared<Subgraph>(std::move(nested))));
      });
}

/// A union within the union: its tags are fewer.
Argument tagged(const Json& json, const Reading& reading,
                std::initializer_list<std::pair<const char*, ReadValue>> tags, const char* what) {
  const auto [tag, value] = as_tagged(json, what);
  for (const auto& [known, read] : tags)
    if (tag == known) return read(value, reading);
  throw Fault("unknown tag " + quote(tag) + " of " + what + " (file: " + reading.parsing.versions + ")");
}

Argument symbol(const Json& json, const Reading&) {
  return argument(SymbolName{as_text(json, "the name of a symbolic value")});
}
Argument symbolic_int(const Json& json, const Reading& reading) {
  return tagged(json, reading, {{"as_name", symbol}, {"as_int", integer}}, "a symbolic integer");
}
Argument symbolic_bool(const Json& json, const Reading& reading) {
  return tagged(json, reading, {{"as_name", symbol}, {"as_bool", boolean}}, "a symbolic bool");
}
Argument symbolic_float(const Json& json, const Reading& reading) {
  return tagged(json, reading, {{"as_name", symbol}, {"as_float", real}}, "a symbolic float");
}
Argument optional_tensor(const Json& json, const Reading& reading) {
  return tagged(json, reading, {{"as_tensor", tensor}, {"as_none", none}}, "an optional tensor");
}

template <ReadValue read>
Argument list(const Json& json, const Reading& reading) {
  std::vector<Argument> items;
  for (const Json& item : as_array(json, "a list argument")) items.push_back(read(item, reading));
  return argument(std::move(items));
}

Argument custom_object(const Json& json, const Reading&) {
  throw Fault("custom object of class " + quote(as_text(member(json, "class_fqn"), "class_fqn")) +
              " is not supported; export the model without it");
}
Argument dictionary(const Json&, const Reading&) {
  throw Fault(
      "a dictionary argument (as_string_to_argument) is not supported; export the model without that "
      "operator");
}

const std::map<std::string_view, ReadValue>& readers() {
  static const std::map<std::string_view, ReadValue> table = {
      {"as_none", none},
      {"as_tensor", tensor},
      {"as_tensors", list<tensor>},
      {"as_optional_tensor", optional_tensor},
      {"as_optional_tensors", list<optional_tensor>},
      {"as_nested_tensors", list<list<tensor>>},
      {"as_bool", boolean},
      {"as_bools", list<boolean>},
      {"as_int", integer},
      {"as_ints", list<integer>},
      {"as_int_lists", list<list<integer>>},
      {"as_float", real},
      {"as_floats", list<real>},
      {"as_float_lists", list<list<real>>},
      {"as_complex", complex},
      {"as_string", text},
      {"as_strings", list<text>},
      {"as_sym_int", symbolic_int},
      {"as_sym_ints", list<symbolic_int>},
      {"as_sym_bool", symbolic_bool},
      {"as_sym_bools", list<symbolic_bool>},
      {"as_sym_float", symbolic_float},
      {"as_sym_floats", list<symbolic_float>},
      {"as_scalar_type", scalar_type},
      {"as_memory_format", memory_format},
      {"as_layout", layout},
      {"as_device", device},
      {"as_operator", operator_name},
      {"as_graph", graph},
      {"as_custom_obj", custom_object},
      {"as_string_to_argument", dictionary},
  };
  return table;
}

}  // namespace

Argument parse_argument(const Json& json, ProgramParsing& parsing, int depth) {
  const auto [tag, value] = as_tagged(json, "an argument");
  const auto found = readers().find(tag);
  if (found == readers().end())
    throw Fault("unknown kind of argument " + quote(tag) + " (file: " + parsing.versions +
                "; known: schema 8.20); use a newer version of this program");
  return found->second(value, {parsing, depth});
}

}  // namespace wide::formats
