#pragma once
// How much of a difference the model itself makes of rounding.

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "core/ir/compare.h"
#include "core/model/wide_model.h"

namespace wide {

/// Runs member `i` alone several times with every rounding, input and weight made a little larger or smaller
/// by chance, and
/// says how far each element of its outputs may stand from its own run for that: a float64 tensor of the
/// output's shape per user output, zeros where nothing moves, undefined for numbers and for outputs that have
/// no rounding, and for all where two runs without that differ. Where a small difference of large numbers is
/// asked for, or a variance of nearly equal ones, this is much more than tolerance() allows, and says nothing
/// against the one who computed it.
std::vector<at::Tensor> conditioning(WideModel& model, std::int64_t i, std::span<const ModelInput> inputs);

/// compare() of member `i`'s outputs on these inputs, which must outlive it. What conditioning() allows is
/// only asked for, once, where there is more difference than the tolerance.
class ConditionedCompare {
 public:
  ConditionedCompare(WideModel& model, std::int64_t i, std::span<const ModelInput> inputs)
      : model_(model), i_(i), inputs_(inputs) {}
  Difference operator()(std::size_t output, const at::Tensor& got, const at::Tensor& expected,
                        const Tolerance& tolerance);

 private:
  WideModel& model_;
  std::int64_t i_;
  std::span<const ModelInput> inputs_;
  std::optional<std::vector<at::Tensor>> moved_;
};

}  // namespace wide
