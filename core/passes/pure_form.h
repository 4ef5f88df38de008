#pragma once
// Operators that write, and their forms that do not.

#include <optional>
#include <string>
#include <vector>

#include "core/ir/graph.h"

namespace wide {

/// A call that gives what another one writes, as its first results and in the order of the written arguments.
struct PureForm {
  std::string op;
  std::vector<Argument> arguments;
};

/// "aten.add_.Tensor(x, y)" -> "aten.add.Tensor(x, y)", "aten.pow_.Scalar(x, 2)" ->
/// "aten.pow.Tensor_Scalar(x, 2)", "aten.add.out(x, y, out=z)" -> "aten.add.Tensor(x, y)": the operator of
/// ATen of that name whose other arguments have the same names and types. Nothing where there is none.
std::optional<PureForm> pure_form(const Node& node);

/// "aten.transpose_.default" -> "aten.transpose.int": the view that a tensor becomes, for operators that
/// change shape and strides in place but no number.
std::optional<PureForm> view_form(const Node& node);

}  // namespace wide
