#pragma once
// Time as the measuring code sees it: one small interface, so that tests run without sleeping.

#include <cstdint>

namespace wide::profiler {

/// A monotonic clock. Only differences of its readings mean anything.
class Clock {
 public:
  virtual ~Clock() = default;
  /// Nanoseconds since an arbitrary start; never goes back.
  std::int64_t nanoseconds() { return do_nanoseconds(); }

 private:
  virtual std::int64_t do_nanoseconds() = 0;
};

/// The machine's monotonic clock.
class SteadyClock final : public Clock {
 private:
  std::int64_t do_nanoseconds() override;
};

}  // namespace wide::profiler
