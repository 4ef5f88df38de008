#include "results/table.h"

#include <gtest/gtest.h>

#include <sstream>

#include "tests/results/sample_records.h"

namespace wide::results {
namespace {

using test::failed_case;
using test::passed_case;

TEST(TableTest, ShowsOneLinePerCase) {
  auto other = passed_case("conv");
  other.subject = "convnet";
  other.n = 16;
  other.shape = nullptr;
  auto failed = failed_case();
  failed.shape = passed_case().shape;
  const std::string expected =
      "   N  strategy    wide  threads    eager          over eager           over best  best rival  "
      "verdict\n"
      "mlp  cpu  float32  eager  {\"batch\":16,\"features\":64}\n"
      "   4  auto      123 us   200 us   410 us  3.32x [3.25, 3.41]  1.62x [1.55, 1.71]  threads     pass, "
      "faster\n"
      "   8  auto           -        -  50.0 us                   -                   -              fail: "
      "member 3 "
      "differs from its own run by 0.5 (tolerance 1e-05)\n"
      "convnet  cpu  float32  eager\n"
      "  16  auto      123 us   200 us   410 us  3.32x [3.25, 3.41]  1.62x [1.55, 1.71]  threads     pass, "
      "faster\n"
      "3 cases: 2 pass, 1 fail\n";
  EXPECT_EQ(table(std::vector<CaseRecord>{passed_case(), other, failed}), expected);
}

TEST(TableTest, SaysWhyARivalCouldNotBeMeasured) {
  auto record = passed_case();
  record.plan["peers"] = {{{"name", "python_vmap"}, {"ok", false}, {"reason", "no rule\nfor it"}},
                          {{"name", "python_eager"}, {"ok", true}, {"reason", ""}},
                          "nonsense",
                          {{"ok", "false"}}};
  const auto missing = unmeasured_rivals(record);
  ASSERT_EQ(missing.size(), 1u);
  EXPECT_EQ(missing[0].first, "python_vmap");
  const auto text = table(std::vector<CaseRecord>{record, record});
  EXPECT_NE(text.find("  py vmap  "), std::string::npos) << text;
  EXPECT_NE(text.find("   failed  "), std::string::npos) << text;
  EXPECT_NE(text.find("\nnot measured: py vmap of mlp, N 4: no rulefor it\n2 cases"), std::string::npos)
      << text;
  for (const auto& plan : {nlohmann::json(nullptr), nlohmann::json(7), nlohmann::json{{"peers", 7}}}) {
    record.plan = plan;
    EXPECT_TRUE(unmeasured_rivals(record).empty());
  }
}

TEST(TableTest, ShowsRuns) {
  RunSummary run;
  run.id = 7;
  run.started = "2025-03-04T05:06:07Z";
  run.preset = "ci";
  run.device = "cpu";
  run.origin = "imported";
  run.status = RunStatus::kInterrupted;
  run.cases = 12;
  run.passed = 11;
  run.label = "evil\n\x1b[2J";
  run.subjects = {"conv2d", "mlp"};
  EXPECT_EQ(
      table(std::vector<RunSummary>{run}),
      "  run  started               preset  device  cases  passed  status                  subjects     "
      "label\n"
      "    7  2025-03-04T05:06:07Z  ci      cpu        12      11  interrupted (imported)  conv2d, mlp  "
      "evil[2J\n");
  run.subjects = {"a", "b", "c", "d"};
  EXPECT_EQ(subjects_text(run), "a, b and 2 more");
}

TEST(TableTest, HostileNamesStayOnTheirLine) {
  auto record = passed_case();
  record.subject =
      "\x1b[2J\r\n\xE2\x80\xAE"
      "evil\x9b\xff\xC2\x9B";
  record.strategy = "\xE2\x80\xA8now";
  record.best_rival = record.rivals[0].name = "a\tb\nc";
  const std::string text = table(std::vector<CaseRecord>{record});
  for (const char* bad : {"\x1b", "\r", "\t", "\xE2\x80\xAE", "\xE2\x80\xA8", "\xC2\x9B"}) {
    EXPECT_EQ(text.find(bad), std::string::npos);
  }
  EXPECT_EQ(std::count(text.begin(), text.end(), '\n'), 4);  // head, group, case, totals
  EXPECT_NE(text.find("[2Jevil\xEF\xBF\xBD\xEF\xBF\xBD"), std::string::npos);
  EXPECT_NE(text.find("abc"), std::string::npos);
}

TEST(TableTest, PrintableCutsLongNames) {
  EXPECT_EQ(printable(std::string(1'000'000, 'x'), 5), "xxxxx…");
  EXPECT_EQ(printable("xxxxx", 5), "xxxxx");
  EXPECT_EQ(printable(""), "");
}

TEST(TableTest, DurationsHaveThreeDigits) {
  EXPECT_EQ(duration(0.0123), "12.3 ns");
  EXPECT_EQ(duration(1.5), "1.50 us");
  EXPECT_EQ(duration(999), "999 us");
  EXPECT_EQ(duration(1234), "1.23 ms");
  EXPECT_EQ(duration(2.5e6), "2.50 s");
  EXPECT_EQ(duration(kUnknown), "-");
  EXPECT_EQ(duration(HUGE_VAL), "-");
}

}  // namespace
}  // namespace wide::results
