#pragma once
// Inputs that no pass has seen before, of the kind that was proved: what is timed must follow them.

#include <cstdint>
#include <functional>
#include <vector>

#include "core/model/wide_model.h"
#include "profiler/random.h"

namespace wide::app {

/// Draws values like those given. Floats: values drawn anew at the start, times a factor that is never the
/// same twice. Integers and bools: values drawn at the start, with other members and other rows of a batch in
/// each one's place, so that an id stays in its column.
class FreshInputs {
 public:
  using Draw = std::function<std::vector<ModelInput>(std::uint64_t seed)>;

  /// `draw` is asked for other values of the shapes, dtypes and device of `like`; what does not fit is left
  /// out.
  FreshInputs(std::vector<ModelInput> like, const Draw& draw, std::uint64_t seed);

  /// New values, until it is called again.
  const std::vector<ModelInput>& next();
  /// New memory with new values, and with a NaN at one place of each floating input of one member; empty
  /// where no input is floating.
  std::vector<ModelInput> next_with_nan();
  /// How many sets of inputs may lie ready without driving each other out of a cache: from 2 to 8.
  std::size_t slots() const;

 private:
  std::vector<std::vector<ModelInput>> drawn_;
  std::vector<ModelInput> last_;
  profiler::Random random_;
};

/// A copy of every tensor.
std::vector<ModelInput> cloned(const std::vector<ModelInput>& inputs);
/// Writes the values into the tensors that are there, by one thread: written by several, each part would lie
/// in the cache of the thread that whoever divides the work alike reads it with.
void copy_into(const std::vector<ModelInput>& to, const std::vector<ModelInput>& from);

}  // namespace wide::app
