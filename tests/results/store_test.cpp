#include "results/store.h"

#include <SQLiteCpp/SQLiteCpp.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <fstream>
#include <numeric>

#include "formats/error.h"
#include "results/report.h"
#include "tests/results/children.h"
#include "tests/results/sample_records.h"

namespace wide::results {
namespace {

using test::describe;
using test::failed_case;
using test::has;
using test::passed_case;
using test::sample_run;
using test::TemporaryFolder;

/// The message of the wide::Error that `work` throws, or "".
template <typename Work>
std::string error_of(Work&& work) {
  try {
    work();
  } catch (const Error& error) {
    EXPECT_EQ(error.stage(), "store");
    EXPECT_EQ(std::string(error.what()).find('\n'), std::string::npos);
    return error.what();
  }
  return "";
}

class StoreTest : public testing::Test {
 protected:
  Store open(OpenMode mode = OpenMode::kReadWrite) const { return Store::open(path_, mode); }
  TemporaryFolder folder_;
  std::filesystem::path path_ = folder_ / "deep/er/results.db";
};

TEST_F(StoreTest, GivesBackWhatItWasGiven) {
  const std::vector<CaseRecord> cases = {passed_case("b"), failed_case("a"),
                                         failed_case("c", Verdict::kTimeout)};
  std::int64_t id = 0;
  {
    Store store = open();
    id = store.begin_run(sample_run());
    for (const auto& record : cases) store.add_case(id, record);
  }
  for (const OpenMode mode : {OpenMode::kReadWrite, OpenMode::kReadOnly}) {
    const Store store = open(mode);
    const RunRecord run = store.run(id);
    EXPECT_EQ(run.id, id);
    EXPECT_EQ(run.origin, "measured");
    EXPECT_EQ(describe(run), describe(sample_run()));
    const auto back = store.cases(id);
    ASSERT_EQ(back.size(), 3u);
    for (int i = 0; i < 3; ++i) EXPECT_EQ(describe(back[i]), describe(cases[i]));
    EXPECT_TRUE(store.cases(id, false)[0].samples.empty());
    EXPECT_EQ(store.finished_cases(id), (std::set<std::string>{"a", "b", "c"}));
  }
}

TEST_F(StoreTest, ListsRuns) {
  Store store = open();
  EXPECT_TRUE(store.runs().empty());
  const auto first = store.begin_run(sample_run());
  store.add_case(first, passed_case("a"));
  store.add_case(first, failed_case("b"));
  store.finish_run(first, RunStatus::kInterrupted);
  RunRecord plain;
  const auto second = store.begin_run(plain);
  const auto runs = store.runs();
  ASSERT_EQ(runs.size(), 2u);
  EXPECT_EQ(runs[0].id, first);
  EXPECT_EQ(runs[0].cases, 2);
  EXPECT_EQ(runs[0].passed, 1);
  EXPECT_EQ(runs[0].status, RunStatus::kInterrupted);
  EXPECT_EQ(runs[0].machine_key, profiler::key(sample_run().machine));
  EXPECT_EQ(runs[1].id, second);
  EXPECT_EQ(runs[1].cases, 0);
  EXPECT_EQ(runs[1].uid.size(), 32u);
  EXPECT_EQ(runs[1].started.size(), 20u);
  EXPECT_TRUE(has(error_of([&] { store.run(99); }), "no run 99"));
  EXPECT_TRUE(has(error_of([&] { store.cases(99); }), "no run 99"));
  EXPECT_TRUE(has(error_of([&] { store.add_case(99, passed_case()); }), "no run 99"));
  EXPECT_TRUE(has(error_of([&] { store.finish_run(99, RunStatus::kDone); }), "no run 99"));
}

TEST_F(StoreTest, FindsTheRunToResume) {
  Store store = open();
  RunRecord run = sample_run();
  const auto begin = [&](RunStatus status) {
    run.uid.clear();
    run.status = status;
    return store.begin_run(run);
  };
  EXPECT_EQ(store.unfinished_run(run.settings, run.machine), std::nullopt);
  begin(RunStatus::kDone);
  EXPECT_EQ(store.unfinished_run(run.settings, run.machine), std::nullopt);
  begin(RunStatus::kInterrupted);
  const auto killed = begin(RunStatus::kRunning);
  EXPECT_EQ(store.unfinished_run(run.settings, run.machine), killed);
  // The order of keys does not matter, their values do; so does the machine.
  const auto reordered = nlohmann::json::parse(R"({"relative_width":0.05,"n":[2,4,8],"preset":"ci"})");
  EXPECT_EQ(store.unfinished_run(reordered, run.machine), killed);
  EXPECT_EQ(store.unfinished_run({{"preset", "ci"}}, run.machine), std::nullopt);
  auto other = run.machine;
  other.cpu = "another";
  EXPECT_EQ(store.unfinished_run(run.settings, other), std::nullopt);
  store.finish_run(killed, RunStatus::kDone);
  EXPECT_EQ(store.unfinished_run(run.settings, run.machine), killed - 1);
}

TEST_F(StoreTest, StoresACaseOnce) {
  Store store = open();
  const auto run = store.begin_run(sample_run());
  store.add_case(run, passed_case("x"));
  EXPECT_TRUE(has(error_of([&] { store.add_case(run, failed_case("x")); }), "'x' is already stored"));
  ASSERT_EQ(store.cases(run).size(), 1u);
  EXPECT_EQ(describe(store.cases(run)[0]), describe(passed_case("x")));
}

TEST_F(StoreTest, RefusesASpeedupWithoutAPassAndStoresNothingOfIt) {
  Store store = open();
  const auto run = store.begin_run(sample_run());
  for (const Verdict verdict :
       {Verdict::kFail, Verdict::kSkipped, Verdict::kError, Verdict::kOom, Verdict::kTimeout}) {
    CaseRecord record = failed_case("k", verdict);
    record.rivals[0].speedup = {2, 1.9, 2.1};
    EXPECT_TRUE(has(error_of([&] { store.add_case(run, record); }), "carries a speed-up"));
  }
  CaseRecord unproven = passed_case();
  unproven.checks.clear();
  EXPECT_TRUE(has(error_of([&] { store.add_case(run, unproven); }), "nothing was checked"));
  EXPECT_TRUE(store.cases(run).empty());
}

/// The schema itself holds the line, whoever writes.
TEST_F(StoreTest, TheSchemaMakesASpeedupWithoutAPassImpossible) {
  {
    Store store = open();
    const auto run = store.begin_run(sample_run());
    store.add_case(run, passed_case("good"));
    store.add_case(run, failed_case("bad"));
  }
  SQLite::Database db(path_.string(), SQLite::OPEN_READWRITE);
  db.exec("PRAGMA foreign_keys = ON");
  const std::string good = "(SELECT id FROM run_case WHERE key = 'good')",
                    bad = "(SELECT id FROM run_case WHERE key = 'bad')";
  for (const std::string& statement : {
           "UPDATE run_case SET speedup = 2 WHERE key = 'bad'" + std::string(),
           std::string("UPDATE run_case SET speedup_low = 2 WHERE key = 'bad'"),
           std::string("UPDATE run_case SET best_speedup = 2 WHERE key = 'bad'"),
           std::string("UPDATE run_case SET speedup = -1 WHERE key = 'good'"),
           std::string("UPDATE run_case SET verdict = 'fail' WHERE key = 'good'"),
           std::string(
               "UPDATE run_case SET verdict = 'fail', speedup = NULL, speedup_low = NULL, speedup_high = "
               "NULL, "
               "best_speedup = NULL, best_speedup_low = NULL, best_speedup_high = NULL WHERE key = 'good'"),
           std::string("UPDATE run_case SET verdict = 'pass' WHERE key = 'bad'"),
           std::string("UPDATE run_case SET verdict = 'great' WHERE key = 'good'"),
           "UPDATE contender SET speedup = 2 WHERE case_id = " + bad,
           "UPDATE contender SET case_verdict = 'pass', speedup = 2 WHERE case_id = " + bad,
           "UPDATE contender SET speedup = 2 WHERE place = 0 AND case_id = " + good,
           "INSERT INTO contender VALUES (" + bad + ", 'fail', 9, 'x', 1,1,1,1,1,1,0,1,1, 2,2,2)",
           "INSERT INTO contender VALUES (" + bad + ", 'pass', 9, 'x', 1,1,1,1,1,1,0,1,1, 2,2,2)",
           "UPDATE check_result SET passed = 0 WHERE case_id = " + good,
           "UPDATE check_result SET max_abs_err = NULL WHERE case_id = " + good,
           "UPDATE check_result SET max_abs_err = 9e999 WHERE case_id = " + good,
       }) {
    EXPECT_THROW(db.exec(statement), SQLite::Exception) << statement;
  }
  db.exec("UPDATE run_case SET reason = 'fine' WHERE key = 'good'");  // it is not that nothing can be written
}

TEST_F(StoreTest, TakesEveryNameAsItIs) {
  Store store = open();
  RunRecord run = sample_run();
  const std::vector<std::string> names = {"'; DROP TABLE runs;--",
                                          "</script><img onerror=x>",
                                          "../../x",
                                          "$(touch x)",
                                          "`x`",
                                          "@file",
                                          "-o",
                                          "%n%s",
                                          "\x1b[2J\x9c",
                                          "\xE2\x80\xAE",
                                          "bad \xFF\xC0 bytes",
                                          std::string(1 << 20, 'n'),
                                          "=HYPERLINK()",
                                          "*/",
                                          std::string("nul\0nul", 7),
                                          "",
                                          "con",
                                          "\"",
                                          "\\",
                                          "?1",
                                          ":name",
                                          "\n\r\t"};
  run.label = run.preset = run.command_line = names[10];
  run.settings = {{names[10], names[8]}};
  run.machine.extra[names[10]] = names[9];
  const auto id = store.begin_run(run);
  for (const auto& name : names) {
    CaseRecord record = passed_case(name);
    record.subject = record.reason = record.strategy = record.best_rival = record.rivals[0].name = name;
    record.checks[0].member = record.plan["name"] = name;
    store.add_case(id, record);
  }
  const auto cases = store.cases(id);
  ASSERT_EQ(cases.size(), names.size());
  for (std::size_t i = 0; i < names.size(); ++i) {
    if (names[i].find('\xFF') == std::string::npos && names[i].find('\x9c') == std::string::npos) {
      EXPECT_EQ(cases[i].key, names[i]);
      EXPECT_EQ(cases[i].rivals[0].name, names[i]);
      EXPECT_EQ(cases[i].plan["name"], names[i]);
    }
  }
  EXPECT_EQ(cases[10].key, "bad \xEF\xBF\xBD\xEF\xBF\xBD bytes");
  EXPECT_EQ(store.run(id).label, "bad \xEF\xBF\xBD\xEF\xBF\xBD bytes");
  EXPECT_EQ(store.unfinished_run(run.settings, run.machine),
            std::nullopt);  // done, and no fault on odd bytes
  EXPECT_EQ(store.runs().size(), 1u);
  EXPECT_EQ(from_report(report_text(store.run(id), cases)).cases.size(), names.size());
}

TEST_F(StoreTest, ImportsAReportOnce) {
  const auto document = report(sample_run(), {passed_case(), failed_case()});
  const Imported imported = from_report(document.dump());
  Store store = open();
  const auto id = store.import_run(imported.run, imported.cases);
  EXPECT_EQ(store.run(id).origin, "imported");
  EXPECT_EQ(describe(store.cases(id)[0]), describe(passed_case()));
  EXPECT_EQ(store.unfinished_run(imported.run.settings, imported.run.machine), std::nullopt);
  EXPECT_TRUE(
      has(error_of([&] { store.import_run(imported.run, imported.cases); }), "already here as run 1"));
  auto cases = imported.cases;
  cases[1].speedup = {2, 2, 2};
  RunRecord other = imported.run;
  other.uid = "other";
  EXPECT_TRUE(has(error_of([&] { store.import_run(other, cases); }), "carries a speed-up"));
  EXPECT_EQ(store.runs().size(), 1u);
}

TEST_F(StoreTest, AFullDiskIsSaidAndLosesNothing) {
  const std::int64_t limit = 400'000;
  std::vector<std::string> stored;
  {
    Store store = Store::open(path_, OpenMode::kReadWrite, limit);
    const auto run = store.begin_run(sample_run());
    std::string message;
    for (int i = 0; message.empty() && i < 10'000; ++i) {
      CaseRecord record = passed_case("case " + std::to_string(i));
      record.reason = std::string(5000, 'r');
      message = error_of([&] { store.add_case(run, record); });
      if (message.empty()) stored.push_back(record.key);
    }
    EXPECT_TRUE(has(message, path_.string())) << message;
    EXPECT_TRUE(has(message, "full")) << message;
    EXPECT_TRUE(has(error_of([&] { store.add_case(run, failed_case(std::string(1 << 20, 'x'))); }), "full"));
  }
  EXPECT_GT(stored.size(), 5u);
  Store store = open();  // room again: the sweep goes on
  EXPECT_EQ(store.cases(1).size(), stored.size());
  store.add_case(1, failed_case(std::string(1 << 20, 'x')));
  EXPECT_EQ(store.finished_cases(1).size(), stored.size() + 1);
}

TEST_F(StoreTest, ReadOnlyPlacesShowHistoryAndRefuseARunAtOnce) {
  {
    Store store = open();
    store.add_case(store.begin_run(sample_run()), passed_case());
  }
  namespace fs = std::filesystem;
  const fs::path place = path_.parent_path();
  fs::permissions(folder_.path(), fs::perms(0755));
  fs::permissions(place.parent_path(), fs::perms(0755));
  const auto probe = [&] {
    const auto count = [&]() -> std::string {
      return std::to_string(open(OpenMode::kReadOnly).cases(1).size()) + " ";
    };
    return test::as_plain_user([&] { return count() + error_of([&] { open(); }); });
  };
  fs::permissions(path_, fs::perms(0444));
  for (const int folder_mode : {0555, 0755}) {
    fs::permissions(place, fs::perms(folder_mode));
    const std::string answer = probe();
    if (folder_mode == 0755 && ::geteuid() != 0) continue;  // the owner may replace what is in there
    EXPECT_TRUE(answer.starts_with("1 ")) << answer;
    EXPECT_TRUE(has(answer, path_.string())) << answer;
    EXPECT_TRUE(has(answer, "--db")) << answer;
  }
  fs::permissions(path_, fs::perms(0666));  // the file could be written, the folder not
  fs::permissions(place, fs::perms(0555));
  const std::string answer = probe();
  EXPECT_TRUE(answer.starts_with("1 ")) << answer;
  EXPECT_TRUE(has(answer, "--db")) << answer;
  const auto nowhere = place / "new/results.db";
  EXPECT_TRUE(
      has(test::as_plain_user([&] { return error_of([&] { Store::open(nowhere, OpenMode::kReadWrite); }); }),
          "cannot create the folder"));
  fs::permissions(place, fs::perms(0755));
}

TEST_F(StoreTest, ReadOnlyNeitherCreatesNorWrites) {
  EXPECT_TRUE(has(error_of([&] { open(OpenMode::kReadOnly); }), "there is no database yet"));
  EXPECT_FALSE(std::filesystem::exists(path_));
  open();
  const std::string before = test::bytes_of(path_);
  Store store = open(OpenMode::kReadOnly);
  EXPECT_TRUE(has(error_of([&] { store.begin_run(sample_run()); }), "no permission to write"));
  EXPECT_EQ(test::bytes_of(path_), before);
}

TEST(StorePathTest, FollowsTheXdgRules) {
  const std::string old_home = std::getenv("HOME") != nullptr ? std::getenv("HOME") : "";
  ::setenv("HOME", "/someone", 1);
  ::setenv("XDG_DATA_HOME", "/data", 1);
  EXPECT_EQ(default_path(), "/data/widebench/results.db");
  ::setenv("XDG_DATA_HOME", "relative", 1);
  EXPECT_EQ(default_path(), "/someone/.local/share/widebench/results.db");
  ::unsetenv("XDG_DATA_HOME");
  EXPECT_EQ(default_path(), "/someone/.local/share/widebench/results.db");
  ::unsetenv("HOME");
  EXPECT_THROW(default_path(), Error);
  if (!old_home.empty()) ::setenv("HOME", old_home.c_str(), 1);
}

}  // namespace
}  // namespace wide::results
