// A profile read from its file, its tables and its gain split; quantities; drawings.
#include "gui/views/profile_data.h"

#include <gtest/gtest.h>

#include <array>
#include <nlohmann/json.hpp>

#include "formats/error.h"
#include "gui/views/drawing.h"
#include "gui/views/quantity.h"
#include "gui/views/samples.h"
#include "profiler/trace/analysis_json.h"
#include "profiler/trace/chrome_export.h"
#include "profiler/trace/sample_traces.h"
#include "tests/temporary_folder.h"

namespace wide::gui {
namespace {

void no_step(double, const char*) {}

std::filesystem::path written(const test::TemporaryFolder& folder) {
  const auto path = folder / "profile.json";
  const auto wide = test::wide_trace(), eager = test::eager_trace();
  profiler::write_chrome_file(path, std::array{&wide, &eager});
  return path;
}

std::string report() {
  const auto wide = test::wide_trace();
  profiler::Peaks peaks;
  peaks.flops = {{"float32", 1e11}};
  peaks.bandwidth = {{1e6, 1e10}};
  const auto roofline = profiler::roofline(wide, profiler::structure(wide), peaks, "float32");
  return nlohmann::json{{"roofline", to_json(roofline, wide)}}.dump();
}

TEST(ProfileData, IsReadWithAllThatExplainsIt) {
  const test::TemporaryFolder folder;
  const auto path = written(folder);
  std::vector<std::string> steps;
  const auto data = read_profile(path, report(), [&](double, const char* what) { steps.emplace_back(what); });
  EXPECT_EQ(data.file, path);
  ASSERT_EQ(data.traces.size(), 2u);
  EXPECT_EQ(data.wide, 0u);
  ASSERT_EQ(data.comparisons.size(), 1u);
  EXPECT_EQ(data.compared, (std::vector<std::size_t>{1}));
  EXPECT_TRUE(data.roofline);
  EXPECT_EQ(data.points.rows(), 2u);
  EXPECT_EQ(data.nodes.rows(), data.comparisons[0].nodes.size());
  EXPECT_EQ(data.timeline.lanes.size(), 2u);
  EXPECT_GE(steps.size(), 3u);
}

TEST(ProfileData, PartsAddUpToTheGain) {
  const test::TemporaryFolder folder;
  const auto path = written(folder);
  const auto data = read_profile(path, "", no_step);
  const auto& gain = data.comparisons[0].gain;
  double sum = 0;
  for (const auto& part : gain_parts(gain)) sum += part.us;
  EXPECT_NEAR(sum, gain.gained(), 1e-9);
  EXPECT_FALSE(data.roofline);
}

TEST(ProfileData, KernelsAreInATableWithUnits) {
  const auto trace = test::wide_trace();
  const auto table = kernel_table(trace, profiler::structure(trace));
  ASSERT_GT(table.rows(), 0u);
  EXPECT_EQ(table.cell(0, 0), "aten::addmm");
  EXPECT_EQ(table.cell(0, table.column("total")), "600 ns");
  EXPECT_EQ(table.cell(0, table.column("count")), "2");
}

TEST(ProfileData, AStrangeFileIsAnErrorAndAStrangeReportIsPassedOver) {
  const test::TemporaryFolder folder;
  const auto path = folder / "no_trace.json";
  EXPECT_THROW(read_profile(path, "", no_step), Error);
  std::vector<profiler::Trace> traces;
  EXPECT_THROW(make_profile(std::move(traces), "", no_step), Error);
  std::vector<profiler::Trace> one;
  one.push_back(test::wide_trace());
  EXPECT_FALSE(make_profile(std::move(one), "{\"roofline\": 3}", no_step).roofline);
}

TEST(ProfileData, ATraceThatIsNotWholeSaysWhy) {
  profiler::Completeness badge;
  EXPECT_EQ(badge_text(badge), "complete");
  badge.fail("3 records were dropped");
  EXPECT_EQ(badge_text(badge), "incomplete, because 3 records were dropped");
}

TEST(Quantity, HasThreeFiguresAUnitAndAnInterval) {
  EXPECT_EQ(show_time({1520, 1500, 1550}), "1.52 ms [1.50, 1.55]");
  EXPECT_EQ(show_time({0.0123}), "12.3 ns");
  EXPECT_EQ(show_time({999.6}), "1.00 ms");
  EXPECT_EQ(show_time({}), "–");
  EXPECT_EQ(show_ratio({1.384, 1.35, 1.41}), "1.38× [1.35, 1.41]");
  EXPECT_EQ(show_change({1.042, 1.031, 0.97}), "+4.20 % [+3.10, -3.00]");
  EXPECT_EQ(show_count({1234567}), "1,234,567");
  EXPECT_EQ(show_count({123}), "123");
  EXPECT_EQ(show_count({12.5}), "12.5");
  EXPECT_EQ(show_share({0.125}), "12.5 %");
  EXPECT_EQ(show_error({3.1e-7}), "3.10e-07");
  EXPECT_EQ(show_rate({1.23e10}), "12.3 GFLOP/s");
  EXPECT_EQ(show_bytes({1.2e6}), "1.20 MB");
  EXPECT_EQ(three_figures(0.0123), "0.0123");
  EXPECT_EQ(three_figures(0), "0");
  EXPECT_EQ(three_figures(9.999), "10.0");
}

TEST(Drawing, EscapesWhatAStrangerWrote) {
  Drawing drawing(100, 50);
  drawing.text(1, 2, "<script>&\"x\"");
  drawing.rectangle(0, 0, 1.23456, 1, "fill=\"#000\"", "a < b");
  const auto svg = drawing.document();
  EXPECT_EQ(svg.find("<script"), std::string::npos);
  EXPECT_NE(svg.find("&lt;script&gt;&amp;&quot;x&quot;"), std::string::npos);
  EXPECT_NE(svg.find("<title>a &lt; b</title>"), std::string::npos);
  EXPECT_NE(svg.find("width=\"1.23\""), std::string::npos);
  EXPECT_TRUE(svg.ends_with("</svg>\n"));
}

// Capturing takes time: a pass that took longer without it was slowed by something else.
TEST(ProfileData, APassThatCapturingMadeFasterIsDoubted) {
  auto data = sample_profile();
  EXPECT_EQ(doubt(data), "");
  auto& wide = data.traces[data.wide];
  const auto& activity = data.activities[data.wide];
  wide.completeness.untraced_us = 1.25 * activity.per_pass(activity.wall) / 1e3;
  EXPECT_NE(doubt(data).find("wide took longer"), std::string::npos) << doubt(data);
}

}  // namespace
}  // namespace wide::gui
