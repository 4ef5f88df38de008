// The public interface from several threads, cancelled, and after a fork.
#include <ATen/ATen.h>
#include <ATen/Parallel.h>
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>
#include <wide/model.h>

#include <atomic>
#include <chrono>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "core/api_bed.h"

namespace {

using widebench::Error;
using widebench::MemberWeights;
using widebench::test::inputs_for;
using widebench::test::opened;
using widebench::test::stage_of;

TEST(ApiThreads, OneModelFromSeveralThreads) {
  auto model = opened("mlp");
  const auto inputs = inputs_for(model);
  const auto expected = model.forward(inputs).at(0).tensor;
  std::atomic<int> wrong{0};
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&, t] {
      for (int k = 0; k < 25; ++k) {
        if (t == 3) {  // the same members again, while the others run
          std::vector<MemberWeights> same;
          for (std::int64_t i = 0; i < model.size(); ++i)
            same.push_back({model.names()[static_cast<std::size_t>(i)], {}, i});
          model.replace_members(same);
        } else if (!at::equal(model.forward(inputs).at(0).tensor, expected)) {
          ++wrong;
        }
      }
    });
  }
  for (auto& thread : threads) thread.join();
  EXPECT_EQ(wrong, 0);
}

TEST(ApiThreads, CancelledPlanningLeavesTheModelUsable) {
  auto model = opened("resblock", {.seconds = 60});
  const auto inputs = inputs_for(model);
  std::string stage = "none";
  std::thread planning([&] { stage = stage_of([&] { model.prepare(inputs); }); });
  for (int k = 0; k < 500 && model.progress().empty(); ++k)
    std::this_thread::sleep_for(std::chrono::milliseconds(2));
  const bool measuring = !model.progress().empty();
  model.cancel();
  planning.join();
  EXPECT_TRUE(stage == "plan" || (stage.empty() && !measuring)) << stage;  // empty: it was done before
  EXPECT_EQ(model.progress(), "");
  model.cancel();
  EXPECT_EQ(stage_of([&] { model.forward(inputs); }), "");  // what was cancelled is not cancelled for ever
}

TEST(ApiThreads, RefusedAfterFork) {
  auto model = opened("mlp");
  const auto inputs = inputs_for(model);
  model.prepare(inputs);
  const auto child = ::fork();
  if (child == 0) {
    try {
      model.forward(inputs);
    } catch (const Error& error) {
      ::_exit(std::string_view(error.what()).find("forked") != std::string_view::npos ? 0 : 1);
    } catch (...) {
      ::_exit(2);
    }
    ::_exit(3);
  }
  int status = -1;
  ASSERT_EQ(::waitpid(child, &status, 0), child);
  EXPECT_EQ(status, 0);
  if (at::get_num_threads() == 1) return;
  // A new model would wait for ever for threads that are not there.
  const auto second = ::fork();
  if (second == 0) {
    ::alarm(60);
    ::_exit(stage_of([&] { opened("mlp").forward(inputs); }) == "run" ? 0 : 1);
  }
  ASSERT_EQ(::waitpid(second, &status, 0), second);
  EXPECT_EQ(status, 0);
  EXPECT_EQ(stage_of([&] { model.forward(inputs); }), "");
}

}  // namespace
