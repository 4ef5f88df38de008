// Zoom, pan and fit of a timeline; ticks.
#include "gui/views/time_view.h"

#include <gtest/gtest.h>

namespace wide::gui {
namespace {

TimeView view_of(double length, double pixels) {
  TimeView view;
  view.set_extent(0, length);
  view.set_width(pixels);
  view.fit();
  return view;
}

TEST(TimeView, FitShowsEverythingWithAMargin) {
  const auto view = view_of(1e6, 1280);
  EXPECT_TRUE(view.fits_all());
  EXPECT_NEAR(view.from(), -5e4, 1);
  EXPECT_NEAR(view.to(), 1.05e6, 1);
}

TEST(TimeView, WhatIsUnderTheCursorStaysThereWhenZooming) {
  auto view = view_of(1e9, 1000);
  const double time = view.time_of(700);
  for (int i = 0; i < 20; ++i) view.zoom(1.5, 700);
  EXPECT_NEAR(view.time_of(700), time, 1e-3);
  EXPECT_LT(view.scale(), 1e6 / 1000);
}

TEST(TimeView, ZoomsToLessThanAMicrosecondAndNoFurtherThanItsEnd) {
  auto view = view_of(1e9, 1280);
  view.show(5e8, 5e8 + 100);
  EXPECT_LT(view.to() - view.from(), 1000);
  for (int i = 0; i < 200; ++i) view.zoom(2, 600);
  EXPECT_DOUBLE_EQ(view.scale(), TimeView::kFinest);
  for (int i = 0; i < 200; ++i) view.zoom(0.5, 600);
  EXPECT_DOUBLE_EQ(view.scale(), 2e9 / 1280);
}

TEST(TimeView, PansWithTheMouseAndStaysNearTheTrace) {
  auto view = view_of(1e6, 1000);
  view.show(4e5, 5e5);
  const double time = view.time_of(300);
  view.pan(50);
  EXPECT_NEAR(view.time_of(350), time, 1e-6);
  view.pan(1e9);
  EXPECT_NEAR(view.time_of(500), 0, 1e-6);
  view.pan(-1e9);
  EXPECT_NEAR(view.time_of(500), 1e6, 1e-6);
}

TEST(TimeView, KeepsTheStretchWhenThePanelGrows) {
  auto view = view_of(1e6, 1000);
  view.show(2e5, 3e5);
  const double from = view.from(), to = view.to();
  view.set_width(1600);
  EXPECT_NEAR(view.from(), from, 1e-6);
  EXPECT_NEAR(view.to(), to, 1e-6);
}

TEST(TimeView, RevealsWithoutZooming) {
  auto view = view_of(1e6, 1000);
  view.show(2e5, 3e5);
  const double scale = view.scale();
  view.reveal(9e5);
  EXPECT_DOUBLE_EQ(view.scale(), scale);
  EXPECT_GT(view.x_of(9e5), 0);
  EXPECT_LT(view.x_of(9e5), 1000);
  const double from = view.from();
  view.reveal(9e5);
  EXPECT_DOUBLE_EQ(view.from(), from);
}

TEST(Ticks, AreRoundAndFarEnoughApart) {
  const auto view = view_of(1e6, 1000);
  double last = -1e9;
  int texts = 0;
  for (const auto& tick : ticks(view, 100)) {
    EXPECT_GE(tick.time, view.from());
    EXPECT_LE(tick.time, view.to());
    if (tick.text.empty()) continue;
    EXPECT_GE(view.x_of(tick.time) - last, 99.9);
    last = view.x_of(tick.time);
    ++texts;
  }
  EXPECT_GE(texts, 4);
}

TEST(Ticks, SayTheirUnit) {
  auto view = view_of(1e6, 1000);
  view.show(0, 1000);
  bool zero = false, unit = false;
  for (const auto& tick : ticks(view, 100)) {
    zero = zero || tick.text == "0";
    unit = unit || tick.text == "200 ns";
  }
  EXPECT_TRUE(zero);
  EXPECT_TRUE(unit);
  view.show(5e5, 5e5 + 1000);
  bool fine = false;
  for (const auto& tick : ticks(view, 100)) fine = fine || tick.text == "500.2 µs";
  EXPECT_TRUE(fine) << "two ticks never look the same";
}

TEST(SpanText, HasThreeFiguresAndAUnit) {
  EXPECT_EQ(span_text(1520), "1.52 µs");
  EXPECT_EQ(span_text(148), "148 ns");
  EXPECT_EQ(span_text(-2.5e6), "-2.50 ms");
}

}  // namespace
}  // namespace wide::gui
