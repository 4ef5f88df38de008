#pragma once
// The one exception of this library.

#include <stdexcept>
#include <string>
#include <utility>

namespace widebench {

/// Thrown when a stage cannot go on because of its input, a file or the device. `what()` is one line that
/// says what is wrong, where (file, member, tensor, node) and what to try. Beside it only std::bad_alloc is
/// thrown.
class Error : public std::runtime_error {
 public:
  /// `stage` names the verb that failed: "load", "widen", "plan", "run", "stale", "prove", "usage", …
  Error(std::string stage, const std::string& message)
      : std::runtime_error(message), stage_(std::move(stage)) {}
  const std::string& stage() const { return stage_; }

 private:
  std::string stage_;
};

}  // namespace widebench
