// The gate from the command line: what it decides, its exit codes, baselines.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>

#include "app/history_fixture.h"

namespace wide::cli {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::Not;

class GateCli : public HistoryFixture {};

TEST_F(GateCli, TheGatePassesWhatIsTheSame) {
  ASSERT_EQ(sweep({"--repeat", "3", "--save-baseline", "main"}).code, 0);
  const auto ran = sweep({"--baseline", "main"});
  EXPECT_EQ(ran.code, 0) << ran.out << ran.err;
  EXPECT_THAT(ran.out, HasSubstr("gate: passed: 10 cases"));
}

TEST_F(GateCli, ARegressionIsMeasuredAgainAndIsCode1) {
  ASSERT_EQ(sweep({"--repeat", "3", "--save-baseline", "main"}).code, 0);
  ::setenv("FAKE_SLOW", "1.2", 1);
  ::setenv("GITHUB_STEP_SUMMARY", path("summary.md").c_str(), 1);
  const auto ran = sweep({"--baseline", "main", "--json", path("gated.json")});
  EXPECT_EQ(ran.code, 1) << ran.out << ran.err;
  const auto gate = json::parse(text_of("gated.json")).at("gate");
  EXPECT_EQ(gate.at("verdict"), "regressed");
  EXPECT_EQ(gate.at("slower").size(), 10u);
  EXPECT_THAT(ran.out, AllOf(HasSubstr("gate: regressed"), HasSubstr("10 slower"), HasSubstr("+20.0 %")));
  EXPECT_THAT(ran.err, HasSubstr("10 alerts are measured again"));
  EXPECT_THAT(text_of("summary.md"), AllOf(HasSubstr("## gate: regressed"), HasSubstr("| slower |")));
  // The fresh measurements are stored under the run; latest still means the run itself.
  const auto listed = json::parse(run({"runs", "list", "--json"}).out);
  ASSERT_EQ(listed.size(), 4u + 6u);
  EXPECT_EQ(listed.at(4).at("parent"), 4);
  EXPECT_EQ(json::parse(run({"runs", "show", "latest", "--json"}).out).at("cases").size(), 10u);
  EXPECT_THAT(run({"runs", "delete", "4"}).out, HasSubstr("deleted run 4, 5, 6, 7, 8, 9, 10\n"));
}

TEST_F(GateCli, ABadPlanThatIsKeptIsNoRegression) {
  ASSERT_EQ(sweep({"--repeat", "3", "--save-baseline", "main"}).code, 0);
  std::ofstream(path("costs.tsv")) << "a bad time\n";
  ::setenv("FAKE_PLAN", path("costs.tsv").c_str(), 1);
  ::setenv("FAKE_SLOW", "1.2", 1);
  const auto ran = sweep({"--baseline", "main"});
  EXPECT_EQ(ran.code, 0) << ran.out << ran.err;
  EXPECT_THAT(ran.err, HasSubstr("10 alerts are measured again"));
  EXPECT_THAT(ran.out, AllOf(HasSubstr("gate: passed"), HasSubstr(" 0 slower")));
}

TEST_F(GateCli, WhatDiesWhilePlannedAnewCouldNotBeMeasuredAgain) {
  ASSERT_EQ(sweep({"--repeat", "3", "--save-baseline", "main"}).code, 0);
  std::ofstream(path("costs.tsv")) << "a bad time\n";
  ::setenv("FAKE_PLAN", path("costs.tsv").c_str(), 1);
  ::setenv("FAKE_SLOW", "1.2", 1);
  ::setenv("FAKE_PLANNING_DIES", "1", 1);
  const auto ran = sweep({"--baseline", "main"});
  EXPECT_EQ(ran.code, 3) << ran.out << ran.err;
  EXPECT_THAT(ran.out, AllOf(HasSubstr("BROKEN"), HasSubstr("10 not measured again")));
}

TEST_F(GateCli, ASummaryThatCannotBeWrittenHidesNoVerdict) {
  ASSERT_EQ(sweep({"--repeat", "3", "--save-baseline", "main"}).code, 0);
  const auto early = sweep({"--baseline", "main", "--summary", path("nowhere/s.md")});
  EXPECT_EQ(early.code, 2);
  EXPECT_EQ(early.out, "") << "before anything is measured";
  EXPECT_EQ(sweep({"--baseline", "main", "--summary", "/dev/full"}).code, 2);
  ::setenv("FAKE_SLOW", "1.2", 1);
  const auto ran = sweep({"--baseline", "main", "--summary", "/dev/full"});
  EXPECT_EQ(ran.code, 1) << ran.err;
  EXPECT_THAT(ran.err, HasSubstr("the summary cannot be written"));
}

TEST_F(GateCli, AProgramThatCannotBeStartedIsNoBaselineProgram) {
  ASSERT_EQ(sweep({"--save-baseline", "main"}).code, 0);
  std::ofstream(path("old")) << "no program\n";
  for (const auto& file : {path("old"), path("r.db"), std::string("/dev/null")}) {
    const auto ran = sweep({"--baseline", "main", "--baseline-program", file});
    EXPECT_EQ(ran.code, 2) << file;
    EXPECT_THAT(ran.err, HasSubstr("cannot be executed; make it so (chmod +x), or name another"));
  }
}

TEST_F(GateCli, AnotherProgramIsNoBaselineProgram) {
  ASSERT_EQ(sweep({"--repeat", "3", "--save-baseline", "main"}).code, 0);
  ::setenv("FAKE_SLOW", "1.2", 1);
  const auto ran = sweep({"--baseline", "main", "--baseline-program", "/bin/false"});
  EXPECT_EQ(ran.code, 3) << ran.out << ran.err;
  EXPECT_THAT(ran.err, HasSubstr("/bin/false: --baseline-program measured no case"));
}

TEST_F(GateCli, ABaselineMeasuresItsUnsteadyCasesAgain) {
  ::setenv("FAKE_UNSTEADY", "16", 1);
  const auto ran = sweep({"--repeat", "3", "--save-baseline", "main", "--baseline-repeats", "6"});
  EXPECT_EQ(ran.code, 0) << ran.err;
  EXPECT_THAT(ran.err, HasSubstr("4 cases differ much between processes"));
  const auto listed = json::parse(run({"runs", "list", "--json"}).out);
  ASSERT_EQ(listed.size(), 6u);
  for (const int more : {3, 4, 5}) EXPECT_EQ(listed.at(more).at("parent"), 3);
  for (const auto& entry : listed) EXPECT_EQ(entry.at("baselines"), json{"main"});
  EXPECT_EQ(json::parse(run({"runs", "show", "6", "--json"}).out).at("cases").size(), 4u);
  EXPECT_EQ(json::parse(run({"runs", "show", "latest", "--json"}).out).at("cases").size(), 10u);
  EXPECT_EQ(sweep({"--baseline-repeats", "6"}).code, 2) << "there is no baseline to save";
}

TEST_F(GateCli, AnAlertThatIsNotMeasuredAgainIsUndecided) {
  ASSERT_EQ(sweep({"--save-baseline", "main"}).code, 0);
  ::setenv("FAKE_SLOW", "1.2", 1);
  const auto ran = sweep({"--baseline", "main", "--gate-repeats", "0"});
  EXPECT_EQ(ran.code, 0);
  EXPECT_THAT(ran.out, HasSubstr(" 0 measured again"));
  EXPECT_EQ(sweep({"--baseline", "main", "--gate-repeats", "0", "--fail-inconclusive"}).code, 4);
}

TEST_F(GateCli, AMissingCaseIsCode1) {
  ASSERT_EQ(sweep({"--repeat", "2", "--save-baseline", "main"}).code, 0);
  write_preset("fewer.json", {2, 4, 8, 16}, {"mlp", "deep_mlp"});
  // What the gate did not pass takes no baseline's place.
  const auto ran = sweep({"--baseline", "main", "--save-baseline", "main"}, "fewer.json");
  EXPECT_EQ(ran.code, 1);
  EXPECT_THAT(ran.out, HasSubstr("MISSING"));
  EXPECT_THAT(ran.err, HasSubstr("the baseline main is not saved: the gate says regressed"));
  EXPECT_EQ(sweep({"--baseline", "main"}, "fewer.json").code, 1);
  const auto whole = sweep({"--baseline", "main", "--save-baseline", "main"});
  EXPECT_EQ(whole.code, 0) << whole.err;
  EXPECT_THAT(run({"runs", "list"}).out, HasSubstr("main"));
}

TEST_F(GateCli, WrongNumbersGoBeforeARegressionAndThatBeforeWhatCouldNotBeMeasured) {
  write_preset("mixed.json", {2, 4, 8, 16, 32}, {"mlp", "crash"});
  ASSERT_EQ(sweep({"--save-baseline", "main"}).code, 0);
  EXPECT_EQ(sweep({"--baseline", "main"}, "mixed.json").code, 1);  // deep_mlp is missing
  write_preset("wrong.json", {2}, {"mlp", "fail"});
  EXPECT_EQ(sweep({"--baseline", "main"}, "wrong.json").code, 5);
  ASSERT_EQ(sweep({"--save-baseline", "crashes"}, "mixed.json").code, 3);
  EXPECT_EQ(sweep({"--baseline", "crashes"}, "mixed.json").code, 3);
}

// Whatever made an alert be measured again, what that finds is told: it never ends green.
TEST_F(GateCli, WhatGoesWrongWhenMeasuredAgainIsTold) {
  ASSERT_EQ(sweep({"--repeat", "3", "--save-baseline", "main"}).code, 0);
  ::setenv("FAKE_SLOW", "1.2", 1);
  ::setenv("FAKE_SEEN", path("seen").c_str(), 1);
  for (const auto& [deed, code, said] : {std::tuple{"fail", 5, "WRONG "}, {"crash", 3, "BROKEN"}}) {
    std::filesystem::remove(path("seen"));
    ::setenv("FAKE_AGAIN", deed, 1);
    const auto ran = sweep({"--baseline", "main"});
    EXPECT_EQ(ran.code, code) << ran.out << ran.err;
    EXPECT_THAT(ran.out, AllOf(HasSubstr(said + std::string("     deep_mlp/n=16/"))));
  }
  EXPECT_THAT(run({"runs", "list"}).out, HasSubstr("measured-again"));
}

TEST_F(GateCli, NoBaselineIsMadeOfNothing) {
  write_preset("crashes.json", {2}, {"crash"});
  auto ran = sweep({"--save-baseline", "main"}, "crashes.json");
  EXPECT_EQ(ran.code, 3);
  EXPECT_THAT(ran.err, HasSubstr("the baseline main is not saved: no case passed"));
  EXPECT_THAT(run({"runs", "list"}).out, Not(HasSubstr("baseline:")));
  ran = run({"runs", "pin", "latest", "--as", "main"});
  EXPECT_EQ(ran.code, 2);
  EXPECT_THAT(ran.err, HasSubstr("no case of the runs passed"));
}

TEST_F(GateCli, NoBaselineIsMadeOfWrongNumbers) {
  write_preset("wrong.json", {2}, {"mlp", "fail"});
  auto ran = sweep({"--repeat", "2", "--save-baseline", "main"}, "wrong.json");
  EXPECT_EQ(ran.code, 5);
  EXPECT_THAT(ran.err,
              AllOf(HasSubstr("the baseline main is not saved"), HasSubstr("wrong numbers in fail/")));
  EXPECT_THAT(run({"runs", "list"}).out, Not(HasSubstr("baseline:")));
  ran = run({"runs", "pin", "latest", "--as", "main"});
  EXPECT_EQ(ran.code, 2);
  EXPECT_THAT(ran.err, HasSubstr("wrong numbers in 'fail/"));
  ran = sweep({"--baseline", "1"});
  EXPECT_EQ(ran.code, 2);
  EXPECT_THAT(ran.err, AllOf(HasSubstr("wrong numbers"), Not(HasSubstr("[1/")))) << "found before measuring";
}

TEST_F(GateCli, WrongNumbersMeasuredInTurnsAreCode5) {
  write_preset("wrong.json", {2}, {"mlp", "fail"});
  ASSERT_EQ(sweep({}, "wrong.json").code, 5);
  EXPECT_EQ(run({"runs", "compare", "latest", "latest", "--re-measure", "--repeats", "1"}).code, 5);
  const auto ran = run({"gate", "--self-test", "--trials", "4", "--preset", path("wrong.json"),
                        "--baseline-runs", "2", "--gate-repeats", "2"});
  EXPECT_EQ(ran.code, 5);
  EXPECT_THAT(ran.err, HasSubstr("wrong numbers were computed in fail/"));
}

TEST_F(GateCli, AGateThatCannotWorkIsFoundBeforeMeasuring) {
  ASSERT_EQ(sweep({"--save-baseline", "main"}).code, 0);
  auto report = json::parse(run({"runs", "export", "latest", "-o", "-"}).out);
  report["machine"]["cpu"] = "Other";
  std::ofstream(path("other.json")) << report;
  for (const std::vector<std::string>& options : {std::vector<std::string>{"--baseline", "nonsense"},
                                                  {"--baseline", "99"},
                                                  {"--baseline", path("none.json")},
                                                  {"--baseline", path("other.json")},
                                                  {"--save-baseline", "latest"},
                                                  {"--fail-inconclusive"}}) {
    const auto ran = sweep(options);
    EXPECT_EQ(ran.code, 2) << options[0];
    EXPECT_THAT(ran.err, Not(HasSubstr("[1/"))) << options[0];
  }
  EXPECT_EQ(sweep({"--baseline", path("other.json"), "--across-machines"}).code, 0);
}

TEST_F(GateCli, TheGateTestsItself) {
  auto ran = run({"gate", "--self-test", "--trials", "6", "--cases", "24", "--json"});
  EXPECT_EQ(ran.code, 0) << ran.out << ran.err;
  EXPECT_EQ(json::parse(ran.out).at("simulated noise").at("rows").size(), 5u);
  EXPECT_THAT(ran.err, HasSubstr("10 % slower: found"));
  EXPECT_EQ(run({"gate"}).code, 2);
  ran = run({"gate", "--self-test", "--trials", "4", "--preset", path("p.json"), "--baseline-runs", "2",
             "--gate-repeats", "2", "--busy", "1"});
  EXPECT_THAT(ran.out,
              AllOf(HasSubstr("real measurements\n"), HasSubstr("real measurements beside 1 busy loops\n")))
      << ran.err;
  EXPECT_EQ(run({"gate", "--self-test", "--busy", "1"}).code, 2) << "beside what?";
}

}  // namespace
}  // namespace wide::cli
