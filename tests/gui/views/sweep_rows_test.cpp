// Results as rows and curves; progress from lines.
#include "gui/views/sweep_rows.h"

#include <gtest/gtest.h>

#include "gui/views/sweep_progress.h"

namespace wide::gui {
namespace {

using results::CaseRecord;
using results::Verdict;

CaseRecord passed(const std::string& subject, std::int64_t n, double speedup) {
  CaseRecord record;
  record.subject = subject, record.n = n, record.device = "cpu", record.dtype = "float32",
  record.mode = "eager";
  record.strategy = "auto", record.shape = {{"batch", 8}};
  record.verdict = Verdict::kPass;
  record.checks = {{.what = "member against its own run", .max_abs_err = 3e-7, .passed = true}};
  record.wide.median_us = 1520, record.wide.ci95 = {1520, 1500, 1540};
  record.rivals = {{.name = "eager"}, {.name = "threads"}};
  record.rivals[0].time.median_us = speedup * 3000, record.rivals[1].time.median_us = speedup * 1500;
  record.best_rival = "threads";
  record.speedup = {speedup * 2, speedup * 1.9, speedup * 2.1};
  record.speedup_best_rival = {speedup, speedup * 0.98, speedup * 1.02};
  record.noise_floor = {1, 0.995, 1.005};
  return record;
}

CaseRecord failed(const std::string& subject, std::int64_t n) {
  auto record = passed(subject, n, 5);
  record.verdict = Verdict::kFail, record.reason = "member 2 is off by 0.5";
  return record;
}

TEST(SweepRows, SayVerdictTimesAndIntervals) {
  auto table = sweep_table();
  add_cases(table, {passed("linear", 4, 1.4), passed("linear", 8, 0.5), passed("linear", 16, 1.001)});
  const auto cell = [&](std::size_t row, std::string_view key) { return table.cell(row, table.column(key)); };
  EXPECT_EQ(cell(0, "wide"), "1.52 ms [1.50, 1.54]");
  EXPECT_EQ(cell(0, "rival"), "threads");
  EXPECT_EQ(cell(0, "rival_time"), "2.10 ms");
  EXPECT_EQ(cell(0, "best"), "1.40× [1.37, 1.43]");
  EXPECT_EQ(cell(0, "shape"), "batch 8");
  EXPECT_EQ(cell(0, "verdict"), "faster");
  EXPECT_EQ(cell(1, "verdict"), "slower");
  EXPECT_EQ(cell(0, "error"), "3.00e-07");
}

TEST(SweepRows, SayWhereTimesAllowNoVerdict) {
  auto noisy = passed("linear", 4, 14488), odd = passed("linear", 8, 4.26);
  noisy.noise_floor = {1, 0.9, 50.68};
  odd.rivals[1].time.median_us = 217;
  auto table = sweep_table();
  add_cases(table, {noisy, odd, passed("linear", 16, 1.4)});
  const auto cell = [&](std::size_t row, std::string_view key) { return table.cell(row, table.column(key)); };
  for (const std::size_t row : {0U, 1U}) {
    EXPECT_EQ(cell(row, "verdict"), "inconclusive");
    EXPECT_TRUE(cell(row, "reason").starts_with("unreliable: measure again; the ")) << cell(row, "reason");
  }
  EXPECT_EQ(cell(2, "verdict"), "faster");
}

// Without a verdict there is no best rival, but the times were taken.
TEST(SweepRows, HaveTheTimesOfAllRivals) {
  auto noisy = passed("linear", 4, 1.4);
  noisy.noise_floor = {1, 0.9, 50.68}, noisy.best_rival.clear();
  auto table = sweep_table();
  add_cases(table, {passed("linear", 16, 1.4), noisy, failed("linear", 4)});
  const auto rivals = table.column("rivals");
  EXPECT_EQ(table.cell(0, rivals), "eager 4.20 ms, threads 2.10 ms");
  EXPECT_EQ(table.cell(1, rivals), "doubtful: eager 4.20 ms, threads 2.10 ms");
  EXPECT_EQ(table.cell(2, rivals), "");
}

TEST(SweepRows, AFailedProofHasNoTimeAndNoSpeedup) {
  auto table = sweep_table();
  add_cases(table, {failed("linear", 4)});
  for (const char* key : {"wide", "rival_time", "eager", "best"})
    EXPECT_EQ(table.cell(0, table.column(key)), "–");
  EXPECT_EQ(table.cell(0, table.column("verdict")), "fail");
  EXPECT_EQ(table.cell(0, table.column("reason")), "member 2 is off by 0.5");
  EXPECT_EQ(meaning("fail"), Meaning::kBroken);
}

TEST(SweepProgress, IsReadFromTheLinesOfTheProgram) {
  SweepProgress progress;
  EXPECT_EQ(progress.fraction(), -1);
  EXPECT_TRUE(take_line("run 7: 57 cases, 4 stored already, 53 to go", progress));
  EXPECT_EQ(progress.run, 7);
  EXPECT_EQ(progress.done, 4u);
  EXPECT_TRUE(take_line("[5/57] linear n=4 pass 3.12x [3.01, 3.20] over eager (0.9 s), 1:20 left", progress));
  EXPECT_EQ(progress.text(), "5 of 57 cases, 1:20 left");
  EXPECT_EQ(progress.last, "linear n=4 pass 3.12x [3.01, 3.20] over eager (0.9 s)");
  EXPECT_NEAR(progress.fraction(), 5.0 / 57, 1e-12);
  EXPECT_TRUE(take_line("[57/57] mlp n=8 fail: member 3, off by 1 (0.9 s)", progress));
  EXPECT_EQ(progress.left, "");
  EXPECT_EQ(progress.last, "mlp n=8 fail: member 3, off by 1 (0.9 s)");
  for (const char* line :
       {"", "run", "run x: 3 cases", "[1/2", "[a/b] x", "warning: run 3 with these settings"})
    EXPECT_FALSE(take_line(line, progress)) << line;
  EXPECT_TRUE(take_line("run 8: 1 case", progress));
  EXPECT_EQ(progress.done, 0u);
}

}  // namespace
}  // namespace wide::gui
