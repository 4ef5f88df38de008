// Tables: sorting, filtering, exporting; a hundred thousand rows.
#include "gui/views/table.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <ctime>
#include <nlohmann/json.hpp>
#include <random>

#include "gui/views/quantity.h"
#include "tests/machine_speed.h"

namespace wide::gui {
namespace {

// Sanitized code is several times slower: there the figures only guard against another order of growth.
#if defined(__SANITIZE_ADDRESS__)
constexpr double kSlower = 10;
#else
constexpr double kSlower = 1;
#endif

using profiler::kUnknown;

Table sample() {
  Table table({{"name", "Name"},
               {"n", "N", CellKind::kNumber, show_count},
               {"speedup", "Speed-up", CellKind::kInterval, show_ratio},
               {"verdict", "Verdict"}});
  const auto add = [&](std::string_view name, double n, Interval speedup, std::string_view verdict) {
    const auto row = table.add_row();
    table.set(row, 0, name);
    table.set(row, 1, n);
    table.set(row, 2, speedup);
    table.set(row, 3, verdict);
  };
  add("conv10", 8, {1.5, 1.4, 1.6}, "faster");
  add("conv2", 4, {0.8, 0.7, 0.9}, "slower");
  add("Linear", 4, {}, "fail");
  add("conv2", 16, {2.5, 2.0, 3.0}, "faster");
  table.refresh();
  return table;
}

using Rows = std::vector<std::uint32_t>;

TEST(Table, SortsNumbersWithTheUnknownLastEitherWay) {
  auto table = sample();
  table.sort(2, false);
  EXPECT_EQ(table.shown(), (Rows{1, 0, 3, 2}));
  table.sort(2, true);
  EXPECT_EQ(table.shown(), (Rows{3, 0, 1, 2}));
}

TEST(Table, SortsTextsAsPeopleDoAndKeepsTheOrderOfEquals) {
  auto table = sample();
  table.sort(0, false);
  EXPECT_EQ(table.shown(), (Rows{1, 3, 0, 2}));
  table.sort(1, true);
  EXPECT_EQ(table.shown(), (Rows{3, 0, 1, 2}));
  table.unsort();
  EXPECT_EQ(table.shown(), (Rows{0, 1, 2, 3}));
}

TEST(Table, SortsNegativeNumbersAndZeros) {
  Table table({{"x", "x", CellKind::kNumber}});
  for (const double x : {0.0, -3.0, 2.0, -0.0, -1e300, HUGE_VAL, kUnknown}) table.set(table.add_row(), 0, x);
  table.sort(0, false);
  EXPECT_EQ(table.shown(), (Rows{4, 1, 0, 3, 2, 5, 6}));
}

TEST(Table, FiltersByWordsColumnsAndNumbers) {
  auto table = sample();
  const auto shown = [&](std::string_view query) {
    table.filter(query);
    return table.shown();
  };
  EXPECT_EQ(shown("CONV"), (Rows{0, 1, 3}));
  EXPECT_EQ(shown("conv faster"), (Rows{0, 3}));
  EXPECT_EQ(shown("verdict:fail"), (Rows{2}));
  EXPECT_EQ(shown("name:fail"), Rows{});
  EXPECT_EQ(shown("-conv"), (Rows{2}));
  EXPECT_EQ(shown("n>=8"), (Rows{0, 3}));
  EXPECT_EQ(shown("n>8"), (Rows{3}));
  EXPECT_EQ(shown("n=4"), (Rows{1, 2}));
  EXPECT_EQ(shown("speedup<1"), (Rows{1})) << "unknown is not below 1";
  EXPECT_EQ(shown("  "), (Rows{0, 1, 2, 3}));
}

TEST(Table, SaysWhatItCannotUnderstand) {
  auto table = sample();
  table.filter("speed>2");
  EXPECT_TRUE(table.shown().empty());
  EXPECT_EQ(table.filter_fault(), "there is no column \"speed\"; there are name n speedup verdict");
  table.filter("n>many");
  EXPECT_EQ(table.filter_fault(), "\"many\" is no number to compare n with");
  table.filter("");
  EXPECT_EQ(table.filter_fault(), "");
}

TEST(Table, FilterAndSortHoldWhenRowsAreAdded) {
  auto table = sample();
  table.filter("conv");
  table.sort(1, false);
  const auto row = table.add_row();
  table.set(row, 0, "conv1d");
  table.set(row, 1, 6.0);
  table.refresh();
  EXPECT_EQ(table.shown(), (Rows{1, 4, 0, 3}));
}

TEST(Table, CellsAreShownWithTheirInterval) {
  const auto table = sample();
  EXPECT_EQ(table.cell(0, 2), "1.50× [1.40, 1.60]");
  EXPECT_EQ(table.cell(2, 2), "–") << "what failed has no speed-up";
  EXPECT_EQ(table.cell(0, 1), "8");
}

TEST(Table, ExportsWhatIsShown) {
  auto table = sample();
  table.filter("n=4");
  table.set(1, 0, "=1+1, \"x\"");
  table.refresh();
  EXPECT_EQ(to_csv(table),
            "name,n,speedup,speedup_low,speedup_high,verdict\r\n"
            "\"'=1+1, \"\"x\"\"\",4,0.8,0.7,0.9,slower\r\n"
            "Linear,4,,,,fail\r\n");
  const auto json = to_json(table);
  ASSERT_EQ(json.size(), 2u);
  EXPECT_EQ(json[0]["speedup"]["low"], 0.7);
  EXPECT_TRUE(json[1]["speedup"]["value"].is_null());
}

// Digits stand for numbers at any place, texts may begin alike for long, and one may be the beginning of
// another.
TEST(Table, SortsTextsThatBeginAlike) {
  const std::string alike(40, 'x');
  const std::vector<std::string> wanted = {"",
                                           alike,
                                           alike + " 7a",
                                           alike + " 07b",
                                           alike + " 10",
                                           alike + " 10 2",
                                           alike + " 10 11 y",
                                           alike + " 9000000000000"};
  std::vector<std::uint32_t> mixed = {4, 1, 7, 0, 6, 3, 5, 2};
  Table table(std::vector<Column>{{"name", "Name"}});
  for (const auto i : mixed) table.set(table.add_row(), 0, wanted[i]);
  table.sort(0, false);
  std::vector<std::string> seen;
  for (const auto row : table.shown()) seen.emplace_back(table.text(row, 0));
  auto expected = wanted;
  std::rotate(expected.begin(), expected.begin() + 1, expected.end());  // what has no text comes last
  EXPECT_EQ(seen, expected);
  table.set(table.add_row(), 0, alike + " 8");
  table.refresh();
  EXPECT_EQ(table.text(table.shown()[3], 0), alike + " 8");
}

TEST(Table, AHundredThousandRowsAreSortedAndFilteredWithinAFrame) {
  Table table({{"name", "Name"},
               {"kind", "Kind"},
               {"n", "N", CellKind::kNumber},
               {"x", "x", CellKind::kInterval},
               {"reason", "Reason"}});
  std::mt19937 random(3);
  std::uniform_real_distribution<double> draw(0, 1);
  for (int i = 0; i < 100'000; ++i) {
    const auto row = table.add_row();
    table.set(row, 0, "subject " + std::to_string(i % 5000));
    table.set(row, 1, i % 2 == 0 ? "block" : "primitive");
    table.set(row, 2, i % 64);
    table.set(row, 3, {draw(random), 0, 1});
    table.set(row, 4, "no two texts are the same, this is number " + std::to_string(i * 7919 % 100'000));
  }
  table.refresh();
  double worst = 0;
  const auto timed = [&](const auto& work) {
    const auto start = std::clock();
    work();
    worst = std::max(worst, 1e3 * static_cast<double>(std::clock() - start) / CLOCKS_PER_SEC);
  };
  for (std::size_t column = 0; column < 5; ++column) timed([&] { table.sort(column, column % 2 == 0); });
  timed([&] { table.sort(4, false); });
  EXPECT_EQ(table.shown().size(), 100'000u);
  timed([&] { table.filter("subject block n>=32"); });
  EXPECT_EQ(table.shown().size(), 24'992u);
  timed([&] { table.filter("-4999 x>0.5"); });
  EXPECT_LT(worst, 50 * kSlower * wide::test::slowness()) << "milliseconds";
  RecordProperty("worst_ms", std::to_string(worst));
}

// Columns in which no row says anything take no room.
TEST(Table, KnowsWhichColumnsAreEmpty) {
  Table table({{"name", "name"}, {"tags", "tags"}, {"time", "time", CellKind::kInterval, show_time}});
  for (int i = 0; i < 3; ++i) {
    const auto row = table.add_row();
    table.set(row, 0, "a");
    table.set(row, 1, "");
    table.set(row, 2, std::numeric_limits<double>::quiet_NaN());
  }
  EXPECT_FALSE(table.is_empty(0));
  EXPECT_TRUE(table.is_empty(1));
  EXPECT_TRUE(table.is_empty(2));
  table.set(1, 1, "nightly");
  table.set(2, 2, Interval{3, 2, 4});
  EXPECT_FALSE(table.is_empty(1));
  EXPECT_FALSE(table.is_empty(2));
  table.clear();
  EXPECT_TRUE(table.is_empty(0) && table.is_empty(1) && table.is_empty(2));
}

TEST(Table, WhatCanBeSparedIsLeftOutWhereThereIsNoRoom) {
  const Table table({{"a", "a"},
                     {"b", "b", CellKind::kText, nullptr, "", 1},
                     {"c", "c", CellKind::kText, nullptr, "", 3},
                     {"d", "d", CellKind::kText, nullptr, "", 2}});
  const std::vector<float> widths = {10, 10, 10, 10};
  using Out = std::vector<bool>;
  EXPECT_EQ(left_out(table, widths, 40), (Out{false, false, false, false}));
  EXPECT_EQ(left_out(table, widths, 39), (Out{false, false, true, false}));
  EXPECT_EQ(left_out(table, widths, 20), (Out{false, false, true, true}));
  EXPECT_EQ(left_out(table, widths, 1), (Out{false, true, true, true}));  // the first is never spared
  EXPECT_EQ(left_out(table, std::vector<float>{10, 10, 0, 10}, 20), (Out{false, false, false, true}));
}

// A wide column that had to go leaves room for narrow ones that went before it.
TEST(Table, WhatStillFitsIsPutBack) {
  const Table table({{"a", "a"},
                     {"wide", "wide", CellKind::kText, nullptr, "", 1},
                     {"c", "c", CellKind::kText, nullptr, "", 3},
                     {"d", "d", CellKind::kText, nullptr, "", 2}});
  using Out = std::vector<bool>;
  EXPECT_EQ(left_out(table, std::vector<float>{10, 50, 10, 10}, 40), (Out{false, true, false, false}));
  EXPECT_EQ(left_out(table, std::vector<float>{10, 50, 10, 10}, 25), (Out{false, true, true, false}));
}

}  // namespace
}  // namespace wide::gui
