#pragma once
// What never changes of a graph's inputs, for all members.

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

#include "core/ir/layout.h"

namespace wide {

/// A value given to or taken from a program.
struct WideTensor {
  at::Tensor tensor;
  Layout layout = Layout::kShared;  ///< kShared [d0, …] or kFront [N, d0, …]
};

/// A constant input: one tensor, or what members have each in a place of its own. The latter is stacked when
/// a program reads it so, and only for as long as one looks into the stack. Copies are the same constant. Not
/// for several threads at a time.
class Constant {
 public:
  Constant() = default;  ///< an input that is not constant
  explicit Constant(WideTensor value) : value_(std::move(value)) {}
  /// One tensor for each member, contiguous and of one shape and dtype.
  explicit Constant(std::vector<at::Tensor> of_members);

  bool is_given() const { return stack_ || value_.tensor.defined(); }
  /// Members have theirs each in a place of its own.
  bool is_apart() const { return stack_ != nullptr; }
  Layout layout() const { return stack_ ? Layout::kFront : value_.layout; }
  /// The members [first, first + count); alone: the one member's, without the axis of members. What is
  /// shared, whole.
  at::Tensor part(std::int64_t first, std::int64_t count, bool alone) const;
  /// Frees the stack, unless somebody looks into it.
  void release() const;
  /// While somebody looks into the stack, members do too: their own tensors are let go.
  void settle() const;
  /// Of all members: shared ones once.
  std::int64_t bytes() const;
  /// Lowest and highest element of all members, NaN where one is; of no elements 0. Real numbers only.
  std::pair<double, double> range() const;
  /// What tells it from other constants.
  const void* identity() const;

 private:
  struct Stack;
  WideTensor value_;
  std::shared_ptr<Stack> stack_;
};

}  // namespace wide
