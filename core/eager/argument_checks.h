#pragma once
// What libtorch takes at its word: operators whose kernels read or write beyond their tensors where the
// arguments of a call contradict each other. Files may say anything.

#include <ATen/core/ivalue.h>

#include <string_view>
#include <vector>

namespace wide {

/// Throws c10::Error where the arguments do not go together, in words for a person.
using ArgumentCheck = void (*)(const std::vector<c10::IValue>& arguments);

/// The check of such an operator, to be made before each call; null for all others, which check themselves.
ArgumentCheck argument_check(std::string_view op);

}  // namespace wide
