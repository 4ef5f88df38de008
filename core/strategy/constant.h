#pragma once
// What never changes of a graph's inputs, for all members.

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <functional>
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

/// What never changes: one tensor, or what members have each in a place of its own or is made for each when
/// it is asked for. The latter are stacked when a program reads them so, and only for as long as one looks
/// into the stack. Copies are the same constant. Not for several threads at a time, but for members alone.
class Constant {
 public:
  Constant() = default;  ///< an input that is not constant
  explicit Constant(WideTensor value) : value_(std::move(value)) {}
  /// One tensor for each member, contiguous and of one shape and dtype.
  explicit Constant(std::vector<at::Tensor> of_members);
  /// The same made when asked for, by `make(i)` of member `i`. `sizes` and `options` are those of the stack.
  Constant(at::IntArrayRef sizes, const at::TensorOptions& options,
           std::function<at::Tensor(std::int64_t)> make);

  bool is_given() const { return stack_ || value_.tensor.defined(); }
  /// Members have theirs each in a place of its own, or made.
  bool is_apart() const { return stack_ != nullptr; }
  /// Members have theirs made when it is asked for.
  bool is_made() const;
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
  /// Of members apart: the stack of all, whose memory is there only sometimes.
  const at::Tensor& stack() const;

 private:
  struct Stack;
  WideTensor value_;
  std::shared_ptr<Stack> stack_;
};

/// What some of the members have of a constant: [count, …], or one tensor that is the same for all. Members
/// that have theirs each in a place of its own are stacked only for who asks for one tensor.
class ConstantPart {
 public:
  ConstantPart() = default;                                        ///< not constant, or not known
  ConstantPart(at::Tensor tensor) : tensor_(std::move(tensor)) {}  // NOLINT(google-explicit-constructor)
  ConstantPart(Constant apart, std::int64_t first, std::int64_t count)
      : all_(std::move(apart)), first_(first), count_(count) {}

  bool defined() const { return all_.is_given() || tensor_.defined(); }
  bool requires_grad() const;
  std::vector<std::int64_t> sizes() const;
  at::Tensor tensor() const;
  /// Member `i` of these, without the axis of members.
  at::Tensor member(std::int64_t i) const;
  void reset() { *this = {}; }

  /// Of members apart, all of them and the first of these; otherwise not given.
  const Constant& all() const { return all_; }
  std::int64_t first() const { return first_; }
  std::int64_t count() const { return count_; }

 private:
  at::Tensor tensor_;
  Constant all_;
  std::int64_t first_ = 0, count_ = 0;
};

}  // namespace wide
