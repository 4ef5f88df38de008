#pragma once
// How slow this machine is right now. Limits of time are set for a quiet core of about 2020; on a slower
// machine, or beside others, a test gives as much more as work of a known size takes longer there.

#include <algorithm>
#include <charconv>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <map>
#include <string>
#include <thread>
#include <vector>

namespace wide::test {

/// Seconds of a fixed piece of work: text, small allocations, trees and sorting, some megabytes of them.
inline double seconds_of_known_work() {
  const auto start = std::chrono::steady_clock::now();
  std::map<std::string, std::vector<double>> tree;
  std::uint32_t state = 1;
  for (int i = 0; i < 20'000; ++i) {
    state = state * 1664525U + 1013904223U;
    char text[32];
    std::snprintf(text, sizeof text, "%u.%u", state >> 8U, i);
    auto& values = tree[text];
    for (int k = 0; k < 8; ++k) {
      double value = 0;
      std::from_chars(text, text + 6, value);
      values.push_back(value / (k + 1));
    }
  }
  double sum = 0;
  std::vector<double> all;
  for (const auto& [name, values] : tree) all.insert(all.end(), values.begin(), values.end());
  std::sort(all.begin(), all.end());
  for (std::size_t i = 0; i < all.size(); i += 100) sum += all[i];
  volatile double kept = sum;
  static_cast<void>(kept);
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

/// 1 on a machine as fast as the one the limits are for, 2 where work takes twice as long; never below 1.
/// Runs on `threads` threads at once, for about a quarter of a second.
inline double slowness(unsigned threads = 1) {
  constexpr double kReference = 0.025;
  std::vector<double> times(9);
  for (double& time : times) {
    std::vector<std::thread> others;
    for (unsigned i = 1; i < threads; ++i) others.emplace_back([] { seconds_of_known_work(); });
    time = seconds_of_known_work();
    for (auto& other : others) other.join();
  }
  std::nth_element(times.begin(), times.begin() + 4, times.end());
  return std::max(1.0, times[4] / kReference);
}

/// What limits of time are to be multiplied with: the slowest that the machine was seen since this was made.
class Allowance {
 public:
  explicit Allowance(unsigned threads = 1) : threads_(threads), before_(slowness(threads)) {}
  double now() const { return std::max(before_, slowness(threads_)); }

 private:
  unsigned threads_;
  double before_;
};

}  // namespace wide::test
