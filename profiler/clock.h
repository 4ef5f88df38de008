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
  /// Lets so much time go by, doing nothing.
  void pause(double microseconds) { do_pause(microseconds); }

 private:
  virtual std::int64_t do_nanoseconds() = 0;
  virtual void do_pause(double microseconds) = 0;
};

/// The machine's monotonic clock.
class SteadyClock final : public Clock {
 private:
  std::int64_t do_nanoseconds() override;
  void do_pause(double microseconds) override;
};

}  // namespace wide::profiler
