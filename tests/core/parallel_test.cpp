#include "core/aten/parallel.h"

#include <gtest/gtest.h>

#include <atomic>
#include <mutex>
#include <set>
#include <thread>
#include <vector>

#include "core/aten/with_threads.h"

namespace wide::kernels {
namespace {

TEST(ParallelRanges, CoverEveryIndexOnce) {
  for (const int threads : {1, 2, 5}) {
    const WithThreads set(threads);
    for (const std::int64_t count : {0, 1, 2, 7, 1000, 100'003}) {
      for (const std::int64_t grain : {0, 1, 3, 1000}) {
        std::vector<std::atomic<int>> seen(static_cast<std::size_t>(count));
        parallel_ranges(count, grain, [&](std::int64_t begin, std::int64_t end) {
          for (auto i = begin; i < end; ++i) ++seen[static_cast<std::size_t>(i)];
        });
        for (const auto& one : seen) ASSERT_EQ(one, 1) << count << " by " << grain;
      }
    }
  }
}

TEST(ParallelRanges, RunOnAsManyThreadsAsLibtorchHas) {
  const auto threads_used = [](int threads, std::int64_t count, std::int64_t grain) {
    const WithThreads set(threads);
    std::mutex mutex;
    std::set<std::thread::id> ids;
    parallel_ranges(count, grain, [&](std::int64_t, std::int64_t) {
      const std::lock_guard lock(mutex);
      ids.insert(std::this_thread::get_id());
    });
    return ids.size();
  };
  EXPECT_EQ(threads_used(1, 1000, 1), 1u);
  EXPECT_EQ(threads_used(2, 1000, 1), 2u);
  EXPECT_EQ(threads_used(2, 1000, 600), 1u);
}

TEST(ParallelRanges, AnErrorComesBack) {
  const WithThreads set(2);
  EXPECT_THROW(parallel_ranges(1000, 1,
                               [](std::int64_t begin, std::int64_t) {
                                 if (begin > 0) throw std::runtime_error("late");
                               }),
               std::runtime_error);
}

}  // namespace
}  // namespace wide::kernels
