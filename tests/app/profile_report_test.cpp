// What `widebench profile` says of captures whose times are known.
#include "app/cli/profile_report.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <sstream>

#include "profiler/trace/sample_traces.h"

namespace wide::cli {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::Not;

std::vector<profiler::Trace> captures() {
  std::vector<profiler::Trace> traces;
  traces.push_back(test::wide_trace());
  traces.push_back(test::eager_trace());
  return traces;
}

std::string printed(const Explained& result, int top = 12) {
  std::ostringstream out;
  print(out, result, top);
  return out.str();
}

TEST(ProfileReportTest, ComparesWideWithEachRival) {
  const auto result = explain(captures(), {});
  const auto all = document(result);
  EXPECT_EQ(all.at("schema_version"), 1);
  EXPECT_EQ(all.at("subject"), "tiny");
  ASSERT_EQ(all.at("captures").size(), 2u);
  ASSERT_EQ(all.at("comparisons").size(), 1u);
  EXPECT_FALSE(all.contains("roofline"));
  EXPECT_FALSE(all.contains("difference"));
  const auto& wide = all["captures"][0];
  EXPECT_EQ(wide.at("kernels")[0].at("name"), "aten::addmm");
  EXPECT_EQ(wide.at("nodes").size(), 4u);
  EXPECT_EQ(wide.at("memory").at("peak_bytes"), 4096);
  EXPECT_DOUBLE_EQ(all["comparisons"][0].at("gain").at("gained_us").get<double>(), 1);
  EXPECT_THAT(
      printed(result),
      AllOf(
          HasSubstr("%0 aten.linear.default"), HasSubstr("once, at build: %2\n"),
          HasSubstr("why wide is faster than eager"), HasSubstr("residual"), HasSubstr("kernels of eager"),
          HasSubstr("wide: nodes 800 ns + executor 200 ns = a captured pass of 1.00 us (80.0 % in nodes)")));
}

TEST(ProfileReportTest, WithoutARivalTheNodesStandAlone) {
  std::vector<profiler::Trace> alone;
  alone.push_back(test::wide_trace());
  const auto result = explain(std::move(alone), {});
  EXPECT_TRUE(document(result).at("comparisons").empty());
  EXPECT_THAT(printed(result), AllOf(HasSubstr("%1 aten.relu.default"), HasSubstr("once, at build: %2\n"),
                                     Not(HasSubstr("why wide"))));
}

TEST(ProfileReportTest, ATraceFromAFileBeginsWhereOursDoes) {
  auto other = test::wide_trace();
  other.base_ns = 5, other.contender = "old.json";
  const auto result = explain(captures(), std::move(other));
  EXPECT_EQ(result.traces.back().base_ns, result.traces[0].base_ns);
  EXPECT_EQ(document(result).at("difference").size(), 3u);
  EXPECT_THAT(printed(result), HasSubstr("from old.json to wide"));
}

TEST(ProfileReportTest, ACaptureSaysWhetherItIsComplete) {
  auto traces = captures();
  traces[0].completeness.launches = traces[0].completeness.kernels = 5;
  traces[1].completeness.fail("3 events did not fit");
  EXPECT_THAT(printed(explain(std::move(traces), {})),
              AllOf(HasSubstr("wide is complete: 5 operators began and ended, 0 lost"),
                    HasSubstr("eager is incomplete: 3 events did not fit")));
}

TEST(ProfileReportTest, TopCutsTheKernelsAndSaysSo) {
  const auto result = explain(captures(), {});
  EXPECT_THAT(printed(result, 1), HasSubstr("and 2 more; --top 0 shows all"));
  EXPECT_THAT(printed(result, 0), Not(HasSubstr("more; --top")));
}

TEST(ProfileReportTest, NamesFromFilesDoNotReachTheTerminalRaw) {
  auto other = test::wide_trace();
  other.contender = "\x1b[2Jevil";
  other.nodes[0].name = "\x1b]0;x\a";
  EXPECT_THAT(printed(explain(captures(), std::move(other))), Not(HasSubstr("\x1b")));
}

}  // namespace
}  // namespace wide::cli
