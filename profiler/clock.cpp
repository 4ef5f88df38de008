#include "profiler/clock.h"

#include <chrono>
#include <thread>

namespace wide::profiler {

std::int64_t SteadyClock::do_nanoseconds() {
  const auto now = std::chrono::steady_clock::now().time_since_epoch();
  return std::chrono::duration_cast<std::chrono::nanoseconds>(now).count();
}

void SteadyClock::do_pause(double microseconds) {
  std::this_thread::sleep_for(std::chrono::duration<double, std::micro>(microseconds));
}

}  // namespace wide::profiler
