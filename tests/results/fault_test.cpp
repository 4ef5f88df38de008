// Disks that are full or broken at every single write, power lost at every single write, memory that runs out
// at every single allocation. WIDEBENCH_SOAK=1 tries them all; without it memory is tried at some only.
#include <SQLiteCpp/SQLiteCpp.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <map>

#include "formats/error.h"
#include "results/report.h"
#include "results/store.h"
#include "tests/results/fault_vfs.h"
#include "tests/results/sample_records.h"

namespace wide::results {
namespace {

namespace fs = std::filesystem;
using test::bytes_of;
using test::describe;
using test::Fault;
using test::passed_case;
using test::sample_run;
using test::set_fault;
using test::soak;
using test::TemporaryFolder;

constexpr int kOldCases = 3, kNewCases = 4;

std::string key(const char* kind, int i) {
  return std::string(kind) + " " + std::to_string(i);
}

/// A database with an old run, as a file to copy.
void make_old(const fs::path& path) {
  Store store = Store::open(path, OpenMode::kReadWrite);
  const auto run = store.begin_run(sample_run());
  for (int i = 0; i < kOldCases; ++i) store.add_case(run, passed_case(key("old", i)));
}

/// A sweep; the keys that were acknowledged are in `acknowledged`, also when it throws.
void sweep(const fs::path& path, std::vector<std::string>& acknowledged) {
  Store store = Store::open(path, OpenMode::kReadWrite);
  RunRecord run = sample_run();
  run.uid = "new";
  const auto id = store.begin_run(run);
  for (int i = 0; i < kNewCases; ++i) {
    store.add_case(id, passed_case(key("new", i)));
    acknowledged.push_back(key("new", i));
  }
  store.set_baseline("main", {id});
  store.finish_run(id, RunStatus::kDone);
}

/// Opens the file after the fault; every old case is whole, every acknowledged one is there.
void expect_whole(const fs::path& path, int old_cases, const std::vector<std::string>& acknowledged) {
  const Store store = Store::open(path, OpenMode::kReadWrite);
  std::map<std::string, std::string> cases;
  for (const auto& run : store.runs()) {
    for (const auto& record : store.cases(run.id)) cases[record.key] = describe(record);
  }
  for (int i = 0; i < old_cases; ++i)
    ASSERT_EQ(cases[key("old", i)], describe(passed_case(key("old", i)))) << "an old case was lost";
  for (const auto& name : acknowledged)
    ASSERT_EQ(cases[name], describe(passed_case(name))) << "an acknowledged case was lost";
  ASSERT_LE(cases.size(), static_cast<std::size_t>(old_cases) + acknowledged.size() + 1);
  SQLite::Database db(path.string(), SQLite::OPEN_READWRITE);
  ASSERT_EQ(db.execAndGet("PRAGMA integrity_check").getString(), "ok");
  ASSERT_EQ(db.execAndGet("SELECT count(*) FROM pragma_foreign_key_check").getInt(), 0);
}

class Disk : public testing::TestWithParam<std::pair<bool, bool>> {
 protected:
  void TearDown() override { set_fault({}); }
};

/// The n-th operation fails, n = 1, 2, 3, … until a sweep meets no fault any more.
TEST_P(Disk, FailsAtEveryOperationOfASweep) {
  const auto [full, lasting] = GetParam();
  const TemporaryFolder folder;
  make_old(folder / "old.db");
  int n = 1, clean = 0;
  for (;; ++n) {
    const auto path = folder / "r.db";
    for (const char* end : {"", "-wal", "-shm", "-journal"}) fs::remove(path.string() + end);
    fs::copy_file(folder / "old.db", path);
    std::vector<std::string> acknowledged;
    std::string message;
    set_fault({.at = n, .lasting = lasting, .full_disk = full});
    try {
      sweep(path, acknowledged);
    } catch (const Error& error) {
      message = error.what();
    }
    const bool met = test::fault_was_met();
    set_fault({});
    ASSERT_NO_FATAL_FAILURE(expect_whole(path, kOldCases, acknowledged))
        << "operation " << n << ": " << message;
    if (!met) break;
    if (message.empty()) continue;  // a failed checkpoint on closing costs nothing
    ++clean;
    ASSERT_NE(message.find("r.db"), std::string::npos) << message;
    ASSERT_EQ(message.find('\n'), std::string::npos) << message;
  }
  EXPECT_GT(n, 20);
  EXPECT_GT(clean, 10);
  RecordProperty("operations", n - 1);
}

TEST_P(Disk, FailsAtEveryOperationOfAMigration) {
  const auto [full, lasting] = GetParam();
  const TemporaryFolder folder;
  const std::string fixtures = FIXTURES;
  {
    SQLite::Database db((folder / "old.db").string(), SQLite::OPEN_READWRITE | SQLite::OPEN_CREATE);
    db.exec(bytes_of(fixtures + "/schema_1.sql"));
  }
  const Imported expected = read_report(fixtures + "/schema_1.json");
  int n = 1;
  for (bool met = true; met; ++n) {
    const TemporaryFolder here;
    fs::copy_file(folder / "old.db", here / "r.db");
    set_fault({.at = n, .lasting = lasting, .full_disk = full});
    try {
      Store::open(here / "r.db", OpenMode::kReadWrite);
    } catch (const Error& error) {
      ASSERT_NE(std::string(error.what()).find("r.db"), std::string::npos) << error.what();
    }
    met = test::fault_was_met();
    set_fault({});
    for (const auto& entry : fs::directory_iterator(here.path()))
      ASSERT_EQ(entry.path().string().find(".tmp"), std::string::npos) << "half a backup was left";
    const Store store = Store::open(here / "r.db", OpenMode::kReadWrite);
    ASSERT_EQ(describe(store.run(1)), describe(expected.run)) << n;
    ASSERT_EQ(describe(store.cases(1).at(0)), describe(expected.cases.at(0))) << n;
  }
  EXPECT_GT(n, 10);
}

INSTANTIATE_TEST_SUITE_P(Faults, Disk,
                         testing::Values(std::pair{true, false}, std::pair{true, true},
                                         std::pair{false, false}, std::pair{false, true}),
                         [](const auto& row) {
                           return std::string(row.param.first ? "Full" : "Broken") +
                                  (row.param.second ? "FromThenOn" : "Once");
                         });

/// What lies on the disk after every operation, whole, torn, or with all that was not synced lost.
TEST(PowerLoss, CorruptsNothingAndLosesNothingAcknowledged) {
  const TemporaryFolder folder;
  std::vector<std::pair<std::size_t, std::string>> acknowledged;  // after so many operations
  test::start_log();
  {
    Store store = Store::open(folder / "r.db", OpenMode::kReadWrite);
    const auto id = store.begin_run(sample_run());
    for (int i = 0; i < 8; ++i) {
      store.add_case(id, passed_case(key("new", i)));
      acknowledged.emplace_back(test::operations().size(), key("new", i));
    }
    store.finish_run(id, RunStatus::kDone);
  }
  test::stop_log();
  const std::size_t total = test::operations().size();
  int points = 0;
  for (std::size_t count = 1; count <= total; ++count) {
    for (int kind = 0; kind < 3; ++kind) {
      const TemporaryFolder disk;
      test::play_back(disk.path(), count, kind == 1, kind == 2);
      std::vector<std::string> expected;
      for (const auto& [after, name] : acknowledged) {
        if (after < count || (after == count && kind != 1)) expected.push_back(name);
      }
      ASSERT_NO_FATAL_FAILURE(expect_whole(disk / "r.db", 0, expected))
          << "after operation " << count << " of " << total << ", kind " << kind;
      ++points;
    }
  }
  EXPECT_GE(points, 200);
  RecordProperty("crash_points", points);
}

TEST(Memory, RunsOutAtAnyAllocationOfSqlite) {
  const TemporaryFolder folder;
  make_old(folder / "old.db");
  int tried = 0, failed = 0;
  const auto path = folder / "r.db";
  for (int n = 1;; n += soak() || n < 60 ? 1 : 97) {
    for (const char* end : {"", "-wal", "-shm", "-journal"}) fs::remove(path.string() + end);
    fs::copy_file(folder / "old.db", path);
    std::vector<std::string> acknowledged;
    test::fail_allocation(n);
    try {
      sweep(path, acknowledged);
    } catch (const Error&) {
      ++failed;
    } catch (const std::bad_alloc&) {
      ++failed;
    }
    const bool met = test::fail_allocation(0);
    ++tried;
    ASSERT_NO_FATAL_FAILURE(expect_whole(path, kOldCases, acknowledged)) << "allocation " << n;
    if (!met) break;
  }
  EXPECT_GT(failed, tried / 4);
  RecordProperty("allocations_tried", tried);
}

}  // namespace
}  // namespace wide::results

int main(int argc, char** argv) {
  wide::results::test::install_fault_layer();
  testing::InitGoogleTest(&argc, argv);
  return RUN_ALL_TESTS();
}
