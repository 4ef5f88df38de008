#include "processes/load.h"

#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <fstream>

namespace wide::processes {
namespace {

double seconds_of(const timeval& time) {
  return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_usec) * 1e-6;
}

std::string written(const char* format, double value) {
  std::array<char, 160> text{};
  std::snprintf(text.data(), text.size(), format, value);
  return text.data();
}

}  // namespace

LoadReading MachineLoad::do_read() {
  LoadReading reading;
  // cpu user nice system idle iowait irq softirq steal, in ticks of all CPUs
  std::ifstream file(root_ / "proc/stat");
  std::string name;
  std::array<double, 8> ticks{};
  bool all = static_cast<bool>(file >> name) && name == "cpu";
  for (double& one : ticks) all = all && static_cast<bool>(file >> one);
  if (all) {
    const double per_second = static_cast<double>(::sysconf(_SC_CLK_TCK));
    reading.steal = ticks[7] / per_second;
    reading.total = 0;
    for (const double one : ticks) reading.total += one / per_second;
    reading.busy = reading.total - reading.steal - (ticks[3] + ticks[4]) / per_second;
  }
  rusage self{}, children{};
  ::getrusage(RUSAGE_SELF, &self);
  ::getrusage(RUSAGE_CHILDREN, &children);
  reading.own = seconds_of(self.ru_utime) + seconds_of(self.ru_stime) + seconds_of(children.ru_utime) +
                seconds_of(children.ru_stime);
  reading.preempted = static_cast<double>(self.ru_nivcsw);
  reading.at = std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
  return reading;
}

Disturbance between(const LoadReading& before, const LoadReading& after) {
  constexpr double kShortest = 0.1;  // seconds: ticks are a hundredth
  Disturbance result;
  const double seconds = after.at - before.at, total = after.total - before.total;
  if (!(seconds >= kShortest)) return result;
  result.cpus = std::round(total / seconds);
  if (total > 0) {
    result.steal = std::max(0.0, (after.steal - before.steal) / total);
    result.others = std::max(0.0, (after.busy - before.busy) - (after.own - before.own)) / seconds;
  }
  const double used = std::max((after.own - before.own) / seconds, 0.1);
  result.preempted = (after.preempted - before.preempted) / seconds / used;
  return result;
}

std::string objection(const Disturbance& disturbance, int threads) {
  if (disturbance.steal > kMostSteal)
    return written("the hypervisor took %.0f %% of the CPUs' time while it was measured",
                   100 * disturbance.steal);
  const double free = std::max(0.0, disturbance.cpus - threads);
  if (disturbance.others > free + kMostOthers)
    return written("other processes kept %.1f CPUs busy while it was measured", disturbance.others);
  if (disturbance.preempted > kMostPreempted)
    return written("other work took a CPU away %.0f times a second while it was measured",
                   disturbance.preempted);
  return "";
}

}  // namespace wide::processes
