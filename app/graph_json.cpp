#include "app/graph_json.h"

#include <cmath>

#include "core/aten/torch_bridge.h"
#include "core/ir/scalar_ops.h"
#include "formats/error.h"

namespace wide::app {
namespace {

using nlohmann::json;

std::string_view kind_name(InputKind kind) {
  switch (kind) {
    case InputKind::kUser:
      return "user";
    case InputKind::kParameter:
      return "parameter";
    case InputKind::kBuffer:
      return "buffer";
    case InputKind::kConstant:
      return "constant";
  }
  return "";
}

std::string_view memory_format_name(at::MemoryFormat format) {
  switch (format) {
    case at::MemoryFormat::Contiguous:
      return "contiguous_format";
    case at::MemoryFormat::ChannelsLast:
      return "channels_last";
    case at::MemoryFormat::ChannelsLast3d:
      return "channels_last_3d";
    default:
      return "preserve_format";
  }
}

const std::string& name_of(const Graph& graph, ValueId id) {
  return graph.values[static_cast<std::size_t>(id)].name;
}

json number(double value) {
  if (std::isfinite(value)) return value;
  return {{"float", std::isnan(value) ? "nan" : value > 0 ? "inf" : "-inf"}};
}

json argument_json(const Graph& graph, const Argument& argument) {
  return std::visit(
      [&](const auto& value) -> json {
        using T = std::decay_t<decltype(value)>;
        if constexpr (std::is_same_v<T, std::monostate>) {
          return nullptr;
        } else if constexpr (std::is_same_v<T, ValueRef>) {
          return {{"value", name_of(graph, value.id)}};
        } else if constexpr (std::is_same_v<T, double>) {
          return number(value);
        } else if constexpr (std::is_same_v<T, std::complex<double>>) {
          return {{"complex", {number(value.real()), number(value.imag())}}};
        } else if constexpr (std::is_same_v<T, at::ScalarType>) {
          return {{"dtype", dtype_name(value)}};
        } else if constexpr (std::is_same_v<T, at::MemoryFormat>) {
          return {{"memory_format", memory_format_name(value)}};
        } else if constexpr (std::is_same_v<T, at::Layout>) {
          return {{"layout", "strided"}};
        } else if constexpr (std::is_same_v<T, at::Device>) {
          return {{"device", value.str()}};
        } else if constexpr (std::is_same_v<T, Argument::List>) {
          json list = json::array();
          for (const auto& item : value) list.push_back(argument_json(graph, item));
          return list;
        } else {
          return value;
        }
      },
      argument.value);
}

json node_json(const Graph& graph, const Node& node) {
  if (is_scalar_op(node.op)) {
    throw Error("export", describe(graph, node) +
                              ": arithmetic on symbolic sizes cannot be exported; export the model with "
                              "static shapes, or give the .pt2 itself");
  }
  json entry{{"op", node.op}, {"arguments", json::array()}, {"results", json::array()}};
  for (const auto& argument : node.arguments) entry["arguments"].push_back(argument_json(graph, argument));
  for (const auto id : node.results)
    entry["results"].push_back(id < 0 ? json(nullptr) : json(name_of(graph, id)));
  return entry;
}

}  // namespace

json to_json(const Graph& graph) {
  json document{{"inputs", json::array()}, {"nodes", json::array()}, {"outputs", json::array()}};
  for (const auto& input : graph.inputs) {
    document["inputs"].push_back(
        {{"name", name_of(graph, input.value)}, {"kind", kind_name(input.kind)}, {"target", input.target}});
  }
  for (const auto& node : graph.nodes) document["nodes"].push_back(node_json(graph, node));
  for (const auto& output : graph.outputs) {
    document["outputs"].push_back({{"value", argument_json(graph, output.value)},
                                   {"kind", output.kind == OutputKind::kUser ? "user" : "buffer_mutation"},
                                   {"target", output.target}});
  }
  return document;
}

}  // namespace wide::app
