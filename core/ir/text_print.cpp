#include <ATen/ATen.h>

#include <charconv>
#include <cmath>

#include "core/aten/torch_bridge.h"
#include "core/ir/text.h"
#include "core/ir/text_names.h"

namespace wide {
namespace {

std::string quote(std::string_view text) {
  std::string result = "\"";
  for (const char c : text) {
    const auto code = static_cast<unsigned char>(c);
    if (c == '"' || c == '\\') {
      result += '\\';
      result += c;
    } else if (code < 0x20 || code == 0x7f) {
      constexpr std::string_view kHex = "0123456789abcdef";
      result += "\\x";
      result += kHex[code >> 4];
      result += kHex[code & 15];
    } else {
      result += c;
    }
  }
  return result + "\"";
}

std::string number(double value) {
  if (std::isnan(value)) return "nan";
  if (std::isinf(value)) return value > 0 ? "inf" : "-inf";
  char buffer[64];
  const auto end = std::to_chars(buffer, buffer + sizeof buffer, value).ptr;
  std::string text(buffer, end);
  if (text.find_first_of(".en") == std::string::npos) text += ".0";
  return text;
}

std::string size_text(const formats::SymbolicInt& size) {
  if (const auto* value = std::get_if<std::int64_t>(&size)) return std::to_string(*value);
  return print_expression(std::get<formats::Expression>(size));
}

std::string type_text(const Value& value) {
  if (!value.tensor) return value.type ? " : scalar " + dtype_name(value.type->dtype) : " : scalar";
  if (!value.type) return "";
  std::string text = " : " + dtype_name(value.type->dtype) + "[";
  for (std::size_t i = 0; i < value.type->sizes.size(); ++i)
    text += (i ? ", " : "") + size_text(value.type->sizes[i]);
  return text + (value.type->varies ? "] varies" : "]");
}

// The lines of a body, indented, without the one of its name.
std::string body_text(const Graph& body) {
  const auto lines = print(body);
  std::string text = "{\n";
  for (auto start = lines.find('\n') + 1; start < lines.size();) {
    const auto end = lines.find('\n', start);
    text.append("  ").append(lines, start, end - start).append("\n");
    start = end + 1;
  }
  return text + "}";
}

std::string value_text(const Graph& graph, ValueId id) {
  return id < 0 ? "%_" : "%" + graph.values[static_cast<std::size_t>(id)].name;
}

}  // namespace

std::string print_expression(const formats::Expression& expression) {
  using Kind = formats::Expression::Kind;
  if (expression.kind == Kind::kInteger) return std::to_string(expression.integer);
  if (expression.kind == Kind::kSymbol) return expression.symbol;
  std::string text;
  for (const auto& [name, kind] : kExpressionNames) {
    if (kind == expression.kind) text = name;
  }
  text += "(";
  for (std::size_t i = 0; i < expression.operands.size(); ++i) {
    text += (i ? ", " : "") + print_expression(expression.operands[i]);
  }
  return text + ")";
}

std::string print(const Graph& graph, const Argument& argument) {
  return std::visit(
      [&](const auto& value) -> std::string {
        using T = std::decay_t<decltype(value)>;
        if constexpr (std::is_same_v<T, std::monostate>) {
          return "none";
        } else if constexpr (std::is_same_v<T, ValueRef>) {
          return value_text(graph, value.id);
        } else if constexpr (std::is_same_v<T, bool>) {
          return value ? "true" : "false";
        } else if constexpr (std::is_same_v<T, std::int64_t>) {
          return std::to_string(value);
        } else if constexpr (std::is_same_v<T, double>) {
          return number(value);
        } else if constexpr (std::is_same_v<T, std::complex<double>>) {
          return "complex(" + number(value.real()) + ", " + number(value.imag()) + ")";
        } else if constexpr (std::is_same_v<T, std::string>) {
          return quote(value);
        } else if constexpr (std::is_same_v<T, at::ScalarType>) {
          return "dtype." + dtype_name(value);
        } else if constexpr (std::is_same_v<T, at::MemoryFormat>) {
          for (const auto& [name, format] : kMemoryFormatNames) {
            if (format == value) return "memory_format." + std::string(name);
          }
          return "memory_format.preserve";
        } else if constexpr (std::is_same_v<T, at::Layout>) {
          return "layout.strided";
        } else if constexpr (std::is_same_v<T, at::Device>) {
          return "device." + value.str();
        } else {
          std::string text = "[";
          for (std::size_t i = 0; i < value.size(); ++i) text += (i ? ", " : "") + print(graph, value[i]);
          return text + "]";
        }
      },
      argument.value);
}

std::string print(const Graph& graph, const Node& node) {
  std::string text;
  for (std::size_t i = 0; i < node.results.size(); ++i) {
    text += (i ? ", " : "") + value_text(graph, node.results[i]);
    if (node.results[i] >= 0) text += type_text(graph.values[static_cast<std::size_t>(node.results[i])]);
  }
  text += (text.empty() ? "" : " = ") + node.op + "(";
  for (std::size_t i = 0; i < node.arguments.size(); ++i)
    text += (i ? ", " : "") + print(graph, node.arguments[i]);
  text += ")";
  if (!node.module_path.empty()) text += " at " + quote(node.module_path);
  for (const auto& body : node.bodies) text += " " + body_text(*body);
  return text;
}

std::string print(const Graph& graph) {
  std::string text = "graph " + quote(graph.name) + "\n";
  for (const auto& [symbol, range] : graph.ranges) {
    text += "symbol " + symbol + " " + (range.min ? std::to_string(*range.min) : "none") + " " +
            (range.max ? std::to_string(*range.max) : "none") + "\n";
  }
  for (const auto& guard : graph.guards) text += "guard " + quote(guard) + "\n";
  for (const auto& input : graph.inputs) {
    text += std::string(kInputNames[static_cast<std::size_t>(input.kind)]) + " " +
            value_text(graph, input.value) + " " + quote(input.target) +
            (input.persistent ? "" : " transient") +
            type_text(graph.values[static_cast<std::size_t>(input.value)]) + "\n";
  }
  for (const auto& node : graph.nodes) text += print(graph, node) + "\n";
  for (const auto& output : graph.outputs) {
    text += (output.kind == OutputKind::kUser ? "output " : "writes ") + print(graph, output.value) +
            (output.target.empty() ? "" : " " + quote(output.target)) + "\n";
  }
  return text;
}

}  // namespace wide
