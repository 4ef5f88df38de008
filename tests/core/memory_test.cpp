// Memory of passes: pools, and plans that give each tensor a place.
#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include <future>
#include <random>
#include <thread>

#include "core/aten/pages.h"
#include "core/prove/prove.h"
#include "core/run/memory_plan.h"
#include "core/support.h"

// MKL's: bytes that it holds, and in how many buffers.
extern "C" std::int64_t mkl_serv_mem_stat(int* buffers) __attribute__((weak));

namespace wide::test {
namespace {

// MKL keeps buffers for each thread, and may lose them when the thread ends.
TEST(ReturnFreeMemory, LeavesThreadsToGiveBackTheirs) {
  if (mkl_serv_mem_stat == nullptr) GTEST_SKIP() << "libtorch is built without MKL";
  const auto x = at::ones({300, 300});
  const auto held_after = [&](int threads) {
    for (int i = 0; i < threads; ++i) std::thread([&] { (void)at::mm(x, x); }).join();
    int buffers = 0;
    return mkl_serv_mem_stat(&buffers);
  };
  (void)at::mm(x, x);
  return_free_memory();
  const auto few = held_after(5);
  // Lost ones were 10 MB a thread. Some more may be held by libtorch's own threads, which take turns.
  EXPECT_LT(held_after(40), few + (64 << 20));
}

// As the program does, for all tests of this one.
[[maybe_unused]] const bool used = [] {
  use_tensor_memory();
  return uses_tensor_memory();
}();

TEST(LayOut, TensorsThatLiveTogetherDoNotOverlap) {
  for (unsigned seed = 0; seed < 50; ++seed) {
    std::mt19937 random(seed);
    std::vector<Lifetime> all;
    for (std::size_t i = 0; i < 40; ++i)
      all.push_back({1 + random() % 5000, random() % 8 == 0 ? Lifetime::kNever : i + 1 + random() % 6});
    const auto layout = lay_out(all);
    std::size_t sum = 0;
    for (std::size_t a = 0; a < all.size(); ++a) {
      EXPECT_EQ(layout.offsets[a] == SlabLayout::kNowhere, all[a].freed == Lifetime::kNever);
      if (all[a].freed == Lifetime::kNever) continue;
      sum += all[a].bytes;
      EXPECT_EQ(layout.offsets[a] % 64, 0u);
      EXPECT_LE(layout.offsets[a] + all[a].bytes, layout.bytes);
      for (std::size_t b = a + 1; b < all.size() && b < all[a].freed; ++b) {
        if (all[b].freed == Lifetime::kNever) continue;
        EXPECT_TRUE(layout.offsets[a] + all[a].bytes <= layout.offsets[b] ||
                    layout.offsets[b] + all[b].bytes <= layout.offsets[a])
            << a << " and " << b;
      }
    }
    EXPECT_LT(layout.bytes, sum) << "places are used again";
  }
}

// A little program: sums of products, the last of which leaves.
at::Tensor pass(MemoryPlan& plan, MemoryPool& pool, const at::Tensor& x, int length) {
  const MemoryPlan::Pass scope(plan, pool);
  auto y = x;
  for (int i = 0; i < length; ++i) y = at::mul(y, x).add(1);
  return y;
}

TEST(MemoryPlan, RepeatsWhatItSawAndKeepsResultsOutOfTheSlab) {
  MemoryPlan plan;
  MemoryPool pool;
  const auto x = at::full({100}, 2.0);
  const auto expected = pass(plan, pool, x, 4).clone();
  EXPECT_GT(plan.statistics().planned, 4u);
  std::vector<at::Tensor> kept;
  const auto before = pool.statistics();
  for (int i = 0; i < 3; ++i) kept.push_back(pass(plan, pool, x, 4));
  for (const auto& one : kept) EXPECT_TRUE(one.equal(expected));
  EXPECT_EQ(plan.statistics().passes, 3u);
  EXPECT_EQ(plan.statistics().strayed, 0u);
  EXPECT_LE(pool.statistics().system_allocations - before.system_allocations, 3) << "the results alone";
}

TEST(MemoryPlan, AnotherCourseIsRightAndLearntAnew) {
  MemoryPlan plan;
  MemoryPool pool;
  const auto x = at::full({100}, 2.0), wide = at::full({333}, 2.0);
  pass(plan, pool, x, 4);
  for (const auto& [input, length] :
       std::vector<std::pair<at::Tensor, int>>{{x, 6}, {x, 2}, {wide, 4}, {x, 4}}) {
    MemoryPlan fresh;
    const auto expected = pass(fresh, pool, input, length);
    for (int i = 0; i < 3; ++i) EXPECT_TRUE(pass(plan, pool, input, length).equal(expected));
  }
  EXPECT_EQ(plan.statistics().strayed, 4u);
}

TEST(MemoryPlan, ATensorKeptFromTheSlabIsNotOverwritten) {
  MemoryPlan plan;
  MemoryPool pool;
  at::Tensor kept;
  const auto once = [&](bool keep) {
    const MemoryPlan::Pass scope(plan, pool);
    auto a = at::full({64}, 1.0);
    if (keep) kept = a;
    a = at::full({64}, 2.0);
    a = at::full({64}, 3.0);
  };
  once(false);
  once(true);  // unlike in the first pass
  for (int i = 0; i < 3; ++i) once(false);
  EXPECT_EQ(kept.sum().item<float>(), 64);
  EXPECT_GE(plan.statistics().strayed, 1u);
}

TEST(MemoryPlan, ModelsOfTheCorpusRunInTheirSlabs) {
  for (const auto& name : corpus_models()) {
    SCOPED_TRACE(name);
    BuildOptions options;
    options.mode = Mode::kReduceOverhead;
    auto model = corpus_model(name, 3, options);
    const auto inputs = corpus_inputs(name, 3);
    const auto proof = prove(model, inputs);
    for (const auto& check : proof.checks) EXPECT_TRUE(check.passed) << check.what << ": " << check.text;
    const auto& execution = model.build(inputs).planned.execution;
    if (model.build(inputs).random) continue;
    for (int i = 0; i < 3; ++i) model.forward(inputs);
    const auto before = model.pool().statistics();
    const auto passes = execution.memory().passes;
    for (int i = 0; i < 3; ++i) model.forward(inputs);
    EXPECT_EQ(execution.memory().passes, passes + 3);
    EXPECT_EQ(model.pool().statistics().system_allocations, before.system_allocations);
  }
}

TEST(MemoryPool, APassInSteadyStateAsksTheSystemForNothing) {
  auto model = corpus_model("mlp", 3);
  const auto inputs = corpus_inputs("mlp", 3);
  for (int i = 0; i < 2; ++i) model.forward(inputs);
  const auto before = model.pool().statistics();
  for (int i = 0; i < 5; ++i) model.forward(inputs);
  const auto after = model.pool().statistics();
  EXPECT_EQ(after.system_allocations, before.system_allocations);
  EXPECT_GT(after.reused, before.reused);
}

TEST(MemoryPool, TensorsOutliveIt) {
  at::Tensor kept;
  {
    MemoryPool pool;
    const MemoryPool::Scope scope(pool);
    kept = at::full({1000}, 3.0);
    at::full({1000}, 4.0);
    EXPECT_EQ(pool.statistics().bytes_in_use % 64, 0);
    EXPECT_GT(pool.statistics().bytes_in_use, 0);
  }
  EXPECT_EQ(kept.sum().item<float>(), 3000);
}

at::Tensor tensor_of(MemoryPool& pool, std::int64_t length = 1000) {
  const MemoryPool::Scope scope(pool);
  return at::empty({length});
}

TEST(MemoryPool, ABlockGoesBackToTheThreadThatAskedForIt) {
  MemoryPool pool;
  std::promise<at::Tensor> first, second;
  std::promise<void> freed;
  std::jthread other([&] {
    first.set_value(tensor_of(pool));
    freed.get_future().wait();
    second.set_value(tensor_of(pool));
  });
  auto its = first.get_future().get();
  auto own = tensor_of(pool);
  const auto* const its_place = its.data_ptr();
  const auto* const own_place = own.data_ptr();
  own.reset();
  its.reset();  // freed here, and last
  EXPECT_EQ(tensor_of(pool).data_ptr(), own_place);
  freed.set_value();
  EXPECT_EQ(second.get_future().get().data_ptr(), its_place);
  EXPECT_EQ(pool.statistics().system_allocations, 2);
}

TEST(MemoryPool, AThreadTakesWhatOthersLeft) {
  MemoryPool pool;
  std::jthread([&] { tensor_of(pool); }).join();
  const auto held = pool.statistics().bytes_held;
  const auto kept = tensor_of(pool);
  EXPECT_EQ(pool.statistics().system_allocations, 1);
  EXPECT_EQ(pool.statistics().reused, 1);
  EXPECT_EQ(pool.statistics().bytes_held, held);
  EXPECT_EQ(pool.statistics().bytes_in_use, held);
}

TEST(MemoryPool, ThreadsFreeEachOthersTensorsWhileItCloses) {
  constexpr int kThreads = 4, kEach = 300;
  std::vector<std::vector<at::Tensor>> made(kThreads);
  std::vector<std::jthread> threads;  // joined last: the pool goes while they free
  {
    MemoryPool pool;
    const auto make = [&](std::size_t i) {
      std::mt19937 random(static_cast<unsigned>(i));
      for (int k = 0; k < kEach; ++k) made[i].push_back(tensor_of(pool, 1 + random() % 5000).fill_(1));
    };
    for (std::size_t i = 0; i < kThreads; ++i) threads.emplace_back(make, i);
    threads.clear();
    for (std::size_t i = 0; i < kThreads; ++i) {
      threads.emplace_back([&, i] {
        for (auto& tensor : made[(i + 1) % kThreads]) {
          EXPECT_EQ(tensor.min().item<float>(), 1);
          tensor.reset();
        }
      });
    }
  }
}

TEST(MemoryPool, OutsideOfAScopeNothingIsKept) {
  MemoryPool pool;
  at::full({1000}, 3.0);
  EXPECT_EQ(pool.statistics().bytes_held, 0);
}

TEST(Mode, ThoseThatAreNotThereAreNamed) {
  EXPECT_EQ(parse_mode("reduce-overhead"), Mode::kReduceOverhead);
  expect_error([] { parse_mode("fastest"); }, "usage", {"'fastest' does not exist", "max-autotune"});
}

}  // namespace
}  // namespace wide::test
