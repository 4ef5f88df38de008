#include "profiler/clock.h"

#include <chrono>

namespace wide::profiler {

std::int64_t SteadyClock::do_nanoseconds() {
  const auto now = std::chrono::steady_clock::now().time_since_epoch();
  return std::chrono::duration_cast<std::chrono::nanoseconds>(now).count();
}

}  // namespace wide::profiler
