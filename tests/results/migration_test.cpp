// From one schema to the next: nothing is lost, whatever happens on the way.
#include <gtest/gtest.h>
#include <unistd.h>

#include <csignal>
#include <string>
#include <vector>

#include "profiler/random.h"
#include "results/database.h"
#include "results/report.h"
#include "tests/results/children.h"
#include "tests/results/sample_database.h"
#include "tests/results/sample_records.h"

namespace wide::results {
namespace {

using test::bytes_of;
using test::describe;
using test::everything;
using test::fill;
using test::has;
using test::open_error;
using test::passed_case;
using test::pragma;
using test::soak;
using test::TemporaryFolder;

// A made-up second schema, to prove the way there before there is one.
const std::string kSecond = "ALTER TABLE run ADD COLUMN host TEXT NOT NULL DEFAULT 'unknown';";

std::vector<Migration> with_second(std::string_view sql) {  // `sql` outlives the result
  std::vector<Migration> known(migrations().begin(), migrations().end());
  known.push_back({known.back().version + 1, sql});
  return known;
}

TEST(MigrationTest, KeepsEverythingAndLeavesABackup) {
  const TemporaryFolder folder;
  const auto path = folder / "r.db";
  fill(path);
  const auto known = with_second(kSecond);
  {
    SQLite::Database db = open_database(path, OpenMode::kReadWrite, 0, known);
    EXPECT_EQ(db.execAndGet("SELECT host FROM run").getString(), "unknown");
    EXPECT_EQ(db.execAndGet("PRAGMA user_version").getInt(), known.back().version);
    EXPECT_EQ(db.execAndGet("SELECT count(*) FROM run_case").getInt(), 3);
  }
  const auto backup = folder / ("r.db.schema-" + std::to_string(known.back().version - 1) + ".bak");
  ASSERT_TRUE(std::filesystem::exists(backup));
  const Store store = Store::open(backup, OpenMode::kReadOnly);  // as it was, for the program as it was
  EXPECT_EQ(describe(store.cases(1).at(2)), describe(passed_case("c")));
  EXPECT_TRUE(has(open_error(path), "newer than ours"));
}

TEST(MigrationTest, ReadingAnOlderFileShowsItAndLeavesIt) {
  const TemporaryFolder folder;
  const auto path = folder / "r.db";
  fill(path);
  const std::string before = bytes_of(path);
  const auto known = with_second(kSecond);
  SQLite::Database db = open_database(path, OpenMode::kReadOnly, 0, known);
  EXPECT_EQ(db.execAndGet("SELECT host FROM run").getString(), "unknown");
  EXPECT_EQ(db.execAndGet("SELECT count(*) FROM run_case").getInt(), 3);
  EXPECT_THROW(db.exec("DELETE FROM run"), SQLite::Exception);
  EXPECT_EQ(bytes_of(path), before);
}

TEST(MigrationTest, AFailureInTheMiddleChangesNothing) {
  const TemporaryFolder folder;
  const auto path = folder / "r.db";
  fill(path);
  const std::string sql = kSecond + "DROP TABLE sample; SELECT no_such_column;";
  const auto known = with_second(sql);
  try {
    open_database(path, OpenMode::kReadWrite, 0, known);
    ADD_FAILURE() << "the migration was not refused";
  } catch (const Error& error) {
    EXPECT_TRUE(has(error.what(), "no_such_column")) << error.what();
  }
  EXPECT_EQ(pragma(path, "user_version"), std::to_string(migrations().back().version));
  EXPECT_EQ(describe(Store::open(path, OpenMode::kReadWrite).cases(1).at(0)), describe(passed_case("a")));
}

TEST(MigrationTest, AKillInTheMiddleChangesNothing) {
  const TemporaryFolder folder;
  const auto path = folder / "r.db";
  fill(path);
  const std::string sql =
      kSecond +
      "CREATE TABLE big AS WITH RECURSIVE c(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM c LIMIT "
      "3000000) SELECT x FROM c;";
  const auto known = with_second(sql);
  profiler::Random random(5);
  for (int kill = 0; kill < (soak() ? 200 : 10); ++kill) {
    const pid_t child = test::start_child([&] { open_database(path, OpenMode::kReadWrite, 0, known); });
    ::usleep(5'000 + random.below(150'000));
    ::kill(child, SIGKILL);
    if (test::wait_for(child) == 0) GTEST_SKIP() << "the migration was faster than the kill";
    const Store store = Store::open(path, OpenMode::kReadWrite);
    ASSERT_EQ(store.cases(1).size(), 3u);
  }
  EXPECT_EQ(pragma(path, "integrity_check"), "ok");
}

/// A report as it is written: the samples of these are made up, and say other than their summaries.
Imported written_in(const std::string& file) {
  auto document = nlohmann::json::parse(bytes_of(file));
  const auto cases = std::exchange(document["cases"], nlohmann::json::array());
  auto report = from_report(document.dump());
  for (const auto& one : cases) report.cases.push_back(case_from_json(one));
  return report;
}

/// Every released schema stays readable. schema_V.sql was written by the program that first had it.
class FrozenDatabase : public testing::TestWithParam<int> {};

TEST_P(FrozenDatabase, IsReadAndMigrated) {
  const TemporaryFolder folder;
  const auto path = folder / "r.db";
  const std::string stem = FIXTURES "/schema_" + std::to_string(GetParam());
  const std::string sql = bytes_of(stem + ".sql");
  ASSERT_FALSE(sql.empty());
  { SQLite::Database(path.string(), SQLite::OPEN_READWRITE | SQLite::OPEN_CREATE).exec(sql); }
  ASSERT_EQ(pragma(path, "user_version"), std::to_string(GetParam()));
  const Imported expected = written_in(stem + ".json");
  const Store store = Store::open(path, OpenMode::kReadWrite);
  EXPECT_EQ(describe(store.run(1)), describe(expected.run));
  const auto cases = store.cases(1);
  ASSERT_EQ(cases.size(), expected.cases.size());
  for (std::size_t i = 0; i < cases.size(); ++i) EXPECT_EQ(describe(cases[i]), describe(expected.cases[i]));
  EXPECT_EQ(pragma(path, "integrity_check"), "ok");
  EXPECT_EQ(everything(path), everything(path));
  const bool old = GetParam() < migrations().back().version;
  EXPECT_EQ(std::filesystem::exists(path.string() + ".schema-" + std::to_string(GetParam()) + ".bak"), old);
}

/// All before the current one, and that too as soon as it is released.
int end_of_frozen() {
  const int current = migrations().back().version;
  const bool released = std::filesystem::exists(FIXTURES "/schema_" + std::to_string(current) + ".sql");
  return released ? current + 1 : current;
}

INSTANTIATE_TEST_SUITE_P(Schemas, FrozenDatabase, testing::Range(1, end_of_frozen()),
                         [](const auto& row) { return "Version" + std::to_string(row.param); });

}  // namespace
}  // namespace wide::results
