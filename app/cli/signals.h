#pragma once
// Ctrl-C and its like, as a number to look at.

#include <signal.h>

#include <array>
#include <atomic>

namespace wide::cli {

/// While it lives, SIGINT, SIGTERM and SIGHUP do not end the process but are noted. One at a time.
class SignalWatch {
 public:
  SignalWatch();
  ~SignalWatch();
  SignalWatch(const SignalWatch&) = delete;
  SignalWatch& operator=(const SignalWatch&) = delete;

  /// 0, or the number of the first signal that came.
  const std::atomic<int>& signal() const;

 private:
  std::array<struct sigaction, 3> before_{};
};

}  // namespace wide::cli
