// Cancelling in the midst of work, and going on with a sweep that was stopped.
#include <chrono>
#include <thread>

#include "gui/results_bed.h"

namespace wide::test {
namespace {

using gui::JobState;
using gui::JobView;
using Clock = std::chrono::steady_clock;

constexpr double kLongest = 2;  // seconds from the click to the end of the work

double seconds_since(Clock::time_point when) {
  return std::chrono::duration<double>(Clock::now() - when).count();
}

JobView newest() {
  const auto jobs = bench().jobs.list();
  return jobs.empty() ? JobView{} : jobs.front();
}

// Draws until `reached`; false after so many seconds.
template <typename Reached>
bool draw_until(ImGuiTestContext* ctx, const Reached& reached, double longest = 60) {
  for (const auto begun = Clock::now(); seconds_since(begun) < longest;) {
    ctx->Yield();
    if (reached()) return true;
    std::this_thread::sleep_for(std::chrono::milliseconds(2));
  }
  return false;
}

// Clicks Cancel beside the newest job, and says how long it took to end.
double cancelled_after(ImGuiTestContext* ctx) {
  const auto id = newest().id;
  show(ctx, "jobs");
  ctx->Yield(2);
  const auto button = "//###Jobs/$$" + std::to_string(id) + "/Cancel";
  ctx->MouseMove(button.c_str());
  const auto asked = Clock::now();
  ctx->MouseClick();
  draw_until(ctx, [&] { return bench().jobs.find(id)->state >= JobState::kDone; });
  const double seconds = seconds_since(asked);
  ctx->LogInfo("%s ended %.2f s after the click", bench().jobs.find(id)->title.c_str(), seconds);
  IM_CHECK_RETV(bench().jobs.find(id)->state == JobState::kCancelled, 1e9);
  ctx->Yield(2);  // a job ends between two frames; the next one takes note of it
  return seconds;
}

bool runs_for(ImGuiTestContext* ctx, double seconds) {
  if (!draw_until(ctx, [] { return newest().state == JobState::kRunning; })) return false;
  const auto id = newest().id;
  draw_until(ctx, [&] { return bench().jobs.find(id)->seconds > seconds; });
  return bench().jobs.find(id)->state == JobState::kRunning;
}

// A model whose proof takes seconds: many members, each of them run alone.
void with_many_members(ImGuiTestContext* ctx) {
  with_no_results(ctx);
  bench().open_source({.subject = "minigpt", .copies = 400});
  settle(ctx);
}

void validating(ImGuiTestContext* ctx) {
  with_many_members(ctx);
  bench().commands.run("strategies.validate");
  IM_CHECK(runs_for(ctx, 0.1));
  IM_CHECK_LT(cancelled_after(ctx), kLongest);
  IM_CHECK(!bench().session.proof);
  IM_CHECK(noticed("Cancelled"));
  // What was cut short leaves nothing behind: the sample is still proved right afterwards.
  bench().open_source({.subject = "resblock", .copies = 2});
  settle(ctx);
  bench().commands.run("strategies.validate");
  settle(ctx);
  IM_CHECK(bench().session.proof && bench().session.proof->passed);
}

void building(ImGuiTestContext* ctx) {
  with_many_members(ctx);
  const auto before = bench().session.model;
  bench().session.wish.all = "sequential";
  ctx->Yield(2);
  bench().commands.run("strategies.build");
  const auto id = newest().id;
  bench().jobs.cancel(id);
  const auto asked = Clock::now();
  draw_until(ctx, [&] { return bench().jobs.find(id)->state >= JobState::kDone; });
  IM_CHECK_LT(seconds_since(asked), kLongest);
  IM_CHECK(bench().jobs.find(id)->state == JobState::kCancelled);
  IM_CHECK(bench().session.model == before);
  IM_CHECK(bench().session.edited());  // the choice is not lost
}

void timing_strategies(ImGuiTestContext* ctx) {
  with_no_results(ctx);
  bench().open_source({.subject = "vit", .copies = 48});
  settle(ctx);
  bench().commands.run("strategies.measure");
  IM_CHECK(runs_for(ctx, 0.8));
  IM_CHECK_LT(cancelled_after(ctx), kLongest);
}

void profiling(ImGuiTestContext* ctx) {
  with_no_results(ctx);
  panels().profile->form = {.subject = "minigpt", .preset = "ci", .members = 24};
  bench().commands.run("profile.start");
  IM_CHECK(runs_for(ctx, 0.5));
  IM_CHECK_LT(cancelled_after(ctx), kLongest);
  IM_CHECK(!panels().profile->data);
}

// A sweep of a few cases that is cancelled after the first one. Leaves its run in the database.
void with_interrupted_sweep(ImGuiTestContext* ctx) {
  with_no_results(ctx);
  show(ctx, "sweep");
  bench().commands.run("sweep.take_command", "widebench benchmark linear mlp softmax -p ci -n 2");
  ctx->Yield(2);
  bench().commands.run("sweep.start");
  IM_CHECK(draw_until(ctx, [] { return panels().sweep->progress.done >= 1; }));
  IM_CHECK_LT(cancelled_after(ctx), kLongest);
  settle(ctx);
  IM_CHECK(panels().sweep->run != nullptr);
  IM_CHECK(panels().sweep->run->run.status == results::RunStatus::kInterrupted);
  IM_CHECK_LT(panels().sweep->run->cases.size(), 3u);
}

void sweeping_goes_on(ImGuiTestContext* ctx) {
  with_interrupted_sweep(ctx);
  panels().sweep->form = {.preset = "quick"};  // another form changes nothing: the run knows its cases
  const auto run = panels().sweep->run->run.id;
  show(ctx, "sweep");
  ctx->ItemClick("//###Sweep/###resume");
  settle(ctx);
  IM_CHECK_EQ(panels().sweep->run->run.id, run);
  IM_CHECK(panels().sweep->run->run.status == results::RunStatus::kDone);
  IM_CHECK_EQ(panels().sweep->run->cases.size(), 3u);
  IM_CHECK(bench().commands.refusal("sweep.resume").find("is done") != std::string::npos);
}

// As after the window or the machine went down: all that is left is the history.
void a_run_of_the_history_goes_on(ImGuiTestContext* ctx) {
  with_interrupted_sweep(ctx);
  {
    auto store = results::Store::open(database(), results::OpenMode::kReadWrite);
    store.finish_run(1, results::RunStatus::kRunning);
  }
  fresh(ctx);
  settle(ctx);
  show(ctx, "history");
  settle(ctx);
  bench().commands.run("history.look", "1");
  settle(ctx);
  IM_CHECK_STR_EQ(bench().commands.refusal("history.resume").c_str(), "");
  ctx->ItemClick("//###History/##tabs/Run/###resume");
  settle(ctx);
  IM_CHECK(!ctx->GetWindowByRef("//###Sweep")->Hidden);
  IM_CHECK(panels().sweep->run->run.status == results::RunStatus::kDone);
  IM_CHECK_EQ(panels().sweep->run->cases.size(), 3u);
  show(ctx, "history");
  settle(ctx);
  IM_CHECK_EQ(panels().history->data->runs.size(), 1u);
}

void what_cannot_go_on_says_why(ImGuiTestContext* ctx) {
  const auto runs = with_history(ctx);  // of a made-up machine
  bench().commands.run("history.look", std::to_string(runs[0]));
  settle(ctx);
  IM_CHECK(bench().commands.refusal("history.resume").find("is done") != std::string::npos);
  {
    auto store = results::Store::open(database(), results::OpenMode::kReadWrite);
    store.finish_run(runs[1], results::RunStatus::kInterrupted);
  }
  bench().commands.run("history.look", std::to_string(runs[1]));
  settle(ctx);
  IM_CHECK(bench().commands.refusal("history.resume").find("another machine") != std::string::npos);
}

}  // namespace

void add_cancel_tests(ImGuiTestEngine* engine) {
  const auto add = [engine](const char* name, ImGuiTestTestFunc* test) {
    IM_REGISTER_TEST(engine, "cancel", name)->TestFunc = test;
  };
  add("validating", validating);
  add("building", building);
  add("timing strategies", timing_strategies);
  add("profiling", profiling);
  add("sweeping goes on", sweeping_goes_on);
  add("a run of the history goes on", a_run_of_the_history_goes_on);
  add("what cannot go on says why", what_cannot_go_on_says_why);
}

}  // namespace wide::test
