// Sweeps as processes of their own, interrupted and killed. Seconds, not the thousand kills of a long soak:
// KILLS in the environment raises the count.
#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <spawn.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <random>
#include <thread>

#include "formats/error.h"
#include "results/store.h"
#include "tests/results/sample_records.h"

namespace wide::cli {
namespace {

using nlohmann::json;
using std::chrono::milliseconds;

class Process {
 public:
  Process(std::vector<std::string> arguments, const std::string& log) {
    arguments.insert(arguments.begin(), WIDEBENCH_FAKE);
    std::vector<char*> argv;
    for (auto& argument : arguments) argv.push_back(argument.data());
    argv.push_back(nullptr);
    posix_spawn_file_actions_t actions;
    ::posix_spawn_file_actions_init(&actions);
    ::posix_spawn_file_actions_addopen(&actions, 1, log.c_str(), O_WRONLY | O_CREAT | O_APPEND, 0600);
    ::posix_spawn_file_actions_adddup2(&actions, 1, 2);
    const int failed = ::posix_spawn(&pid_, argv[0], &actions, nullptr, argv.data(), environ);
    ::posix_spawn_file_actions_destroy(&actions);
    if (failed != 0) throw std::runtime_error("cannot start the program");
  }
  ~Process() {
    if (pid_ < 0) return;
    ::kill(pid_, SIGKILL);
    wait();
  }
  Process(const Process&) = delete;
  Process& operator=(const Process&) = delete;

  pid_t pid() const { return pid_; }
  void send(int signal) { ::kill(pid_, signal); }
  /// Exit code, or minus the signal that ended it.
  int wait() {
    int status = 0;
    ::waitpid(std::exchange(pid_, -1), &status, 0);
    return WIFSIGNALED(status) ? -WTERMSIG(status) : WEXITSTATUS(status);
  }

 private:
  pid_t pid_ = -1;
};

// Running processes started with this text among their arguments or as the program they run as workers of
// `parent`.
std::vector<pid_t> workers_of(pid_t parent) {
  std::vector<pid_t> found;
  for (const auto& entry : std::filesystem::directory_iterator("/proc")) {
    const auto name = entry.path().filename().string();
    if (name.find_first_not_of("0123456789") != std::string::npos) continue;
    std::ifstream status(entry.path() / "stat");
    std::string text;
    std::getline(status, text);
    const auto after = text.rfind(") ");
    if (after == std::string::npos) continue;
    std::istringstream fields(text.substr(after + 2));
    char state = 0;
    pid_t ppid = 0;
    fields >> state >> ppid;
    if (ppid == parent && state != 'Z') found.push_back(static_cast<pid_t>(std::stol(name)));
  }
  return found;
}

bool alive(pid_t pid) {
  std::ifstream status("/proc/" + std::to_string(pid) + "/stat");
  std::string text;
  std::getline(status, text);
  const auto after = text.rfind(") ");
  return after != std::string::npos && text.substr(after + 2, 1) != "Z";
}

bool gone_within(const std::vector<pid_t>& pids, milliseconds limit) {
  const auto start = std::chrono::steady_clock::now();
  while (std::any_of(pids.begin(), pids.end(), alive)) {
    if (std::chrono::steady_clock::now() - start > limit) return false;
    std::this_thread::sleep_for(milliseconds(10));
  }
  return true;
}

class Kill : public testing::Test {
 protected:
  void SetUp() override {
    folder_ =
        std::filesystem::path(testing::TempDir()) /
        (std::string("widebench_kill_") + testing::UnitTest::GetInstance()->current_test_info()->name());
    std::filesystem::remove_all(folder_);
    std::filesystem::create_directories(folder_);
  }
  void TearDown() override { std::filesystem::remove_all(folder_); }

  std::string path(const std::string& name) const { return (folder_ / name).string(); }

  // A preset of `count` cases of one subject.
  void write_preset(const std::string& subject, int count, const char* kind = "zoo") {
    std::vector<int> n(static_cast<std::size_t>(count));
    for (int i = 0; i < count; ++i) n[static_cast<std::size_t>(i)] = i + 1;
    const json cases =
        json::array({{{"subject", subject}, {"kind", kind}, {"shape", {{"batch", 3}}}, {"n", n}}});
    std::ofstream(path("p.json")) << json{{"schema_version", 1}, {"name", "kill"}, {"cases", cases}};
  }

  Process start() {
    return Process({"--preset", path("p.json"), "--db", path("r.db"), "--json", path("r.json"), "--resume"},
                   path("log.txt"));
  }

  // Waits until the sweep has a worker running, and gives it.
  std::vector<pid_t> worker_of(const Process& process) {
    for (int i = 0; i < 500; ++i) {
      if (auto workers = workers_of(process.pid()); !workers.empty()) return workers;
      std::this_thread::sleep_for(milliseconds(10));
    }
    return {};
  }

  results::Store store() { return results::Store::open(path("r.db"), results::OpenMode::kReadOnly); }

  // Cases stored in the first run; 0 while the database is still being made.
  std::size_t stored() {
    try {
      const auto opened = store();
      const auto runs = opened.runs();
      return runs.empty() ? 0 : opened.finished_cases(runs.front().id).size();
    } catch (const Error&) {
      return 0;
    }
  }

  bool done() {
    try {
      const auto runs = store().runs();
      return !runs.empty() && runs.front().status == results::RunStatus::kDone;
    } catch (const Error&) {
      return false;  // killed while the database was being made
    }
  }

  void await_more_than(std::size_t cases) {
    for (int i = 0; i < 1000 && stored() <= cases; ++i) std::this_thread::sleep_for(milliseconds(5));
  }

  std::filesystem::path folder_;
};

TEST_F(Kill, NothingIsLostOrDoubledAndResumeMeasuresTheRest) {
  const char* wanted = std::getenv("KILLS");
  const int kills = wanted == nullptr ? 8 : static_cast<int>(std::strtol(wanted, nullptr, 10));
  const int cases_wanted = 25 * kills;
  write_preset("mlp", cases_wanted);
  std::mt19937 random(7);  // NOLINT(cert-msc51-cpp): the same moments in every run
  std::size_t before = 0;
  for (int i = 0; i < kills; ++i) {
    auto process = start();
    // In turn: at any moment since the start, and soon after a case was stored, however slow this build is.
    if (i % 2 == 1) await_more_than(before);
    std::this_thread::sleep_for(milliseconds(static_cast<int>(random() % 100)));
    const auto workers = workers_of(process.pid());
    process.send(SIGKILL);
    process.wait();
    EXPECT_TRUE(gone_within(workers, milliseconds(1000))) << "a worker outlived the sweep";
    const auto now = stored();
    EXPECT_GE(now, before) << "a finished case was lost";
    before = now;
    if (done()) break;  // before the kill: to resume a run that is done is to begin another
  }
  if (!done()) {
    EXPECT_EQ(start().wait(), 0);
  }
  const auto opened = store();
  const auto runs = opened.runs();
  ASSERT_EQ(runs.size(), 1u) << "resume began another run";
  EXPECT_EQ(runs[0].status, results::RunStatus::kDone);
  const auto cases = opened.cases(runs[0].id);
  ASSERT_EQ(cases.size(), static_cast<std::size_t>(cases_wanted));
  for (int i = 0; i < cases_wanted; ++i) EXPECT_EQ(cases[static_cast<std::size_t>(i)].n, i + 1);
  EXPECT_GT(before, 0u) << "every kill came before the first case: the test shows nothing";
}

TEST_F(Kill, ResumeGoesOnOnlyWithEqualSettings) {
  write_preset("slow", 6);
  auto first = start();
  ASSERT_FALSE(worker_of(first).empty());
  first.send(SIGKILL);
  first.wait();
  write_preset("slow", 2);
  EXPECT_EQ(start().wait(), 0);
  EXPECT_EQ(store().runs().size(), 2u);
}

TEST_F(Kill, ARunIsGoneOnWithByItsNumber) {
  write_preset("slow", 3);
  auto first = start();
  while (stored() == 0) std::this_thread::sleep_for(milliseconds(20));
  first.send(SIGKILL);
  first.wait();
  std::filesystem::remove(path("p.json"));  // the run says all that is needed
  const std::vector<std::string> resume{"runs", "resume", "1", "--db", path("r.db")};
  EXPECT_EQ(Process(resume, path("log.txt")).wait(), 0);
  ASSERT_EQ(store().runs().size(), 1u);
  EXPECT_EQ(store().runs()[0].status, results::RunStatus::kDone);
  EXPECT_EQ(store().runs()[0].cases, 3);
  EXPECT_EQ(Process(resume, path("log.txt")).wait(), 2) << "a run that is done was begun again";
}

class Stop : public Kill, public testing::WithParamInterface<int> {};

TEST_P(Stop, EndsWithinTwoSecondsKeepsWhatIsDoneAndLeavesNothing) {
  write_preset("slow", 12);
  auto process = start();
  while (stored() == 0) std::this_thread::sleep_for(milliseconds(20));
  const auto workers = worker_of(process);
  const auto asked = std::chrono::steady_clock::now();
  process.send(GetParam());
  process.send(GetParam());  // an impatient second one changes nothing
  EXPECT_EQ(process.wait(), 128 + GetParam());
  EXPECT_LT(std::chrono::steady_clock::now() - asked, std::chrono::seconds(2));
  EXPECT_TRUE(gone_within(workers, milliseconds(500)));
  EXPECT_FALSE(std::filesystem::exists(path("r.json"))) << "half a run has no report";
  std::ifstream log(path("log.txt"));
  const std::string said{std::istreambuf_iterator<char>(log), {}};
  EXPECT_THAT(said,
              testing::HasSubstr("`widebench runs resume 1 --db " + path("r.db") + "` measures the rest"));
  const auto runs = store().runs();
  ASSERT_EQ(runs.size(), 1u);
  EXPECT_EQ(runs[0].status, results::RunStatus::kInterrupted);
  EXPECT_GT(runs[0].cases, 0);
  EXPECT_LT(runs[0].cases, 12);
  EXPECT_EQ(start().wait(), 0);
  ASSERT_EQ(store().runs().size(), 1u);
  EXPECT_EQ(store().runs()[0].cases, 12);
  EXPECT_TRUE(std::filesystem::exists(path("r.json")));
}

INSTANTIATE_TEST_SUITE_P(Signals, Stop, testing::Values(SIGINT, SIGTERM),
                         [](const auto& row) { return row.param == SIGINT ? "SIGINT" : "SIGTERM"; });

TEST_F(Kill, TwoProcessesDoNotMeasureOneRun) {
  write_preset("slow", 6);
  auto process = start();
  while (stored() == 0) std::this_thread::sleep_for(milliseconds(20));
  EXPECT_EQ(start().wait(), 2);  // it would go on with the same run
  EXPECT_EQ(process.wait(), 0);
  ASSERT_EQ(store().runs().size(), 1u);
  EXPECT_EQ(store().runs()[0].cases, 6);
  EXPECT_FALSE(std::filesystem::exists(path("r.db.run-1.lock")));
}

TEST_F(Kill, AHangingWorkerDiesWithTheSweep) {
  write_preset("hang", 1, "primitive");
  auto process = start();
  const auto workers = worker_of(process);
  ASSERT_EQ(workers.size(), 1u);
  std::this_thread::sleep_for(milliseconds(200));  // let it read its case
  process.send(SIGKILL);
  process.wait();
  EXPECT_TRUE(gone_within(workers, milliseconds(1000)));
}

TEST_F(Kill, AFileThatMayNotGrowIsAnErrorAndNoSignal) {
  std::vector<results::CaseRecord> cases;
  for (int i = 0; i < 100; ++i) cases.push_back(results::test::passed_case(std::to_string(i)));
  results::Store::open(path("r.db"), results::OpenMode::kReadWrite)
      .import_run(results::test::sample_run(), cases);
  int ends[2];
  ASSERT_EQ(::pipe(ends), 0);
  const auto database = path("r.db"), target = path("out.json");
  const pid_t child = ::fork();
  if (child == 0) {
    const rlimit limit{100'000, 100'000};  // enough for what SQLite keeps beside its file
    ::setrlimit(RLIMIT_FSIZE, &limit);
    ::dup2(ends[1], STDERR_FILENO);
    ::execl(WIDEBENCH_FAKE, WIDEBENCH_FAKE, "runs", "export", "1", "-o", target.c_str(), "--db",
            database.c_str(), nullptr);
    ::_exit(127);
  }
  ::close(ends[1]);
  std::string said;
  char buffer[4096];
  for (ssize_t got = 0; (got = ::read(ends[0], buffer, sizeof buffer)) > 0;)
    said.append(buffer, static_cast<std::size_t>(got));
  ::close(ends[0]);
  int status = 0;
  ::waitpid(child, &status, 0);
  EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 2) << status;
  EXPECT_THAT(said, testing::HasSubstr(target + ": cannot be written (File too large)"));
  for (const auto& entry : std::filesystem::directory_iterator(folder_))
    EXPECT_THAT(entry.path().filename().string(), testing::Not(testing::HasSubstr("out.json")));
}

}  // namespace
}  // namespace wide::cli
