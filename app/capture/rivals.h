#pragma once
// The honest ways to run N members apart, in C++, on the same weights, inputs and threads as the wide model.

#include <ATen/core/ivalue.h>

#include <functional>
#include <string>
#include <vector>

#include "core/eager/interpreter.h"
#include "core/model/wide_model.h"

namespace wide::app {

/// N members with their own weights and inputs, prepared once. The graph is the canonical one: no checks,
/// casts or dropout left that an evaluation could do without, so that the rivals are not handicapped.
class SeparateRuns {
 public:
  /// `slots`: how many sets of inputs there are, each in its own memory; all hold `inputs` at first.
  SeparateRuns(WideModel& model, std::span<const ModelInput> inputs, std::size_t slots = 1);

  /// Copies other values into a slot, of the same shapes.
  void set_inputs(std::size_t slot, std::span<const ModelInput> inputs);
  /// The run that comes next takes the first slot, the one after it the second, and round again.
  void rewind() { slot_ = 0; }
  std::size_t slots() const { return slots_.size(); }
  /// What the members give, one after the other, on the inputs of a slot: [member][output of the graph].
  std::vector<std::vector<c10::IValue>> outputs(std::size_t slot) const;

  /// "eager": one member after the other. On the CPU "threads": members side by side on the threads that the
  /// library has, one thread each. On a GPU "streams": a stream for each member, as far as there are, and
  /// "graph": all members, on streams, recorded now and launched as a whole, on the first slot always; throws
  /// c10::Error where they cannot be. A call holds the outputs of all N members when it ends, as the wide
  /// model's and the Python rivals' do: who drops each output at once writes into the same warm memory again,
  /// and has no N outputs. Throws wide::Error ("preset") for another name. The result must not outlive this
  /// object.
  std::function<void()> contender(const std::string& name) const;

 private:
  using Outputs = std::vector<std::vector<c10::IValue>>;
  using Slot = std::vector<std::vector<c10::IValue>>;  ///< [member][graph input]; slots share the weights
  std::vector<c10::IValue> run_member(const Slot& slot, std::size_t i) const;
  const Slot& next() const;
  Outputs run_one_by_one(const Slot& slot) const;
  Outputs run_on_threads(const Slot& slot) const;
  Outputs run_streams(const Slot& slot) const;
  std::function<void()> recorded() const;

  const Graph& graph_;
  Interpreter interpreter_;
  std::vector<Slot> slots_;
  mutable std::size_t slot_ = 0;  ///< of the next run
  ComputeDevice device_;
};

}  // namespace wide::app
