#include "presets/sweep.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <fstream>
#include <thread>

#include "formats/error.h"
#include "processes/process.h"

namespace wide::presets {
namespace {

using results::CaseRecord;
using results::Verdict;
using testing::AllOf;
using testing::HasSubstr;

CaseSpec spec(std::string subject, std::int64_t n = 4) {
  return {.subject = std::move(subject), .kind = "primitive", .n = n, .shape = {{"batch", 3}}};
}

SweepOptions options() {
  return {.worker = {WIDEBENCH_FAKE_WORKER}, .timeout_seconds = 20};
}

std::vector<CaseRecord> sweep(const std::vector<CaseSpec>& specs, const SweepOptions& with = options()) {
  std::vector<CaseRecord> records;
  Sink sink{
      .finished = [&](const CaseSpec&, const CaseRecord& record, std::size_t) { records.push_back(record); }};
  EXPECT_EQ(run_sweep(specs, with, sink), SweepEnd::kDone);
  EXPECT_EQ(records.size(), specs.size());
  return records;
}

double now() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

TEST(Sweep, RecordsWhatTheWorkerSends) {
  const auto record = sweep({spec("mlp", 8)}).at(0);
  EXPECT_EQ(record.verdict, Verdict::kPass);
  EXPECT_EQ(record.key, "mlp/n=8/batch=3/float32/cpu/eager/auto");
  EXPECT_TRUE(record.speedup.known());
  EXPECT_NEAR(record.speedup.value, 8, 0.1);
  EXPECT_EQ(record.best_rival, "threads");
  EXPECT_EQ(record.samples.size(), 4u * 12u);
  EXPECT_FALSE(record.started.empty());
  EXPECT_GT(record.seconds, 0);
}

TEST(Sweep, TimeThatItWasItselfStoppedForIsNotItsWorkers) {
  const pid_t sweep = ::fork();
  if (sweep == 0) {
    const auto outcome = processes::run_process({.argv = {"/bin/sleep", "3"}, .timeout_seconds = 1.9});
    ::_exit(outcome.end == processes::ProcessEnd::kExited ? 0 : 1);
  }
  std::this_thread::sleep_for(std::chrono::milliseconds(200));
  ::kill(sweep, SIGSTOP);
  std::this_thread::sleep_for(std::chrono::milliseconds(2200));
  ::kill(sweep, SIGCONT);
  int status = 0;
  ASSERT_EQ(::waitpid(sweep, &status, 0), sweep);
  EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0) << status;
}

struct Mishap {
  std::string subject;
  Verdict verdict;
  std::string reason;
};
void PrintTo(const Mishap& mishap, std::ostream* out) {
  *out << mishap.subject;
}

class Mishaps : public testing::TestWithParam<Mishap> {};

TEST_P(Mishaps, CostThatCaseOnly) {
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
  if (GetParam().subject == "exhaust")
    GTEST_SKIP() << "a sanitizer ends a process that is out of memory in a way of its own";
#endif
  auto with = options();
  with.timeout_seconds = GetParam().subject == "hang" ? 0.5 : 20;
  if (GetParam().subject == "exhaust") with.memory_limit_bytes = std::uint64_t{512} << 20;
  const auto records = sweep({spec("before"), spec(GetParam().subject), spec("after")}, with);
  EXPECT_EQ(records[0].verdict, Verdict::kPass);
  EXPECT_EQ(records[1].verdict, GetParam().verdict) << records[1].reason;
  EXPECT_THAT(records[1].reason, HasSubstr(GetParam().reason));
  EXPECT_EQ(records[1].reason.find('\n'), std::string::npos);
  EXPECT_FALSE(records[1].speedup.known());
  EXPECT_EQ(records[1].key, spec(GetParam().subject).key());
  EXPECT_EQ(records[2].verdict, Verdict::kPass);
}

INSTANTIATE_TEST_SUITE_P(Sweep, Mishaps,
                         testing::Values(Mishap{"fail", Verdict::kFail, "member 1 is wrong"},
                                         Mishap{"skipped", Verdict::kSkipped, "no rule"},
                                         Mishap{"throw", Verdict::kError, "aten.sort"},
                                         Mishap{"crash", Verdict::kError, "SIGSEGV"},
                                         Mishap{"abort", Verdict::kError, "SIGABRT (Aborted): last words"},
                                         Mishap{"overflow", Verdict::kError, "SIGSEGV"},
                                         Mishap{"hang", Verdict::kTimeout, "within 0.5 s"},
                                         Mishap{"oom", Verdict::kOom, "memory ran out"},
                                         Mishap{"library_oom", Verdict::kOom, "can't allocate memory"},
                                         Mishap{"uncaught_oom", Verdict::kOom, "memory ran out"},
                                         Mishap{"exhaust", Verdict::kOom, "memory ran out"},
                                         Mishap{"garbage", Verdict::kError, "cannot be read"},
                                         Mishap{"silent", Verdict::kError, "(code 0), but without a result"},
                                         Mishap{"other", Verdict::kError, "another case"},
                                         Mishap{"unproved", Verdict::kError, "nothing was checked"},
                                         Mishap{"exit3", Verdict::kError, "code 3: cannot go on"}),
                         [](const auto& row) { return row.param.subject; });

TEST(Sweep, OutputOfAWorkerDoesNotBlockNorSpoilItsRecord) {
  EXPECT_EQ(sweep({spec("chatty")}).at(0).verdict, Verdict::kPass);
}

TEST(Sweep, AProcessLeftBehindIsKilledAndNotWaitedFor) {
  const double start = now();
  EXPECT_EQ(sweep({spec("straggler")}).at(0).verdict, Verdict::kPass);
  EXPECT_LT(now() - start, 10);
}

TEST(Sweep, AWorkerKilledByTheKernelSaysSo) {
  // Whether the kernel did it is read from its own count, which this kill does not raise where it can be
  // read.
  const auto record = sweep({spec("killed")}).at(0);
  const bool counted = std::ifstream("/proc/vmstat").good();
  EXPECT_EQ(record.verdict, counted ? Verdict::kError : Verdict::kOom) << record.reason;
  EXPECT_THAT(record.reason, HasSubstr("SIGKILL"));
}

TEST(Sweep, StopsWithinTwoSecondsAndLeavesNoWorker) {
  std::atomic<int> stop = 0;
  auto with = options();
  with.stop = &stop;
  int finished = 0;
  double asked = 0;
  Sink sink{.starting =
                [&](const CaseSpec& started, std::size_t) {
                  if (started.subject != "hang") return;
                  std::thread([&] {
                    std::this_thread::sleep_for(std::chrono::milliseconds(200));
                    asked = now();
                    stop = SIGINT;
                  }).detach();
                },
            .finished = [&](const CaseSpec&, const CaseRecord&, std::size_t) { ++finished; }};
  const std::vector<CaseSpec> specs = {spec("one"), spec("hang"), spec("never")};
  EXPECT_EQ(run_sweep(specs, with, sink), SweepEnd::kStopped);
  EXPECT_LT(now() - asked, 2);
  EXPECT_EQ(finished, 1);
}

TEST(Sweep, TellsWhenNoWorkerCanBeStarted) {
  auto with = options();
  with.worker = {"/no/such/program"};
  try {
    run_sweep(std::vector{spec("one")}, with, {});
    FAIL() << "started a program that is not there";
  } catch (const Error& error) {
    EXPECT_THAT(error.what(), AllOf(HasSubstr("/no/such/program"), HasSubstr("No such file")));
  }
}

TEST(Sweep, WhatTheSinkThrowsEndsTheSweep) {
  Sink sink{
      .finished = [](const CaseSpec&, const CaseRecord&, std::size_t) { throw Error("store", "disk full"); }};
  EXPECT_THROW(run_sweep(std::vector{spec("one")}, options(), sink), Error);
}

}  // namespace
}  // namespace wide::presets
