#pragma once
// How much of a difference the model itself makes of rounding.

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <vector>

#include "core/ir/compare.h"
#include "core/model/wide_model.h"

namespace wide {

/// How far each element of what a member gives may stand from its own run for rounding alone: float64 tensors
/// of the values' shapes, zeros where nothing moves; undefined, or not there, for numbers, for what has no
/// rounding, and for all where two runs differ of themselves.
struct Conditioning {
  std::vector<at::Tensor> outputs;            ///< by user output
  std::map<std::string, at::Tensor> buffers;  ///< that the run wrote, by fqn
};

inline constexpr int kFewRuns = 4;

/// Runs member `i` alone so many times with every rounding, input and weight made a little larger or smaller
/// by chance. Where a small difference of large numbers is asked for, or a variance of nearly equal ones,
/// what moves is much more than tolerance() allows, and says nothing against the one who computed it.
Conditioning conditioning(WideModel& model, std::int64_t i, std::span<const ModelInput> inputs,
                          int runs = kFewRuns);

/// compare() of what member `i` gives on these inputs, which must outlive it. What conditioning() allows is
/// only asked for where there is more difference than the tolerance, and of many runs where few do not do.
class ConditionedCompare {
 public:
  ConditionedCompare(WideModel& model, std::int64_t i, std::span<const ModelInput> inputs)
      : model_(model), i_(i), inputs_(inputs) {}
  Difference output(std::size_t place, const at::Tensor& got, const at::Tensor& expected,
                    const Tolerance& tolerance);
  Difference buffer(const std::string& fqn, const at::Tensor& got, const at::Tensor& expected,
                    const Tolerance& tolerance);

 private:
  const Conditioning& moved(int runs);
  template <typename Far>
  Difference within(Far far, const at::Tensor& got, const at::Tensor& expected, const Tolerance& tolerance);

  WideModel& model_;
  std::int64_t i_;
  std::span<const ModelInput> inputs_;
  int runs_ = 0;
  Conditioning moved_;  ///< by so many runs
};

}  // namespace wide
