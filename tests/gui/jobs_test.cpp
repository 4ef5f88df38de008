// Jobs: progress, cancel, failures, lanes; the log.
#include <atomic>
#include <chrono>
#include <stdexcept>
#include <thread>

#include "gui/bed.h"

namespace wide::test {
namespace {

using gui::Apply;
using gui::JobContext;
using gui::JobState;
using gui::Lane;
using gui::Level;

void nap() {
  std::this_thread::sleep_for(std::chrono::milliseconds(2));
}

Apply until_cancelled(const JobContext& context) {
  context.progress(0.5, "half");
  while (!context.cancelled()) nap();
  context.check();
  return {};
}

// Draws until the newest job is in this state.
bool reaches(ImGuiTestContext* ctx, JobState state) {
  for (int i = 0; i < 2000; ++i) {
    ctx->Yield();
    const auto jobs = bench().jobs.list();
    if (!jobs.empty() && jobs.front().state == state) return true;
    nap();
  }
  return false;
}

void progress_and_cancel(ImGuiTestContext* ctx) {
  fresh(ctx);
  show(ctx, "jobs");
  const auto id = bench().jobs.start(Lane::kFiles, "Long work", until_cancelled);
  IM_CHECK(reaches(ctx, JobState::kRunning));
  ctx->Yield(3);
  ctx->ItemClick(("//###Jobs/$$" + std::to_string(id) + "/Cancel").c_str());
  IM_CHECK(reaches(ctx, JobState::kCancelled));
  ctx->Yield(3);
  IM_CHECK(noticed("Cancelled"));
  ctx->ItemClick("//###Jobs/Clear the finished");
  ctx->Yield(2);
  IM_CHECK(bench().jobs.list().empty());
}

// The window does not wait for a model that is being read.
void the_end_does_not_wait_for_the_engine(ImGuiTestContext*) {
  std::atomic<bool> begun = false, done = false;
  gui::Jobs jobs;
  jobs.start(Lane::kEngine, "Deaf", [&](const JobContext&) -> Apply {
    begun = true;
    while (!done) nap();
    return {};
  });
  jobs.start(Lane::kFiles, "Hearing", until_cancelled);
  while (!begun) nap();
  IM_CHECK(!jobs.end(std::chrono::milliseconds(50)));
  done = true;
  IM_CHECK(jobs.end(std::chrono::seconds(60)));
}

void failures_are_told(ImGuiTestContext* ctx) {
  fresh(ctx);
  bench().jobs.start(Lane::kFiles, "Reading", [](const JobContext&) -> Apply {
    throw std::runtime_error("the file is gone; try another");
  });
  settle(ctx);
  IM_CHECK(noticed("the file is gone; try another"));
  IM_CHECK(bench().jobs.list().front().state == JobState::kFailed);
  IM_CHECK(bench().notices.log_text().find("error  Reading did not work: the file is gone") !=
           std::string::npos);
}

void results_come_on_the_windows_thread(ImGuiTestContext* ctx) {
  fresh(ctx);
  std::atomic<int> steps = 0;
  bench().jobs.start(Lane::kFiles, "Counting", [&steps](const JobContext& context) -> Apply {
    const auto worker = std::this_thread::get_id();
    context.post([&steps, worker] { steps += std::this_thread::get_id() != worker ? 1 : 100; });
    return [&steps, worker] { steps += std::this_thread::get_id() != worker ? 1 : 100; };
  });
  settle(ctx);
  IM_CHECK_EQ(steps.load(), 2);
}

void lanes(ImGuiTestContext* ctx) {
  fresh(ctx);
  std::atomic<bool> built = false;
  const auto measuring = bench().jobs.start(Lane::kMeasure, "Timing", until_cancelled);
  IM_CHECK(reaches(ctx, JobState::kRunning));
  IM_CHECK(bench().jobs.measuring());
  bench().jobs.start(Lane::kEngine, "Building", [&built](const JobContext&) -> Apply {
    built = true;
    return {};
  });
  const auto reading =
      bench().jobs.start(Lane::kFiles, "Reading", [](const JobContext&) -> Apply { return [] {}; });
  bench().open_source({.subject = "mlp"});
  IM_CHECK(noticed("Opening mlp") && noticed("begins when that is done"));
  for (int i = 0; i < 20; ++i) ctx->Yield(), nap();
  IM_CHECK(!built);  // nothing of ours runs beside what is timed
  IM_CHECK(bench().jobs.find(reading)->state == JobState::kDone);
  bench().jobs.cancel(measuring);
  settle(ctx);
  IM_CHECK(built);
}

void waiting_jobs_cancel(ImGuiTestContext* ctx) {
  fresh(ctx);
  const auto first = bench().jobs.start(Lane::kFiles, "First", until_cancelled);
  const auto second = bench().jobs.start(Lane::kFiles, "Second", until_cancelled);
  bench().jobs.cancel(second);
  bench().jobs.cancel(first);
  settle(ctx);
  for (const auto id : {first, second})  // the window itself may have read something meanwhile
    IM_CHECK(bench().jobs.find(id)->state == JobState::kCancelled);
}

void the_window_never_waits(ImGuiTestContext* ctx) {
  fresh(ctx);
  bench().commands.run("file.sample");
  double slowest = 0;
  while (bench().jobs.busy()) {
    const auto begun = std::chrono::steady_clock::now();
    ctx->Yield();
    slowest =
        std::max(slowest, std::chrono::duration<double>(std::chrono::steady_clock::now() - begun).count());
  }
  settle(ctx);
  IM_CHECK(bench().session.model != nullptr);
  IM_CHECK_LT(slowest, 1.0);  // a frame by software rendering on a busy machine, no load or build
}

void log_filters(ImGuiTestContext* ctx) {
  fresh(ctx);
  bench().notices.log(Level::kInfo, "opened resblock");
  bench().notices.log(Level::kError, "a fault");
  show(ctx, "log");
  ctx->ItemClick("//###Log/###copy");
  ctx->Yield(2);
  IM_CHECK(clipboard().find("opened resblock") != std::string::npos &&
           clipboard().find("error  a fault") != std::string::npos);
  pick(ctx, "//###Log/##least", "**/error");
  ctx->ItemInputValue("//###Log/##filter", "fault");
  ctx->Yield(2);
}

void the_log_is_bounded(ImGuiTestContext* ctx) {
  fresh(ctx);
  for (int i = 0; i < 6000; ++i) bench().notices.log(Level::kInfo, "line " + std::to_string(i));
  show(ctx, "log");
  ctx->Yield(3);
  IM_CHECK_EQ(bench().notices.lines().size(), 5000U);
  IM_CHECK(bench().notices.lines().back().text == "line 5999");
}

}  // namespace

void add_jobs_tests(ImGuiTestEngine* engine) {
  const auto add = [engine](const char* name, ImGuiTestTestFunc* test) {
    IM_REGISTER_TEST(engine, "jobs", name)->TestFunc = test;
  };
  add("progress and cancel", progress_and_cancel);
  add("failures are told", failures_are_told);
  add("the end does not wait for the engine", the_end_does_not_wait_for_the_engine);
  add("results come on the window's thread", results_come_on_the_windows_thread);
  add("lanes", lanes);
  add("waiting jobs cancel", waiting_jobs_cancel);
  add("the window never waits", the_window_never_waits);
  add("log filters", log_filters);
  add("the log is bounded", the_log_is_bounded);
}

}  // namespace wide::test
