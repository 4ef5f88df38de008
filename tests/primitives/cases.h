#pragma once
// Samples of primitives made ready to run, for the tests that know no primitive.

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <string>
#include <vector>

#include "core/strategy/primitive.h"

namespace wide::test {

constexpr std::int64_t kMembers = 3;

using Tensors = std::vector<at::Tensor>;

/// A sample made ready: the call, and its operands as [N, …] or, where shared, […].
struct Case {
  Call call;
  Tensors operands;
};

/// Throws c10::Error when the operator has no kernel for `dtype`.
Case make_case(const Sample& sample, at::ScalarType dtype, std::int64_t members);

/// The operands of one member, […].
Tensors of_member(const Call& call, const Tensors& operands, std::int64_t member);

/// The node by itself; what is no tensor comes back undefined.
Tensors run_once(const Node& node, const Tensors& operands);

/// The node for one member, with the random numbers that this member draws alone.
Tensors run_member(const Call& call, const Tensors& operands, std::int64_t member);

/// `operands` ([N, …], or […] where shared) in the layouts of the offer, through the strategy's kernel.
Tensors run_kernel(const Call& call, const Tensors& operands, const Strategy& strategy, const Offer& offer);

/// "operands front shared, results packed".
std::string layouts_of(const Offer& offer);

}  // namespace wide::test
