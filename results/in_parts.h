#pragma once
// Work on many like things on all cores: a report of ten thousand cases is read and written case by case.

#include <algorithm>
#include <cstddef>
#include <future>
#include <thread>
#include <type_traits>
#include <vector>

namespace wide::results {

/// What `work(first, last)` returns for each part of [0, count), in order; the parts run at the same time.
/// Throws what the earliest part that failed has thrown, once all have ended.
template <typename Work>
auto in_parts(std::size_t count, const Work& work) {
  constexpr std::size_t kLeast = 64;  // fewer are not worth a thread
  const std::size_t cores = std::max(1U, std::thread::hardware_concurrency());
  const std::size_t parts = std::clamp(count / kLeast, std::size_t{1}, cores);
  using Result = std::invoke_result_t<const Work&, std::size_t, std::size_t>;
  std::vector<std::future<Result>> others;
  for (std::size_t part = 1; part < parts; ++part)
    others.push_back(
        std::async(std::launch::async, std::cref(work), count * part / parts, count * (part + 1) / parts));
  std::vector<Result> results;
  results.push_back(work(std::size_t{0}, count / parts));
  for (auto& other : others) results.push_back(other.get());
  return results;
}

}  // namespace wide::results
