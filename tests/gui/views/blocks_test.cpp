// Rows of a timeline cut down to what a screen shows.
#include "gui/views/blocks.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>

namespace wide::gui {
namespace {

BlockRow row_of(const std::vector<std::pair<std::int64_t, std::int64_t>>& items) {
  BlockRow row;
  for (std::size_t i = 0; i < items.size(); ++i)
    row.push(items[i].first, items[i].second, static_cast<std::uint32_t>(100 + i));
  row.finish();
  return row;
}

std::vector<Block> blocks(const BlockRow& row, double from, double to, double narrow) {
  std::vector<Block> result;
  row.blocks(from, to, narrow, result);
  return result;
}

TEST(Blocks, WideItemsStandAlone) {
  const auto row = row_of({{0, 100}, {150, 300}, {300, 420}});
  const auto seen = blocks(row, 0, 1000, 10);
  ASSERT_EQ(seen.size(), 3u);
  EXPECT_EQ(seen[1], (Block{150, 300, 1, 1, 150, 1}));
  EXPECT_EQ(row.item(1), 101u);
}

TEST(Blocks, NarrowItemsAreMergedAndSayHowFullTheyAre) {
  const auto row = row_of({{0, 2}, {4, 5}, {6, 9}, {30, 31}});
  const auto seen = blocks(row, 0, 100, 10);
  ASSERT_EQ(seen.size(), 2u);
  EXPECT_EQ(seen[0], (Block{0, 9, 0, 3, 6, 2}));
  EXPECT_TRUE(seen[0].merged());
  EXPECT_NEAR(seen[0].filled(), 6.0 / 9, 1e-12);
  EXPECT_EQ(seen[1].start, 30) << "a gap wider than a stretch is never hidden";
}

TEST(Blocks, AWideItemThatBeginsAmongNarrowOnesStandsAlone) {
  const auto seen = blocks(row_of({{0, 2}, {3, 4}, {5, 50}, {51, 52}}), 0, 100, 10);
  ASSERT_EQ(seen.size(), 3u);
  EXPECT_EQ(seen[0].count, 2u);
  EXPECT_EQ(seen[1], (Block{5, 50, 2, 1, 45, 2}));
}

TEST(Blocks, OnlyWhatIsVisibleIsGiven) {
  const auto row = row_of({{0, 100}, {150, 300}, {300, 420}, {500, 600}});
  EXPECT_EQ(blocks(row, 100, 150, 1).size(), 0u);
  const auto seen = blocks(row, 200, 300, 1);
  ASSERT_EQ(seen.size(), 1u);
  EXPECT_EQ(seen[0].first, 1u);
  EXPECT_TRUE(blocks(BlockRow(), 0, 1, 1).empty());
}

TEST(Blocks, WhatOverlapsIsCutOff) {
  const auto row = row_of({{0, 10}, {5, 20}, {6, 7}});
  EXPECT_EQ(row.start(1), 10);
  EXPECT_EQ(row.start(2), 20);
  EXPECT_EQ(row.end(2), 20);
}

TEST(Blocks, TheItemUnderTheCursorIsFound) {
  const auto row = row_of({{10, 20}, {30, 40}});
  EXPECT_EQ(row.at(10), 0u);
  EXPECT_EQ(row.at(19.5), 0u);
  EXPECT_FALSE(row.at(20));
  EXPECT_FALSE(row.at(9));
  EXPECT_EQ(row.at(22, 3), 0u);
  EXPECT_EQ(row.at(28, 3), 1u);
  EXPECT_FALSE(row.at(45, 5));
  EXPECT_EQ(row.at(45, 6), 1u);
}

// Against the plain way of computing the same, on random rows.
TEST(Blocks, AgreeWithALookAtEveryItem) {
  std::mt19937 random(7);
  for (int round = 0; round < 60; ++round) {
    std::vector<std::pair<std::int64_t, std::int64_t>> items;
    std::int64_t at = 0;
    const auto count = std::uniform_int_distribution<int>(1, 900)(random);
    for (int i = 0; i < count; ++i) {
      at += std::uniform_int_distribution<int>(0, 30)(random);
      const auto length = std::uniform_int_distribution<int>(0, i % 50 == 0 ? 500 : 20)(random);
      items.emplace_back(at, at + length);
      at += length;
    }
    const auto row = row_of(items);
    const double from = std::uniform_int_distribution<int>(0, static_cast<int>(at))(random);
    const double to = from + std::uniform_int_distribution<int>(1, 4000)(random);
    const double narrow = std::uniform_int_distribution<int>(1, 100)(random);
    std::size_t next = row.first_after(from);
    std::int64_t before = -1;
    for (const auto& block : blocks(row, from, to, narrow)) {
      ASSERT_EQ(block.first, next) << "every visible item is in one block";
      next = block.first + block.count;
      std::int64_t busy = 0, longest = 0;
      for (auto i = block.first; i < next; ++i) {
        busy += row.end(i) - row.start(i);
        longest = std::max(longest, row.end(i) - row.start(i));
      }
      EXPECT_EQ(block.busy, busy);
      EXPECT_EQ(row.end(block.longest) - row.start(block.longest), longest);
      EXPECT_EQ(block.start, row.start(block.first));
      EXPECT_EQ(block.end, row.end(next - 1));
      EXPECT_GE(block.start, before);
      before = block.end;
      if (block.merged()) {
        EXPECT_LT(static_cast<double>(row.start(next - 1) - block.start), narrow);
      }
    }
    EXPECT_TRUE(next == row.size() || static_cast<double>(row.start(next)) >= to);
    double busy = 0;
    for (std::size_t i = 0; i < row.size(); ++i) {
      busy += std::max(0.0, std::min(to, static_cast<double>(row.end(i))) -
                                std::max(from, static_cast<double>(row.start(i))));
    }
    EXPECT_NEAR(row.busy(from, to), busy, 1e-6);
  }
}

}  // namespace
}  // namespace wide::gui
