#pragma once
// Operators as libtorch's dispatcher knows them: schemas, tags, and a call prepared once and run often.

#include <ATen/core/dispatch/Dispatcher.h>
#include <ATen/core/ivalue.h>

#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/eager/argument_checks.h"
#include "core/ir/graph.h"

namespace wide {

class HigherOrderCall;

/// "aten.linear.default" -> the dispatcher's handle, or nothing when no library registers it.
std::optional<c10::OperatorHandle> find_operator(std::string_view op);

/// Same, but throws wide::Error("capture") naming the operator and the place.
c10::OperatorHandle require_operator(const Graph& graph, const Node& node);

/// Index of the schema argument `name`, or nothing.
std::optional<std::size_t> argument_index(const c10::FunctionSchema& schema, std::string_view name);

/// A schema default, or any IValue that holds no tensor, as an argument.
Argument to_argument(const c10::IValue& value);

/// The operator can draw random numbers.
bool is_random(const c10::OperatorHandle& op);
/// The node, or one in its bodies, does draw them: dropout in evaluation mode or with probability 0 does not.
bool draws_random(const Node& node);
/// One of its nodes does.
bool draws_random(const Graph& graph);
/// Tagged pointwise by ATen.
bool is_pointwise(const c10::OperatorHandle& op);

/// Indices of the arguments that the operator writes into, as its schema says.
std::vector<std::size_t> written_arguments(const Node& node);

/// One node ready to run: constants boxed once, operands patched in at each call.
class PreparedCall {
 public:
  /// `node` uses operand indices as value ids: ValueRef{k} is operands[k] of run().
  /// Throws wide::Error when an argument does not fit the operator's schema.
  explicit PreparedCall(const Node& node);

  /// Runs on `operands` (tensors, or ints/floats/bools for scalar operands) and returns one IValue per
  /// result; a tensor list result is spread over the results.
  void run(std::span<const c10::IValue> operands, std::vector<c10::IValue>& results) const;

 private:
  struct Patch {
    std::size_t argument;
    std::size_t operand;
    bool tensor = false;  ///< the schema wants a tensor; a number is made one
  };
  struct ListPatch {
    std::size_t argument;
    c10::TypePtr element;
    std::vector<std::optional<std::size_t>> operands;  ///< nothing: the constant of the same place
    std::vector<c10::IValue> constants;
  };
  std::optional<c10::OperatorHandle> op_;
  ArgumentCheck check_ = nullptr;
  std::shared_ptr<const HigherOrderCall> higher_order_;
  std::string scalar_op_;
  std::vector<c10::IValue> stack_;
  std::vector<Patch> patches_;
  std::vector<ListPatch> list_patches_;
};

}  // namespace wide
