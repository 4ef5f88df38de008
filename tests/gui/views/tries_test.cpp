// Tries on the open model: one row a choice, and two of them node by node.
#include "gui/views/tries.h"

#include <gtest/gtest.h>

namespace wide::gui {
namespace {

Try some_try(const std::string& conv, double us, bool built) {
  Try result{.predicted_us = us + 10, .built = built};
  if (conv != "grouped") result.wish.by_kind["conv2d"] = conv;
  result.nodes = {{"conv2d", "conv2d", conv, built ? "packed" : "", us, !built},
                  {"relu", "relu", "passthrough", "packed", 10, false}};
  return result;
}

results::CaseRecord passed(double us) {
  results::CaseRecord record;
  record.verdict = results::Verdict::kPass;
  record.wide.median_us = us, record.wide.ci95 = {us, us * 0.9, us * 1.1};
  record.speedup = record.speedup_best_rival = {2, 1.9, 2.1}, record.best_rival = "eager";
  record.rivals = {{.name = "eager"}};
  record.rivals[0].time.median_us = 2 * us;
  record.noise_floor = {1, 0.99, 1.01};
  return record;
}

TEST(Tries, AreOneRowAWish) {
  std::vector<Try> tries;
  note_try(tries, some_try("grouped", 100, true));
  note_try(tries, some_try("im2col", 80, false));
  note_try(tries, some_try("im2col", 85, true));
  ASSERT_EQ(tries.size(), 2U);
  EXPECT_TRUE(tries[1].built);
  EXPECT_EQ(tries[1].predicted_us, 95);
  note_try(tries, some_try("im2col", 80, false));  // an estimate says less than what was built
  EXPECT_EQ(tries[1].predicted_us, 95);
  const auto table = tries_table(tries);
  EXPECT_EQ(table.cell(0, table.column("try")), "AUTO");
  EXPECT_EQ(table.cell(1, table.column("try")), "conv2d=im2col");
  EXPECT_EQ(table.cell(1, table.column("predicted")), "95.0 µs");
  EXPECT_EQ(table.cell(1, table.column("measured")), "–");
  EXPECT_EQ(table.cell(1, table.column("state")), "built, not measured");
}

TEST(Tries, KeepTheirMeasurementAndSayWhereItSaysNothing) {
  std::vector<Try> tries;
  note_try(tries, some_try("grouped", 100, true));
  note_measured(tries, tries[0].wish, passed(110), 7);
  note_try(tries, some_try("grouped", 101, true));
  EXPECT_EQ(tries[0].run, 7);
  auto table = tries_table(tries);
  EXPECT_EQ(table.cell(0, table.column("measured")), "110 µs [99.0, 121]");
  EXPECT_EQ(table.cell(0, table.column("speedup")), "2.00× [1.90, 2.10]");
  EXPECT_EQ(table.cell(0, table.column("state")), "measured");
  auto noisy = passed(110);
  noisy.noise_floor = {1, 0.7, 1.4};
  note_measured(tries, tries[0].wish, noisy, 8);
  EXPECT_TRUE(tries[0].doubt.starts_with("unreliable: measure again; ")) << tries[0].doubt;
  auto failed = passed(110);
  failed.verdict = results::Verdict::kTimeout, failed.reason = "longer than 30 s";
  note_measured(tries, tries[0].wish, failed, 9);
  table = tries_table(tries);
  EXPECT_EQ(table.cell(0, table.column("measured")), "–");
  EXPECT_EQ(table.cell(0, table.column("speedup")), "–");
  EXPECT_EQ(table.cell(0, table.column("state")), "timeout: longer than 30 s");
}

TEST(Tries, TheOldestThatWereNotMeasuredGo) {
  std::vector<Try> tries;
  note_try(tries, some_try("a", 1, true));
  note_measured(tries, tries[0].wish, passed(1), 1);
  for (const char* name : {"b", "c", "d"}) note_try(tries, some_try(name, 1, false), 3);
  ASSERT_EQ(tries.size(), 3U);
  EXPECT_EQ(tries[0].run, 1);
  EXPECT_EQ(tries[1].wish.by_kind.at("conv2d"), "c");
}

TEST(Tries, AreComparedNodeByNodeWhatDiffersFirst) {
  auto first = some_try("grouped", 100, true), second = some_try("im2col", 80, true);
  second.nodes[1].layout = "front";
  std::swap(second.nodes[0], second.nodes[1]);
  second.nodes.push_back({"gelu", "gelu", "one_pass", "front", 5, false});
  auto table = tries_compared(first, second);
  ASSERT_EQ(table.rows(), 3U);
  EXPECT_EQ(table.cell(0, table.column("differs")), "strategy");
  EXPECT_EQ(table.cell(0, table.column("change")), "-20.0 µs");
  EXPECT_EQ(table.cell(1, table.column("differs")), "layout");
  EXPECT_EQ(table.cell(2, table.column("differs")), "only in the second");
  table = tries_compared(first, first);
  EXPECT_EQ(table.cell(0, table.column("differs")), "");
}

}  // namespace
}  // namespace wide::gui
