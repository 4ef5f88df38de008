#pragma once
// What kernels make of constants when they are prepared: made once, however many programs of one build want
// it.

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <functional>
#include <string>

#include "core/strategy/constant.h"

namespace wide {

/// While one lives, shared_constant() remembers what was made in this thread. Constants must not change
/// meanwhile. An inner one changes nothing.
class SharedConstants {
 public:
  /// `members`: of a constant that no program has a part of only.
  explicit SharedConstants(std::int64_t members);
  ~SharedConstants();
  SharedConstants(const SharedConstants&) = delete;
  SharedConstants& operator=(const SharedConstants&) = delete;

 private:
  bool outermost_;
};

/// Bytes that shared_constant() made on this thread and that are still in use.
std::int64_t shared_constant_bytes();

/// `make` of a constant, [N, …] to [N, …], each member by itself: programs of parts of the members share what
/// is made of all. It is called for some members after others where these have theirs apart. `purpose` says
/// how it is made.
at::Tensor shared_constant(const ConstantPart& constant, const std::string& purpose,
                           const std::function<at::Tensor(const at::Tensor&)>& make);
/// The same where members cannot be told apart in what is made: shared by programs of the same members.
at::Tensor shared_whole_constant(const ConstantPart& constant, const std::string& purpose,
                                 const std::function<at::Tensor()>& make);

}  // namespace wide
