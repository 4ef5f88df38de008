#pragma once
// A clock that moves only when told, and contenders that take as long as they are told.

#include <cmath>
#include <functional>
#include <numbers>
#include <string>
#include <vector>

#include "profiler/clock.h"
#include "profiler/measure.h"
#include "profiler/random.h"

namespace wide::profiler::fake {

class FakeClock final : public Clock {
 public:
  void advance(double microseconds) { now_ += std::llround(microseconds * 1e3); }
  double seconds() const { return static_cast<double>(now_) * 1e-9; }

 private:
  std::int64_t do_nanoseconds() override { return now_; }
  void do_pause(double microseconds) override { advance(microseconds); }
  std::int64_t now_ = 0;
};

inline double uniform(Random& random) {
  return (static_cast<double>(random.next() >> 11) + 0.5) * 0x1p-53;
}

inline double normal(Random& random) {
  return std::sqrt(-2 * std::log(uniform(random))) * std::cos(2 * std::numbers::pi * uniform(random));
}

/// Takes `microseconds`, spread log-normally by `noise`.
inline Contender takes(std::string name, double microseconds, double noise, FakeClock& clock,
                       Random& random) {
  return {std::move(name),
          [=, &clock, &random] { clock.advance(microseconds * std::exp(noise * normal(random))); }};
}

}  // namespace wide::profiler::fake
