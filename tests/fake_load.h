#pragma once
// What else works on the machine, as a test says.

#include "processes/load.h"

namespace wide::test {

/// Two CPUs, of which other processes keep so many busy from now on. A second passes between two readings.
class FakeLoad final : public processes::LoadSource {
 public:
  explicit FakeLoad(double cpus = 0) : others(cpus) {}
  double others;

 private:
  processes::LoadReading do_read() override {
    now_.at += 1, now_.total += 2, now_.own += 1, now_.busy += 1 + others;
    return now_;
  }
  processes::LoadReading now_{.total = 0, .busy = 0, .steal = 0, .own = 0, .preempted = 0, .at = 0};
};

}  // namespace wide::test
