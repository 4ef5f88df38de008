#include "core/frontend/literal.h"

#include <memory>
#include <string>
#include <type_traits>
#include <variant>
#include <vector>

#include "core/aten/torch_bridge.h"
#include "core/frontend/refuse.h"

namespace wide {
namespace {

// The codes of torch/_export/serde/schema.py.
at::MemoryFormat memory_format(const formats::ProgramNode& node, int code) {
  switch (code) {
    case 1:
      return at::MemoryFormat::Contiguous;
    case 2:
      return at::MemoryFormat::ChannelsLast;
    case 3:
      return at::MemoryFormat::ChannelsLast3d;
    case 4:
      return at::MemoryFormat::Preserve;
    default:
      refuse(node, "unknown memory format " + std::to_string(code));
  }
}

}  // namespace

Argument literal(const formats::ProgramNode& node, const formats::Argument& argument) {
  return std::visit(
      [&](const auto& value) -> Argument {
        using T = std::decay_t<decltype(value)>;
        if constexpr (std::is_same_v<T, formats::None>) {
          return {};
        } else if constexpr (std::is_same_v<T, formats::Dtype>) {
          return {scalar_type(value)};
        } else if constexpr (std::is_same_v<T, formats::MemoryFormat>) {
          return {memory_format(node, value.code)};
        } else if constexpr (std::is_same_v<T, formats::TensorLayout>) {
          if (value.code != 7) refuse(node, "only strided tensors are supported");
          return {at::Layout::Strided};
        } else if constexpr (std::is_same_v<T, formats::DeviceName>) {
          // Placement is ours to choose: a model exported on a GPU runs where the wide model runs.
          return {at::Device(at::kCPU)};
        } else if constexpr (std::is_same_v<T, formats::OperatorName>) {
          refuse(node, "takes an operator as argument, which is not supported");
        } else if constexpr (std::is_same_v<T, std::shared_ptr<const formats::Subgraph>>) {
          refuse(node, "takes a graph as argument, which is not supported for this operator");
        } else if constexpr (std::is_same_v<T, formats::TensorName> ||
                             std::is_same_v<T, formats::SymbolName> ||
                             std::is_same_v<T, std::vector<formats::Argument>>) {
          refuse(node, "has a value where only a constant can stand");
        } else {
          return {value};
        }
      },
      argument.value);
}

}  // namespace wide
