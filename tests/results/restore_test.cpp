#include "results/restore.h"

#include <SQLiteCpp/SQLiteCpp.h>
#include <gtest/gtest.h>

#include <csignal>
#include <fstream>

#include "formats/error.h"
#include "profiler/random.h"
#include "results/store.h"
#include "tests/results/children.h"
#include "tests/results/sample_records.h"

namespace wide::results {
namespace {

namespace fs = std::filesystem;
using test::bytes_of;
using test::describe;
using test::has;
using test::passed_case;
using test::sample_run;
using test::TemporaryFolder;

class RestoreTest : public testing::Test {
 protected:
  /// A database with one run of two cases, and its backup.
  void SetUp() override {
    add_run("first", {"a", "b"});
    Store::open(path_, OpenMode::kReadWrite).back_up();
  }

  void add_run(const std::string& uid, const std::vector<std::string>& keys) {
    Store store = Store::open(path_, OpenMode::kReadWrite);
    RunRecord run = sample_run();
    run.uid = uid;
    const auto id = store.begin_run(run);
    for (const auto& key : keys) store.add_case(id, passed_case(key));
  }

  /// The message, empty when it was restored. A refusal changes no file.
  std::string refusal(const fs::path& backup, bool force = false) {
    const std::string before = listing();
    try {
      restore(backup, path_, force);
    } catch (const Error& error) {
      EXPECT_EQ(error.stage(), "store");
      EXPECT_EQ(listing(), before) << error.what();
      return error.what();
    }
    return "";
  }

  /// Names and bytes of all files; those that SQLite makes for readers are left out.
  std::string listing() const {
    std::map<std::string, std::string> files;
    for (const auto& entry : fs::directory_iterator(folder_.path())) {
      const auto name = entry.path().filename().string();
      if (!name.ends_with("-shm") && !(name.ends_with("-wal") && fs::file_size(entry) == 0))
        files[name] = bytes_of(entry.path());
    }
    std::string text;
    for (const auto& [name, bytes] : files) text.append(name).append("\n").append(bytes);
    return text;
  }

  void damage() {
    std::string bytes = bytes_of(path_);
    for (std::size_t at = 4096 + 100; at < bytes.size(); ++at) bytes[at] = '\x7f';
    std::ofstream(path_, std::ios::binary) << bytes;
  }

  void expect_first_run() const {
    const Store store = Store::open(path_, OpenMode::kReadWrite);
    ASSERT_EQ(store.runs().size(), 1u);
    EXPECT_EQ(describe(store.cases(1).at(1)), describe(passed_case("b")));
  }

  TemporaryFolder folder_;
  fs::path path_ = folder_ / "r.db";
  fs::path backup_ = folder_ / "r.db.bak";
  fs::path kept_ = folder_ / "r.db.replaced-1";
};

TEST_F(RestoreTest, TakesThePlaceOfADamagedDatabaseAndKeepsThat) {
  damage();
  const std::string damaged = bytes_of(path_), backup = bytes_of(backup_);
  const Restored done = restore(backup_, path_);
  EXPECT_EQ(done.kept, kept_);
  EXPECT_EQ(done.runs, 1);
  EXPECT_EQ(done.cases, 2);
  EXPECT_EQ(done.newest, sample_run().started);
  expect_first_run();
  EXPECT_EQ(bytes_of(kept_), damaged);
  EXPECT_EQ(bytes_of(backup_), backup);
}

TEST_F(RestoreTest, ADamagedDatabaseDoesNotReplaceTheGoodBackup) {
  const std::string backup = bytes_of(backup_);
  {
    SQLite::Database db(path_.string(), SQLite::OPEN_READWRITE);
    ASSERT_GT(db.exec("UPDATE sample SET microseconds = microseconds * 2 WHERE case_id = 1"), 0);
  }
  add_run("second", {"c"});
  try {
    Store::open(path_, OpenMode::kReadWrite).back_up();
    ADD_FAILURE() << "the damage went unnoticed";
  } catch (const Error& error) {
    EXPECT_TRUE(has(error.what(), "r.db.bak stays as it was")) << error.what();
  }
  EXPECT_EQ(bytes_of(backup_), backup);
  for (const auto& entry : fs::directory_iterator(folder_.path()))
    EXPECT_FALSE(has(entry.path().string(), ".new")) << entry.path();
  EXPECT_EQ(refusal(backup_), "") << "a database with damaged rows gives way, although it holds another run";
  expect_first_run();
}

TEST_F(RestoreTest, TakesThePlaceOfWhatIsNoDatabaseAnyMore) {
  for (const std::string& left : {std::string(), std::string("SQLite for"), std::string(9000, '\0')}) {
    std::ofstream(path_, std::ios::binary) << left;
    EXPECT_EQ(refusal(backup_), "");
    expect_first_run();
  }
  fs::remove(path_);
  EXPECT_EQ(restore(backup_, path_).kept, "");
  expect_first_run();
}

TEST_F(RestoreTest, WhatHoldsMoreGivesWayOnlyByForce) {
  EXPECT_EQ(refusal(backup_), "") << "it holds no more than the backup";
  add_run("second", {"c"});
  EXPECT_TRUE(has(refusal(backup_), "holds 1 run and 1 case that the backup has not")) << refusal(backup_);
  EXPECT_EQ(refusal(backup_, true), "");
  expect_first_run();
  const Store kept = Store::open(folder_ / "r.db.replaced-2", OpenMode::kReadOnly);
  EXPECT_EQ(kept.runs().size(), 2u) << "nothing is lost";
}

TEST_F(RestoreTest, CasesThatAResumedRunGotSinceCountAsMore) {
  Store::open(path_, OpenMode::kReadWrite).add_case(1, passed_case("c"));
  EXPECT_TRUE(has(refusal(backup_), "0 runs and 1 case"));
}

TEST_F(RestoreTest, ALogGoesAsideWithItsDatabase) {
  test::wait_for(test::start_child([&] {
    Store store = Store::open(path_, OpenMode::kReadWrite);
    store.add_case(1, passed_case("in the log"));
    ::kill(::getpid(), SIGKILL);
  }));
  ASSERT_GT(fs::file_size(path_.string() + "-wal"), 0u);
  EXPECT_TRUE(has(refusal(backup_), "holds 0 runs and 1 case"));
  restore(backup_, path_, true);
  expect_first_run();
  const Store kept = Store::open(kept_, OpenMode::kReadOnly);
  EXPECT_EQ(kept.cases(1).size(), 3u);
}

TEST_F(RestoreTest, ADamagedBackupIsRefusedWhateverIsAsked) {
  const std::string good = bytes_of(backup_);
  { SQLite::Database(backup_.string(), SQLite::OPEN_READWRITE).exec("UPDATE sample SET microseconds = 1"); }
  EXPECT_TRUE(has(refusal(backup_, true), "is not what was stored")) << refusal(backup_, true);
  profiler::Random random(4);
  for (int trial = 0; trial < 40; ++trial) {
    std::string bad = good;
    if (trial % 4 == 0) {
      bad.resize(random.below(static_cast<std::uint32_t>(bad.size())));
    } else {
      const auto page =
          4096 * static_cast<std::size_t>(random.below(static_cast<std::uint32_t>(bad.size() / 4096)));
      for (int i = 0; i < 200; ++i) bad[page + random.below(4096)] = static_cast<char>(random.next());
    }
    std::ofstream(backup_, std::ios::binary) << bad;
    if (refusal(backup_, true).empty()) expect_first_run();  // the damage hit what holds nothing
  }
  std::ofstream(backup_, std::ios::binary) << "";
  EXPECT_NE(refusal(backup_, true), "");
}

TEST_F(RestoreTest, NewerAndForeignFilesGiveWayOnlyByForce) {
  { SQLite::Database(path_.string(), SQLite::OPEN_READWRITE).exec("PRAGMA user_version = 1000000"); }
  EXPECT_TRUE(has(refusal(backup_), "newer than ours"));
  EXPECT_TRUE(has(refusal(path_), "the database itself"));
  fs::remove(path_);
  {
    SQLite::Database(path_.string(), SQLite::OPEN_READWRITE | SQLite::OPEN_CREATE).exec("CREATE TABLE t (x)");
  }
  EXPECT_TRUE(has(refusal(backup_), "another program"));
  EXPECT_EQ(refusal(backup_, true), "");
  expect_first_run();
}

TEST_F(RestoreTest, ADatabaseInUseIsLeftAlone) {
  const Store user = Store::open(path_, OpenMode::kReadWrite);
  ASSERT_EQ(user.runs().size(), 1u);
  EXPECT_TRUE(has(refusal(backup_, true), "another process uses the database"));
}

TEST_F(RestoreTest, FilesThatAreNotThereAndFoldersAreRefused) {
  EXPECT_TRUE(has(refusal(folder_ / "none.bak"), "no such backup"));
  EXPECT_TRUE(has(refusal(folder_.path()), "no such backup"));
  EXPECT_THROW(restore(backup_, folder_.path()), Error);
  EXPECT_THROW(restore(backup_, ""), Error);
  EXPECT_THROW(restore(backup_, folder_ / "no/such/folder/r.db"), Error);
}

TEST_F(RestoreTest, AReadOnlyFolderIsSaidAndNothingChanges) {
  damage();
  const std::string before = bytes_of(path_);
  fs::permissions(folder_.path(), fs::perms(0555));
  for (const auto& file : {path_, backup_}) fs::permissions(file, fs::perms(0444));
  const std::string message = test::as_plain_user([&]() -> std::string {
    try {
      restore(backup_, path_);
    } catch (const Error& error) {
      return error.what();
    }
    return "restored";
  });
  fs::permissions(folder_.path(), fs::perms(0755));
  EXPECT_TRUE(has(message, "r.db")) << message;
  EXPECT_NE(message, "restored");
  EXPECT_EQ(bytes_of(path_), before);
}

TEST_F(RestoreTest, AnOlderSchemaIsRestoredAsItIs) {
  const auto old = folder_ / "r.db.schema-1.bak";
  {
    SQLite::Database(old.string(), SQLite::OPEN_READWRITE | SQLite::OPEN_CREATE)
        .exec(bytes_of(FIXTURES "/schema_1.sql"));
  }
  damage();
  restore(old, path_);
  {
    SQLite::Database db(path_.string(), SQLite::OPEN_READONLY);
    EXPECT_EQ(db.execAndGet("PRAGMA user_version").getInt(), 1);
  }
  EXPECT_EQ(Store::open(path_, OpenMode::kReadWrite).runs().size(), 1u) << "migrated when it is next used";
}

TEST_F(RestoreTest, AKillInTheMiddleLosesNothing) {
  damage();
  const std::string damaged = bytes_of(path_), backup = bytes_of(backup_);
  profiler::Random random(8);
  for (int kill = 0; kill < 20; ++kill) {
    const pid_t child = test::start_child([&] { restore(backup_, path_, true); });
    ::usleep(random.below(20'000));
    ::kill(child, SIGKILL);
    test::wait_for(child);
    ASSERT_EQ(bytes_of(backup_), backup);
    bool there = bytes_of(path_) == damaged;
    // A log that moved alone, before the kill, takes the first name from the next restore.
    for (const auto& entry : fs::directory_iterator(folder_.path()))
      there |=
          entry.path().filename().string().starts_with("r.db.replaced-") && bytes_of(entry.path()) == damaged;
    ASSERT_TRUE(there) << "kill " << kill;
  }
  restore(backup_, path_, true);
  expect_first_run();
}

}  // namespace
}  // namespace wide::results
