#include "results/database.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <csignal>
#include <cstdlib>
#include <fstream>
#include <thread>

#include "profiler/random.h"
#include "results/hostile.h"
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
using test::sample_run;
using test::soak;
using test::TemporaryFolder;

TEST(DatabaseTest, IsSetUpSafely) {
  const TemporaryFolder folder;
  SQLite::Database db = open_database(folder / "r.db", OpenMode::kReadWrite);
  EXPECT_EQ(db.execAndGet("PRAGMA foreign_keys").getInt(), 1);
  EXPECT_EQ(db.execAndGet("PRAGMA synchronous").getInt(), 2);  // FULL
  EXPECT_EQ(db.execAndGet("PRAGMA trusted_schema").getInt(), 0);
  EXPECT_EQ(db.execAndGet("PRAGMA user_version").getInt(), migrations().back().version);
  EXPECT_EQ(db.execAndGet("PRAGMA integrity_check").getString(), "ok");
  EXPECT_THROW(db.exec("PRAGMA writable_schema = ON; DELETE FROM sqlite_schema"),
               SQLite::Exception);  // DEFENSIVE
  SQLite::Database other((folder / "r.db").string(), SQLite::OPEN_READWRITE);
  other.exec("BEGIN IMMEDIATE");
  std::thread done([&] {
    std::this_thread::sleep_for(std::chrono::milliseconds(500));
    other.exec("COMMIT");
  });
  EXPECT_NO_THROW(db.exec("BEGIN IMMEDIATE; COMMIT")) << "it waits while another writes";
  done.join();
}

TEST(DatabaseTest, ANewerSchemaIsRefusedUntouched) {
  const TemporaryFolder folder;
  const auto path = folder / "r.db";
  fill(path);
  { SQLite::Database(path.string(), SQLite::OPEN_READWRITE).exec("PRAGMA user_version = 1000000"); }
  const std::string before = bytes_of(path);
  for (const OpenMode mode : {OpenMode::kReadWrite, OpenMode::kReadOnly}) {
    const std::string message = open_error(path, mode);
    EXPECT_TRUE(has(message, "newer than ours")) << message;
    EXPECT_TRUE(has(message, path.string()));
  }
  EXPECT_EQ(bytes_of(path), before);
  EXPECT_EQ(std::distance(std::filesystem::directory_iterator(folder.path()), {}), 1);
}

TEST(DatabaseTest, ANewerSchemaThatLiesInTheLogIsRefusedUntouched) {
  const TemporaryFolder folder;
  const auto path = folder / "r.db";
  fill(path);
  test::wait_for(test::start_child([&] {
    SQLite::Database db(path.string(), SQLite::OPEN_READWRITE);
    db.exec("PRAGMA user_version = 1000000");
    ::kill(::getpid(), SIGKILL);  // the change stays in the -wal file
  }));
  const std::string before = bytes_of(path), log = bytes_of(path.string() + "-wal");
  ASSERT_FALSE(log.empty());
  EXPECT_TRUE(has(open_error(path), "newer than ours"));
  EXPECT_EQ(bytes_of(path), before);
  EXPECT_EQ(bytes_of(path.string() + "-wal"), log);
}

TEST(DatabaseTest, FilesOfOthersAreRefusedUntouched) {
  const TemporaryFolder folder;
  const auto path = folder / "other.db";
  {
    SQLite::Database(path.string(), SQLite::OPEN_READWRITE | SQLite::OPEN_CREATE).exec("CREATE TABLE t (x)");
  }
  std::string before = bytes_of(path);
  EXPECT_TRUE(has(open_error(path), "no widebench database"));
  EXPECT_TRUE(has(open_error(path, OpenMode::kReadOnly), "no widebench database"));
  EXPECT_EQ(bytes_of(path), before);
  std::ofstream(path, std::ios::binary) << std::string(5000, 'x');
  before = bytes_of(path);
  EXPECT_TRUE(has(open_error(path), "no SQLite database"));
  EXPECT_EQ(bytes_of(path), before);
  EXPECT_TRUE(has(open_error(folder.path()), "this is a folder"));
}

TEST(DatabaseTest, AnEmptyFileBecomesADatabase) {
  const TemporaryFolder folder;
  const auto path = folder / "r.db";
  std::ofstream(path).flush();
  fill(path);
  EXPECT_EQ(Store::open(path, OpenMode::kReadOnly).cases(1).size(), 3u);
}

TEST(DatabaseTest, NamesThatMeanSomethingElseToSqliteAreFiles) {
  const TemporaryFolder folder;
  const auto before = std::filesystem::current_path();
  std::filesystem::current_path(folder.path());
  for (const char* name : {":memory:", "file:x.db?mode=memory"}) {
    fill(name);
    EXPECT_TRUE(std::filesystem::exists(folder / name)) << name;
    EXPECT_EQ(Store::open(name, OpenMode::kReadOnly).cases(1).size(), 3u) << name;
  }
  std::filesystem::current_path(before);
  EXPECT_TRUE(has(open_error(""), "empty"));
}

TEST(DatabaseTest, OddPathsWork) {
  const TemporaryFolder folder;
  for (const char* name : {"a b?c#d%41.db", "'quote\".db", "\xC3\xA9.db", "-o.db", ":memory:"}) {
    fill(folder / name);
    EXPECT_EQ(Store::open(folder / name, OpenMode::kReadOnly).cases(1).size(), 3u) << name;
    EXPECT_TRUE(std::filesystem::exists(folder / name));
  }
}

/// Damaged bytes end in an error, or change nothing that is read: never in a crash, never in wrong history.
TEST(DatabaseTest, DamageIsNoticedOrHarmless) {
  const TemporaryFolder folder;
  fill(folder / "good.db");
  {
    Store store = Store::open(folder / "good.db", OpenMode::kReadWrite);
    store.set_baseline("main", {1});
    store.add_trace(1, "b", "kernels", std::string(9000, 't'));
  }
  const std::string good = bytes_of(folder / "good.db"), expected = everything(folder / "good.db");
  profiler::Random random(3);
  int noticed = 0, harmless = 0, silent = 0;
  const int mutants = soak() ? 10'000 : 150;
  for (int trial = 0; trial < mutants; ++trial) {
    std::string bad = good;
    if (trial % 5 == 0) {
      bad.resize(random.below(static_cast<std::uint32_t>(bad.size())));
    } else {
      const auto page =
          4096 * static_cast<std::size_t>(random.below(static_cast<std::uint32_t>(bad.size() / 4096)));
      for (int i = 0; i < 40; ++i) bad[page + random.below(4096)] = static_cast<char>(random.next());
    }
    std::ofstream(folder / "bad.db", std::ios::binary) << bad;
    try {
      const auto seen = everything(folder / "bad.db");
      ++(seen == expected ? harmless : silent);
      const auto same = static_cast<std::size_t>(
          std::mismatch(seen.begin(), seen.end(), expected.begin(), expected.end()).first - seen.begin());
      EXPECT_EQ(same, seen.size()) << trial << ": "
                                   << seen.substr(same - std::min<std::size_t>(same, 60), 120);
    } catch (const Error& error) {
      ++noticed;
      EXPECT_TRUE(has(error.what(), "bad.db"));
    }
    for (const char* left : {"bad.db", "bad.db-wal", "bad.db-shm"}) std::filesystem::remove(folder / left);
  }
  EXPECT_EQ(silent, 0);
  EXPECT_EQ(noticed + harmless, mutants);
  EXPECT_GT(noticed, mutants / 2) << harmless << " hit what holds nothing";
}

/// A list of runs checks of a large file what it reads; what reads cases checks it whole.
TEST(DatabaseTest, AListOfALargeFileChecksWhatItReads) {
  const TemporaryFolder folder;
  const auto path = folder / "r.db";
  ::setenv("XDG_CACHE_HOME", (folder / "cache").c_str(), 1);
  fill(path);
  {
    Store store = Store::open(path, OpenMode::kReadWrite);
    store.add_trace(1, "a", "kernels", std::string(17 << 20, 't'));
  }
  const auto list = [&] {
    std::filesystem::remove_all(folder / "cache");
    const auto runs = Store::open(path, OpenMode::kOverview).runs();
    return std::to_string(runs.size()) + " of " + std::to_string(runs.at(0).cases);
  };
  const std::string good = bytes_of(path);
  EXPECT_EQ(list(), "1 of 3");
  EXPECT_FALSE(std::filesystem::exists(folder / "cache")) << "it is not known whole";
  for (const char* damage :
       {"DELETE FROM run_case WHERE key = 'b'",
        "PRAGMA writable_schema = ON; UPDATE sqlite_schema SET rootpage = (SELECT rootpage FROM "
        "sqlite_schema "
        "WHERE name = 'run_case_by_subject') WHERE name = 'sqlite_autoindex_run_case_1'"}) {
    std::ofstream(path, std::ios::binary) << good;
    { SQLite::Database(path.string(), SQLite::OPEN_READWRITE).exec(damage); }
    try {
      EXPECT_EQ(list(), "1 of 2") << damage;
    } catch (const Error& error) {
      EXPECT_TRUE(has(error.what(), "damaged")) << error.what();
    }
  }
  profiler::Random random(5);
  int noticed = 0;
  for (int trial = 0; trial < 60; ++trial) {
    std::string bad = good;
    const auto page = 4096 * static_cast<std::size_t>(random.below(40));  // rows; behind them lies the trace
    for (int i = 0; i < 40; ++i) bad[page + random.below(4096)] = static_cast<char>(random.next());
    std::ofstream(path, std::ios::binary) << bad;
    try {
      EXPECT_EQ(list(), "1 of 3");
    } catch (const Error& error) {
      ++noticed;
    }
  }
  EXPECT_GT(noticed, 5);
}

/// What SQLite cannot see: a number that was changed into another in its place.
TEST(DatabaseTest, AChangedNumberIsNoticed) {
  const TemporaryFolder folder;
  const auto path = folder / "r.db";
  for (const char* change :
       {"UPDATE sample SET microseconds = 1 WHERE number = 5", "UPDATE run_case SET speedup_low = 3.0",
        "UPDATE contender SET median_us = 1 WHERE place = 2", "UPDATE check_result SET member = 'x'",
        "UPDATE run SET label = 'x'", "UPDATE settings SET json = '{}'", "UPDATE machine SET facts = '{}'",
        "UPDATE note SET text = 'x'", "DELETE FROM check_result WHERE place = 1",
        "DELETE FROM sample WHERE number = 7"}) {
    std::filesystem::remove(path);
    fill(path);
    EXPECT_NO_THROW(everything(path));
    { SQLite::Database(path.string(), SQLite::OPEN_READWRITE).exec(change); }
    try {
      everything(path);
      ADD_FAILURE() << change;
    } catch (const Error& error) {
      EXPECT_TRUE(has(error.what(), "is not what was stored")) << error.what();
    }
  }
}

/// `sql` as anyone could have written it into the file.
void plant(const std::filesystem::path& path, const std::string& sql) {
  SQLite::Database(path.string(), SQLite::OPEN_READWRITE).exec(sql);
}

TEST(DatabaseTest, ASchemaThatIsNotOursIsRefusedByName) {
  const TemporaryFolder folder;
  const auto path = folder / "r.db";
  for (const auto& [sql, object] : std::vector<std::pair<std::string, std::string>>{
           {"CREATE TRIGGER evil AFTER INSERT ON run_case BEGIN DELETE FROM run_case; END",
            "the trigger 'evil'"},
           {"CREATE VIEW endless AS WITH RECURSIVE c(x) AS (SELECT 1 UNION ALL SELECT x FROM c) SELECT x "
            "FROM c",
            "the view 'endless'"},
           {"DROP TABLE tag; CREATE VIEW tag AS WITH RECURSIVE c(x) AS (SELECT 1 UNION ALL SELECT x FROM c) "
            "SELECT x AS sum, x AS run_id, x AS tag FROM c",
            "the view 'tag'"},
           {"CREATE TABLE more (x)", "the table 'more'"},
           {"CREATE INDEX slow ON run (abs(threads))", "the index 'slow'"},
           {"ALTER TABLE note ADD COLUMN more TEXT AS (hex(zeroblob(100000000)))", "the table 'note'"},
           {"DROP INDEX note_by_run", "the index 'note_by_run' is missing"}}) {
    std::filesystem::remove(path);
    fill(path);
    plant(path, sql);
    const std::string before = bytes_of(path);
    for (const OpenMode mode : {OpenMode::kReadWrite, OpenMode::kReadOnly}) {
      const auto error = open_error(path, mode);
      EXPECT_TRUE(has(error, object)) << sql << ": " << error;
      EXPECT_TRUE(has(error, path.string())) << error;
    }
    EXPECT_EQ(bytes_of(path), before);
  }
}

TEST(DatabaseTest, TriggersAndViewsAreOff) {
  const TemporaryFolder folder;
  const auto path = folder / "r.db";
  fill(path);
  SQLite::Database db(path.string(), SQLite::OPEN_READWRITE);
  db.exec("CREATE TRIGGER evil AFTER INSERT ON tag BEGIN DELETE FROM run; END; CREATE VIEW v AS SELECT 1");
  make_safe(db);
  db.exec("INSERT INTO tag VALUES (1, 'x', 0)");
  EXPECT_EQ(db.execAndGet("SELECT count(*) FROM run").getInt(), 1);
  EXPECT_THROW(db.exec("SELECT * FROM v"), SQLite::Exception);
  db.exec("DELETE FROM run");
  EXPECT_EQ(db.execAndGet("SELECT count(*) FROM run_case").getInt(), 0)
      << "what belongs to a run goes with it";
}

TEST(DatabaseTest, AQueryWithoutEndIsEnded) {
  SQLite::Database db(":memory:", SQLite::OPEN_READWRITE | SQLite::OPEN_CREATE);
  const std::string endless =
      "WITH RECURSIVE c(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM c) SELECT max(x) FROM c";
  const TimeLimit limit(db, std::chrono::milliseconds(50));
  EXPECT_THROW(
      {
        try {
          guarded("r.db", [&] { return db.exec(endless); });
        } catch (const Error& error) {
          EXPECT_TRUE(has(error.what(), "r.db: a query takes far longer")) << error.what();
          throw;
        }
      },
      Error);
}

/// JSON in a row that would take all of the stack, with a sum that was removed or is right.
TEST(DatabaseTest, DeepJsonInARowIsRefused) {
  const TemporaryFolder folder;
  const auto path = folder / "r.db";
  const std::string deep =
      "replace(hex(zeroblob(300000)), '00', '[') || replace(hex(zeroblob(300000)), '00', ']')";
  for (const std::string& change :
       {"UPDATE settings SET json = " + deep, "UPDATE machine SET facts = " + deep,
        "UPDATE run SET environment = " + deep + ", sum = NULL",
        "UPDATE run_case SET shape = " + deep + ", details_sum = NULL",
        "UPDATE run_case SET plan = " + deep}) {
    std::filesystem::remove(path);
    fill(path);
    plant(path, change);
    EXPECT_THROW(everything(path), Error) << change.substr(0, 40);
  }
}

TEST(DatabaseTest, ARowWithoutItsSumIsDamage) {
  const TemporaryFolder folder;
  const auto path = folder / "r.db";
  for (const char* column : {"run SET sum", "settings SET sum", "machine SET sum", "run_case SET details_sum",
                             "run_case SET samples_sum"}) {
    std::filesystem::remove(path);
    fill(path);
    plant(path, "UPDATE " + std::string(column) + " = NULL");
    try {
      everything(path);
      ADD_FAILURE() << column;
    } catch (const Error& error) {
      EXPECT_TRUE(has(error.what(), "is not what was stored")) << error.what();
    }
  }
}

TEST(DatabaseTest, DamageNamesTheBackupThatCanTakeItsPlace) {
  const TemporaryFolder folder;
  const auto path = folder / "r.db";
  fill(path);
  std::string bad = bytes_of(path);
  for (std::size_t at = 4096 + 100; at < bad.size(); ++at) bad[at] = '\x7f';
  Store::open(path, OpenMode::kReadWrite).back_up();
  std::ofstream(path, std::ios::binary) << bad;
  for (const OpenMode mode : {OpenMode::kReadWrite, OpenMode::kReadOnly}) {
    EXPECT_TRUE(
        has(open_error(path, mode), "widebench runs restore " + path.string() + ".bak --db " + path.string()))
        << open_error(path, mode);
  }
  EXPECT_EQ(bytes_of(path), bad) << "what is damaged is left for whoever can rescue it";
  std::filesystem::copy_file(path.string() + ".bak", path, std::filesystem::copy_options::overwrite_existing);
  EXPECT_EQ(Store::open(path, OpenMode::kReadWrite).cases(1).size(), 3u);
}

}  // namespace
}  // namespace wide::results
