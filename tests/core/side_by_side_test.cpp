#include "core/aten/side_by_side.h"

#include <ATen/ATen.h>
#include <ATen/Parallel.h>
#include <gtest/gtest.h>

#include <atomic>
#include <mutex>
#include <set>
#include <stdexcept>
#include <thread>
#include <vector>

#include "core/aten/with_threads.h"

namespace wide {
namespace {

// The threads that items ran on, each of them slow enough that all who may take one do.
std::set<std::thread::id> threads_used(std::size_t count, std::size_t threads) {
  std::mutex mutex;
  std::set<std::thread::id> ids;
  run_side_by_side(count, threads, [&](std::size_t) {
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
    const std::lock_guard lock(mutex);
    ids.insert(std::this_thread::get_id());
  });
  return ids;
}

TEST(SideBySide, DoesEachItemOnce) {
  for (const int pool : {1, 2, 4}) {
    const WithThreads set(pool);
    for (const std::size_t threads : {1, 2, 8}) {
      for (const std::size_t count : {0, 1, 2, 7, 1000}) {
        std::vector<std::atomic<int>> seen(count);
        run_side_by_side(count, threads, [&](std::size_t i) { ++seen[i]; });
        for (const auto& one : seen) ASSERT_EQ(one, 1) << count << " on " << threads << " of " << pool;
      }
    }
  }
}

TEST(SideBySide, UsesAsManyThreadsAsItMay) {
  const WithThreads set(3);
  EXPECT_EQ(threads_used(6, 1).size(), 1u);
  EXPECT_EQ(threads_used(6, 2).size(), 2u);
  EXPECT_EQ(threads_used(6, 8).size(), 3u);
  EXPECT_TRUE(threads_used(6, 1).contains(std::this_thread::get_id()));
}

TEST(SideBySide, AnItemWorksOnOneThread) {
  const WithThreads set(2);
  for (const std::size_t threads : {1, 2}) {
    run_side_by_side(2, threads, [](std::size_t) { EXPECT_TRUE(at::in_parallel_region()); });
  }
}

TEST(SideBySide, GivesTheResultsOfASeparateRun) {
  const WithThreads set(2);
  const auto x = at::randn({8, 64, 64}), w = at::randn({8, 64, 64});
  std::vector<at::Tensor> results(8);
  run_side_by_side(8, 2, [&](std::size_t i) {
    const auto k = static_cast<std::int64_t>(i);
    results[i] = at::mm(x[k], w[k]);
  });
  for (std::int64_t k = 0; k < 8; ++k)
    EXPECT_TRUE(at::allclose(results[static_cast<std::size_t>(k)], at::mm(x[k], w[k]), 1e-4, 1e-4));
}

TEST(SideBySide, AnErrorComesBackAndEndsTheRest) {
  const WithThreads set(2);
  std::atomic<int> begun{0};
  const auto work = [&](std::size_t) {
    ++begun;
    throw std::runtime_error("no");
  };
  EXPECT_THROW(run_side_by_side(1000, 2, work), std::runtime_error);
  EXPECT_LE(begun, 2);
}

// oneDNN's kernel for these sizes, where a machine has AVX2, waits for a second thread if it may have one.
TEST(SideBySide, GradientsOfConvolutionsComeToAnEnd) {
  const WithThreads set(2);
  const auto x = at::randn({3, 6, 7, 3}), weight = at::randn({1, 6, 2, 2}),
             gradient = at::randn({3, 1, 6, 2});
  const auto run = [&] {
    return std::get<1>(at::convolution_backward(gradient, x, weight, at::IntArrayRef({1}), {1, 1}, {0, 0},
                                                {1, 1}, false, {0, 0}, 1, {false, true, false}));
  };
  const auto expected = run();
  at::Tensor inside;
  run_side_by_side(1, 1, [&](std::size_t) { inside = run(); });
  EXPECT_TRUE(inside.allclose(expected, 1e-4, 1e-5));
}

}  // namespace
}  // namespace wide
