// Kills and crowds: writers that die at any moment, and several at once.

#include <SQLiteCpp/SQLiteCpp.h>
#include <gtest/gtest.h>

#include <csignal>
#include <cstdlib>
#include <set>

#include "formats/error.h"
#include "profiler/random.h"
#include "results/store.h"
#include "tests/results/children.h"
#include "tests/results/sample_records.h"

namespace wide::results {
namespace {

using test::passed_case;
using test::sample_run;
using test::soak;
using test::start_child;
using test::TemporaryFolder;
using test::wait_for;

std::string integrity(const std::filesystem::path& path) {
  SQLite::Database db(path.string(), SQLite::OPEN_READWRITE);
  return db.execAndGet("PRAGMA integrity_check").getString() +
         db.execAndGet("SELECT count(*) FROM pragma_foreign_key_check").getString();
}

/// A sweep as the runner does it: resume or begin, store what is missing, tell each key once it is
/// stored.
void sweep_and_tell(const std::filesystem::path& path, int cases, int tell) {
  Store store = Store::open(path, OpenMode::kReadWrite);
  RunRecord run = sample_run();
  run.uid.clear();
  run.status = RunStatus::kRunning;
  const auto id = store.unfinished_run(run.settings, run.machine);
  const std::int64_t target = id ? *id : store.begin_run(run);
  const auto done = store.finished_cases(target);
  for (int i = 0; i < cases; ++i) {
    const std::string key = "case " + std::to_string(i);
    if (done.contains(key)) continue;
    store.add_case(target, passed_case(key));
    if (::write(tell, (key + "\n").data(), key.size() + 1) < 0) return;
  }
  store.finish_run(target, RunStatus::kDone);
}

/// Reads `end` until it closes and cuts the text into lines.
std::vector<std::string> lines_of(int end) {
  std::vector<std::string> lines(1);
  std::array<char, 4096> buffer{};
  for (ssize_t got = 0; (got = ::read(end, buffer.data(), buffer.size())) > 0;) {
    for (ssize_t i = 0; i < got; ++i) {
      if (buffer[i] == '\n') {
        lines.emplace_back();
      } else {
        lines.back() += buffer[i];
      }
    }
  }
  lines.pop_back();  // what a kill cut off, or nothing
  return lines;
}

TEST(CrashTest, AKillLosesNothingThatWasAcknowledgedAndDoublesNothing) {
  const TemporaryFolder folder;
  const auto path = folder / "r.db";
  const int kKills = soak() ? 1000 : 200;
  const int kCases = 1'000'000;  // more than can be stored before the last kill
  profiler::Random random(7);
  std::set<std::string> acknowledged;
  std::size_t redone = 0;
  for (int kill = 0; kill < kKills; ++kill) {
    std::array<int, 2> ends{};
    ASSERT_EQ(::pipe(ends.data()), 0);
    const pid_t child = start_child([&] {
      ::close(ends[0]);
      sweep_and_tell(path, kCases, ends[1]);
    });
    ::close(ends[1]);
    ::usleep(3'000 + random.below(80'000));
    ::kill(child, SIGKILL);
    EXPECT_EQ(wait_for(child), -1) << "the child ended on its own";
    for (const auto& key : lines_of(ends[0])) redone += !acknowledged.insert(key).second;
    ::close(ends[0]);
    if (!std::filesystem::exists(path) || std::filesystem::file_size(path) == 0) continue;
    ASSERT_EQ(integrity(path), "ok0") << "after kill " << kill;
  }
  ASSERT_GT(acknowledged.size(), 10u);
  EXPECT_EQ(redone, 0u);
  const Store store = Store::open(path, OpenMode::kReadWrite);
  ASSERT_EQ(store.runs().size(), 1u);  // each start resumed the same run
  const auto cases = store.cases(store.runs()[0].id);
  std::set<std::string> stored;
  for (const auto& record : cases) {
    EXPECT_TRUE(stored.insert(record.key).second) << record.key << " is there twice";
    ASSERT_EQ(test::describe(record), test::describe(passed_case(record.key)));  // whole, with every sample
  }
  for (const auto& key : acknowledged) EXPECT_TRUE(stored.contains(key)) << key << " was lost";
  EXPECT_LE(stored.size(),
            acknowledged.size() + static_cast<std::size_t>(kKills));  // at most the one in flight, each time
}

TEST(CrashTest, SeveralProcessesWriteAtOnce) {
  const TemporaryFolder folder;
  const auto path = folder / "r.db";
  const int kWriters = 8, kReaders = 4, kCases = soak() ? 10'000 : 60;
  std::vector<pid_t> children;
  for (int writer = 0; writer < kWriters; ++writer) {
    children.push_back(start_child([&] {  // all of them also race to create the file
      Store store = Store::open(path, OpenMode::kReadWrite);
      RunRecord run = sample_run();
      run.uid = "writer " + std::to_string(writer);
      const auto id = store.begin_run(run);
      for (int i = 0; i < kCases; ++i) store.add_case(id, passed_case(std::to_string(i)));
      store.finish_run(id, RunStatus::kDone);
    }));
  }
  for (int reader = 0; reader < kReaders; ++reader) {
    children.push_back(start_child([&] {
      while (!std::filesystem::exists(path)) ::usleep(1000);
      const Store store = Store::open(path, OpenMode::kReadWrite);
      for (int i = 0; i < 20; ++i) {
        for (const auto& run : store.runs()) {
          if (store.cases(run.id).size() < static_cast<std::size_t>(run.cases))
            throw Error("test", "a case went away");
        }
      }
    }));
  }
  ::usleep(30'000);
  ::kill(children[0], SIGSTOP);  // one sleeps for a while, wherever it is
  ::usleep(500'000);
  ::kill(children[0], SIGCONT);
  for (const pid_t child : children) EXPECT_EQ(wait_for(child), 0);
  EXPECT_EQ(integrity(path), "ok0");
  const Store store = Store::open(path, OpenMode::kReadOnly);
  const auto runs = store.runs();
  ASSERT_EQ(runs.size(), static_cast<std::size_t>(kWriters));
  for (const auto& run : runs) {
    EXPECT_EQ(run.cases, kCases);
    EXPECT_EQ(run.status, RunStatus::kDone);
  }
}

}  // namespace
}  // namespace wide::results
