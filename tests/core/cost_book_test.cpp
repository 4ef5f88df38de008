// The file of measured costs.
#include "core/tune/cost_book.h"

#include <gtest/gtest.h>

#include <fstream>

#include "core/support.h"

namespace wide::test {
namespace {

TEST(CostBook, LeavesOutWhatIsDamaged) {
  const TemporaryFolder folder;
  const auto file = folder / "deep/costs.tsv";
  CostBook(file).add("a b\tc", {12.5});
  std::ofstream(file, std::ios::app) << "broken\t-3\nbroken too\tx\nno tab\ncut off\t";
  const CostBook book(file);
  EXPECT_EQ(book.size(), 1u);
  ASSERT_TRUE(book.find("a b\tc"));
  EXPECT_EQ(book.find("a b\tc")->nanoseconds, 12.5);
  std::ofstream(file) << "another format\nx\t1\n";
  EXPECT_EQ(CostBook(file).size(), 0u);
  CostBook(file).add("x", {2});
  EXPECT_EQ(CostBook(file).find("x").value().nanoseconds, 2) << "begun anew";
}

TEST(CostBook, SaysWhetherTheMachineWasQuiet) {
  const TemporaryFolder folder;
  const auto file = folder / "costs.tsv";
  CostBook(file).add("x", {.nanoseconds = 9, .quiet = false});
  EXPECT_EQ(CostBook(file).find("x").value().nanoseconds, 9);
  EXPECT_FALSE(CostBook(file).find("x")->quiet);
  CostBook(file).add("x", {.nanoseconds = 2});
  EXPECT_EQ(CostBook(file).find("x").value().nanoseconds, 2);
  EXPECT_TRUE(CostBook(file).find("x")->quiet);
  std::ofstream(file, std::ios::app) << "x\t1e300\nx\tnan~\nx\t~\n";
  EXPECT_EQ(CostBook(file).find("x").value().nanoseconds, 2) << "no time of anything";
}

TEST(CostBook, IsWrittenAnewWhereMostLinesWereReplaced) {
  const TemporaryFolder folder;
  const auto file = folder / "costs.tsv";
  CostBook(file).add("x", {1});
  CostBook(file).add("y", {.nanoseconds = 2.5, .quiet = false});
  const auto small = std::filesystem::file_size(file);
  {
    std::ofstream more(file, std::ios::app);
    for (int i = 0; i < 5000; ++i) more << "x\t" << i << "\n";
  }
  for (int reads = 0; reads < 2; ++reads) {
    const CostBook book(file);
    EXPECT_EQ(book.size(), 2u);
    EXPECT_EQ(book.find("x").value().nanoseconds, 4999);
    EXPECT_EQ(book.find("y").value().nanoseconds, 2.5);
    EXPECT_FALSE(book.find("y")->quiet);
  }
  EXPECT_LT(std::filesystem::file_size(file), small + 10);
  EXPECT_EQ(std::filesystem::status(file).permissions() & std::filesystem::perms::others_all,
            std::filesystem::perms::none);
  CostBook(file).add("z", {3});
  EXPECT_EQ(CostBook(file).size(), 3u) << "goes on as before";
}

TEST(CostBook, AFileThatCannotBeWrittenIsLeftAlone) {
  CostBook book("/proc/nowhere/costs.tsv");
  EXPECT_NO_THROW(book.add("x", {1}));
  EXPECT_EQ(book.find("x").value().nanoseconds, 1);
}

}  // namespace
}  // namespace wide::test
