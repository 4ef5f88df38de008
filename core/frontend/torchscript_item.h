#pragma once

#include <ATen/core/ivalue.h>
#include <ATen/core/jit_type.h>

#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/ir/graph.h"

namespace wide::torchscript {

// What a TorchScript value stands for. Only what is used need be representable, so a refusal waits for its
// use.
struct Item {
  Argument argument;
  std::shared_ptr<std::vector<Item>> items;  ///< a list or tuple; under all its names the same
  std::optional<c10::IValue> object;         ///< a module, at `path`
  std::string path;
  std::optional<ValueId> shape_of;  ///< the list of a tensor's sizes
  bool number = false;              ///< an int, float or bool; also where TorchScript wraps it into a tensor
  std::string refusal;              ///< why it cannot be used
};

Item refused(std::string why);
Item number_item(Argument argument);
Item plain(Argument argument);

bool is_number(const c10::TypePtr& type);
bool is_tensor(const c10::TypePtr& type);

/// Arithmetic on sizes: "aten::floor_divide" -> "sym.floordiv"; nothing where the kind is none.
std::optional<std::string> scalar_operator(std::string_view kind);

}  // namespace wide::torchscript
