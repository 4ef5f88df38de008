#pragma once
// The one exception type of the project: a fault of user, file or device that ends a stage.

#include <stdexcept>
#include <string>

namespace wide {

/// Thrown when a stage cannot go on because of its input, a file or the device. `what()` is one line that
/// says what is wrong, where (file, tensor, node) and what to try. Our own bugs are assertions, never this
/// type.
class Error : public std::runtime_error {
 public:
  /// `stage` names the verb that failed ("load", "widen", …).
  Error(std::string stage, const std::string& message)
      : std::runtime_error(message), stage_(std::move(stage)) {}
  const std::string& stage() const { return stage_; }

 private:
  std::string stage_;
};

}  // namespace wide
