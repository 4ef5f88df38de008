#pragma once
// Arithmetic on symbolic sizes ("sym.add", "sym.floordiv", …), which torch.export writes as Python operators.

#include <ATen/core/ivalue.h>

#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "core/ir/graph.h"

namespace wide {

/// "_operator.mul" or "torch.sym_max" -> "sym.mul", "sym.max"; nothing when it is not such an operator.
std::optional<std::string> scalar_op_name(std::string_view target);

/// True for the names that scalar_op_name gives.
bool is_scalar_op(std::string_view op);

/// A constant operand (int, float or bool). Throws wide::Error for anything else.
c10::IValue scalar_constant(std::string_view op, const Argument& argument);

/// Runs on ints, floats or bools with Python's meaning (floor division, true division gives a float).
/// Throws wide::Error on division by zero or overflow.
c10::IValue run_scalar_op(std::string_view op, std::span<const c10::IValue> operands);

}  // namespace wide
