#include "app/run_lock.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <optional>

#include "app/temporary_folder.h"
#include "formats/error.h"

namespace wide::app {
namespace {

using testing::HasSubstr;

std::string refusal(const std::filesystem::path& database, std::int64_t run) {
  try {
    const RunLock lock(database, run);
  } catch (const Error& error) {
    return error.what();
  }
  return "";
}

TEST(RunLockTest, OneProcessMeasuresARun) {
  const TemporaryFolder folder("widebench");
  const auto database = folder.path() / "r.db";
  using results::RunStatus;
  EXPECT_EQ(status_now(database, 3, RunStatus::kRunning), RunStatus::kInterrupted);
  EXPECT_EQ(status_now(database, 3, RunStatus::kDone), RunStatus::kDone);
  {
    const RunLock lock(database, 3);
    EXPECT_EQ(status_now(database, 3, RunStatus::kRunning), RunStatus::kRunning);
    const TemporaryFolder other("widebench");
    std::filesystem::create_symlink(database, other.path() / "link.db");
    std::ofstream(database).put(' ');
    EXPECT_EQ(status_now(other.path() / "link.db", 3, RunStatus::kRunning), RunStatus::kRunning);
    std::filesystem::remove(database);
    EXPECT_THAT(refusal(database, 3),
                HasSubstr("run 3 is being measured by process " + std::to_string(::getpid())));
    EXPECT_EQ(refusal(database, 4), "");
  }
  EXPECT_EQ(refusal(database, 3), "");
  EXPECT_TRUE(std::filesystem::is_empty(folder.path()));
}

TEST(RunLockTest, AProcessThatWasKilledHoldsNothing) {
  const TemporaryFolder folder("widebench");
  const auto database = folder.path() / "r.db";
  int ready[2];
  ASSERT_EQ(::pipe(ready), 0);
  const auto child = ::fork();
  if (child == 0) {
    const RunLock lock(database, 1);
    (void)!::write(ready[1], "!", 1);
    for (;;) ::pause();
  }
  char told = 0;
  ASSERT_EQ(::read(ready[0], &told, 1), 1);
  EXPECT_THAT(refusal(database, 1), HasSubstr("process " + std::to_string(child)));
  EXPECT_EQ(status_now(database, 1, results::RunStatus::kRunning), results::RunStatus::kRunning);
  ::kill(child, SIGKILL);
  ::waitpid(child, nullptr, 0);
  EXPECT_EQ(status_now(database, 1, results::RunStatus::kRunning), results::RunStatus::kInterrupted);
  EXPECT_EQ(refusal(database, 1), "");
}

TEST(RunLockTest, SaysWhyTheFileCannotBeMade) {
  EXPECT_THAT(refusal("/nowhere/at/all/r.db", 1), HasSubstr("No such file or directory"));
}

}  // namespace
}  // namespace wide::app
