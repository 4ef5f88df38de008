#pragma once
// The honest ways to run N members apart, in C++, on the same weights, inputs and threads as the wide model.

#include <ATen/core/ivalue.h>

#include <functional>
#include <string>
#include <vector>

#include "core/interpreter.h"
#include "core/wide_model.h"

namespace wide::app {

/// N members with their own weights and inputs, prepared once. The graph is the canonical one: no checks,
/// casts or dropout left that an evaluation could do without, so that the rivals are not handicapped.
class SeparateRuns {
 public:
  SeparateRuns(WideModel& model, std::span<const ModelInput> inputs);

  /// "eager": one member after the other. "threads": members side by side on the threads that the library
  /// has, one thread each. A call holds the outputs of all N members when it ends, as the wide model's and
  /// the Python rivals' do: who drops each output at once writes into the same warm memory again, and has no
  /// N outputs. Throws wide::Error ("preset") for another name. The result must not outlive this object.
  std::function<void()> contender(const std::string& name) const;

 private:
  std::vector<c10::IValue> run_member(std::size_t i) const;
  const Graph& graph_;
  Interpreter interpreter_;
  std::vector<std::vector<c10::IValue>> values_;  ///< [member][graph input]
};

}  // namespace wide::app
