#pragma once
// Who else had the CPUs while something was measured. Above a stated amount there is no verdict: threads that
// wait for each other take a thousand times as long when others hold the CPUs, and no statistics mend that.

#include <cstdint>
#include <filesystem>
#include <limits>
#include <string>

namespace wide::processes {

/// Counters that only grow. Seconds are of all CPUs together; NaN: not known.
struct LoadReading {
  double total = std::numeric_limits<double>::quiet_NaN();  ///< that CPUs had
  double busy = std::numeric_limits<double>::quiet_NaN();   ///< that they worked, steal not included
  double steal = std::numeric_limits<double>::quiet_NaN();  ///< that the hypervisor gave to other machines
  double own = std::numeric_limits<double>::quiet_NaN();    ///< that this process and its children worked
  double preempted = std::numeric_limits<double>::quiet_NaN();  ///< times this process had to give up a CPU
  double at = 0;                                                ///< seconds of a monotonic clock
};

/// What reads them: the machine, or a fake in tests.
class LoadSource {
 public:
  virtual ~LoadSource() = default;
  LoadReading read() { return do_read(); }

 private:
  virtual LoadReading do_read() = 0;
};

/// /proc/stat and getrusage. `root` stands for "/" (tests).
class MachineLoad final : public LoadSource {
 public:
  explicit MachineLoad(std::filesystem::path root = "/") : root_(std::move(root)) {}

 private:
  LoadReading do_read() override;
  std::filesystem::path root_;
};

/// What went on between two readings. NaN: not known, which disturbs nothing.
struct Disturbance {
  double steal = std::numeric_limits<double>::quiet_NaN();   ///< share of the CPUs' time
  double others = std::numeric_limits<double>::quiet_NaN();  ///< CPUs that other processes kept busy
  double preempted =
      std::numeric_limits<double>::quiet_NaN();            ///< times a second and CPU that measuring used
  double cpus = std::numeric_limits<double>::quiet_NaN();  ///< that there are
};
Disturbance between(const LoadReading& before, const LoadReading& after);

inline constexpr double kMostSteal = 0.05;     ///< of the CPUs' time
inline constexpr double kMostOthers = 0.2;     ///< of a CPU, beyond the CPUs that measuring leaves free
inline constexpr double kMostPreempted = 100;  ///< times a second and CPU; two CPUs at load 6 showed 250

/// Why times measured with so many threads meanwhile say nothing, or empty.
std::string objection(const Disturbance& disturbance, int threads);

}  // namespace wide::processes
