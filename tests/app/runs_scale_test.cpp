// 100,000 cases in a thousand runs: seconds and memory of the commands on
// them, as a user starts them. ctest runs nothing beside it.
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <fcntl.h>
#include <chrono>
#include <cstdio>
#include <cstdlib>

#include "results/case_store.h"
#include "results/database.h"
#include "results/run_store.h"
#include "tests/machine_speed.h"
#include "tests/results/sample_records.h"

namespace wide {
namespace {

using results::test::TemporaryFolder;

#if defined(NDEBUG) && !defined(__SANITIZE_ADDRESS__)
constexpr bool kTimed = true;
#else
constexpr bool kTimed = false;
#endif

/// Runs of cases that all differ in their number of members and share a subject.
void fill(const std::filesystem::path& path, int runs, int cases) {
  auto db = results::open_database(path, results::OpenMode::kReadWrite);
  SQLite::Transaction transaction(db);
  auto run = results::test::sample_run();
  auto record = results::test::passed_case();
  while (record.samples.size() < 24) record.samples.push_back(record.samples[record.samples.size() % 8]);
  results::CaseWriter writer(db);
  for (int i = 0; i < runs; ++i) {
    run.uid.clear();
    run.origin = "measured";
    const auto id = results::insert_run(db, run);
    for (int n = 1; n <= cases; ++n) {
      record.n = n;
      record.key = "mlp/n=" + std::to_string(n) + "/batch=3/float32/cpu/eager/auto";
      record.subject = "mlp";
      writer.insert(id, record);
    }
  }
  transaction.commit();
}

struct Cost {
  int code = -1;
  double seconds = 0, mebibytes = 0;
};

Cost run(const std::vector<std::string>& arguments) {
  std::vector<char*> argv{const_cast<char*>(WIDEBENCH_FAKE)};
  for (const auto& argument : arguments) argv.push_back(const_cast<char*>(argument.c_str()));
  argv.push_back(nullptr);
  const auto start = std::chrono::steady_clock::now();
  const pid_t child = ::fork();
  if (child == 0) {
    const int nowhere = ::open("/dev/null", O_WRONLY);
    ::dup2(nowhere, STDOUT_FILENO);
    ::execv(argv[0], argv.data());
    ::_exit(127);
  }
  int status = 0;
  rusage used{};
  ::wait4(child, &status, 0, &used);
  const std::chrono::duration<double> seconds = std::chrono::steady_clock::now() - start;
  Cost cost{WIFEXITED(status) ? WEXITSTATUS(status) : -1, seconds.count(),
            static_cast<double>(used.ru_maxrss) / 1024};
  std::printf("%-28s %5.2f s %5.0f MiB\n", (arguments[0] + " " + arguments[1]).c_str(), cost.seconds,
              cost.mebibytes);
  return cost;
}

class RunsScale : public testing::Test {
 protected:
  void SetUp() override { ::setenv("XDG_CACHE_HOME", folder_.path().c_str(), 1); }

  void expect(const std::vector<std::string>& arguments, double most_seconds, int code = 0) {
    auto words = arguments;
    words.insert(words.end(), {"--db", (folder_ / "r.db").string()});
    const auto cost = run(words);
    EXPECT_EQ(cost.code, code) << arguments[1];
    if (!kTimed) return;
    EXPECT_LT(cost.seconds, most_seconds * allowance_.now()) << arguments[1];
    EXPECT_LT(cost.mebibytes, 300) << arguments[1];
  }

  TemporaryFolder folder_;
  wide::test::Allowance allowance_;
};

TEST_F(RunsScale, AThousandRunsOfAHundredCases) {
  fill(folder_ / "r.db", 1000, 100);
  expect({"runs", "list"}, 0.5);
  expect({"runs", "show", "latest"}, 6);  // the first to read cases checks the whole file
  expect({"runs", "show", "latest"}, 0.5);
  expect({"runs", "show", "7", "--json"}, 0.5);
  expect({"runs", "delete", "8"}, 0.5);
  expect({"runs", "list"}, 0.5);
  expect({"runs", "compare", "7", "latest"}, 3);
  expect({"runs", "trend", "mlp"}, 3);
  expect({"runs", "trend", "mlp", "--json"}, 3);
}

TEST_F(RunsScale, TwoRunsOfFiftyThousandCases) {
  fill(folder_ / "r.db", 2, 50'000);
  expect({"runs", "list"}, 0.5);
  expect({"runs", "trend", "none"}, 6, 2);  // checks the whole file, and finds no such subject
  expect({"runs", "compare", "1", "2"}, 3);
  expect({"runs", "compare", "1", "2", "--json"}, 3);
}

}  // namespace
}  // namespace wide
