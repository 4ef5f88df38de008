#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <iterator>
#include <map>
#include <nlohmann/json.hpp>
#include <sstream>

#include "app/cli_fixture.h"

namespace wide::cli {
namespace {

using nlohmann::json;
using testing::AllOf;
using testing::HasSubstr;
using testing::Not;

TEST_F(Cli, WithoutArgumentsSaysHowToRunHeadless) {
  const auto ran = run({});
  EXPECT_EQ(ran.code, 2);
  EXPECT_EQ(ran.out, "");
  EXPECT_THAT(ran.err, HasSubstr("--preset ci"));
}

TEST_F(Cli, EveryCommandHasHelpWithExamples) {
  const std::vector<std::vector<std::string>> commands = {
      {},          {"benchmark"},    {"doctor"},       {"info"},
      {"profile"}, {"runs", "list"}, {"runs", "show"}, {"runs", "export"}};
  for (auto command : commands) {
    command.push_back("--help");
    const auto ran = run(command);
    EXPECT_EQ(ran.code, 0);
    EXPECT_THAT(ran.out, HasSubstr("Examples:\n  widebench ")) << command[0];
    EXPECT_THAT(ran.out, AllOf(HasSubstr("--json"), HasSubstr("--quiet"), HasSubstr("--no-color"),
                               HasSubstr("--log-level")))
        << command[0];
    EXPECT_THAT(ran.out, Not(HasSubstr("worker")));
  }
}

TEST_F(Cli, CommandsOfLaterVersionsAreAbsent) {
  for (const auto* name : {"compare", "gate", "trace2", "nonsense"}) EXPECT_EQ(run({name}).code, 2) << name;
  const auto ran = run({"nonsense", "--json"});
  EXPECT_EQ(ran.code, 2);
  EXPECT_THAT(ran.err, HasSubstr("no command 'nonsense'"));
  EXPECT_EQ(json::parse(ran.out).at("error").at("stage"), "usage");
  EXPECT_THAT(run({"runs", "nonsense"}).err, HasSubstr("no command 'runs nonsense'"));
}

TEST_F(Cli, APresetThatCannotBeSweptIsNamedWithWhatIsWrong) {
  const auto refused = [&](const char* kind, const char* subject) {
    const json document = {
        {"schema_version", 1},
        {"name", "mine"},
        {"cases", {{{"subject", subject}, {"kind", kind}, {"shape", json::object()}, {"n", 2}}}}};
    std::ofstream(path("mine.json")) << document;
    const auto ran = run({"--preset", path("mine.json"), "--db", path("r.db")});
    EXPECT_EQ(ran.code, 2);
    EXPECT_FALSE(std::filesystem::exists(path("r.db")));
    return ran.err;
  };
  EXPECT_THAT(refused("primitive", "mlp"),
              AllOf(HasSubstr(path("mine.json") + ": "), HasSubstr("'mlp' is a zoo")));
  EXPECT_THAT(refused("zoo", "unheard"),
              AllOf(HasSubstr(path("mine.json") + ": "), HasSubstr("\"unheard\"")));
}

TEST_F(Cli, UsageErrorsAreOneLineAndCode2) {
  const std::vector<std::vector<std::string>> wrong = {
      {"--nonsense"},
      {"--device", "tpu", "--preset", "ci"},
      {"--preset"},
      {"--preset", "no_such_preset"},
      {"--preset", "./no/such.json"},
      {"benchmark", "no_such_subject"},
      {"benchmark", "all", "mlp"},
      {"benchmark", "mlp", "-n", "0"},
      {"benchmark", "mlp", "-n", "010"},
      {"benchmark", "mlp", "-n", "0x4"},
      {"benchmark", "mlp", "--seed", "010"},
      {"benchmark", "mlp", "--timeout", "nan"},
      {"benchmark", "mlp", "--db", ""},
      {"benchmark", "mlp", "--model", ""},
      {"benchmark", "mlp", "--device", "cpu,auto"},
      {"benchmark", "mlp", "--rivals", "eager,eager"},
      {"--preset", ""},
      {"--baseline", "main"},
      {"--json", "r.json"},
      {"--preset", "ci", "--open", "graph"},
      {"--preset", "ci", "--json", ""},
      {"--preset", "ci", "--baseline", ""},
      {"--preset", "ci", "--save-baseline", ""},
      {"--preset", "ci", "--baseline", "1", "--min-effect", "nan"},
      {"gate", "--self-test", "--noise", "nan"},
      {"runs", "compare", "1", "2", "--min-effect", "nan"},
      {"benchmark", "mlp", "--weights", "x"},
      {"benchmark", "--model", "/no/such.pt2"},
      {"--db", "r.db", "benchmark", "mlp"},
      {"--baseline", "main", "--preset", "ci", "runs", "list"},
      {"profile", "--from", "latest", "-n", "4"},
      {"profile", "--from", "latest", "--mode", "eager"},
      {"profile", "mlp", "--label", "x"},
      {"runs"},
      {"runs", "show"},
      {"runs", "show", "x"},
      {"runs", "nonsense"},
      {"runs", "export", "1", "--format", "xml"},
      {"runs", "export", "1", "-o", "report.pdf"},
      {"runs", "list", "--db", "/no/such/r.db"}};
  for (const auto& arguments : wrong) {
    const auto ran = run(arguments);
    EXPECT_EQ(ran.code, 2) << ran.err;
    EXPECT_THAT(ran.err, testing::StartsWith("error: "));
    EXPECT_EQ(ran.err.find('\n'), ran.err.size() - 1) << ran.err;
    EXPECT_EQ(ran.out, "");
  }
}

TEST_F(Cli, WithJsonAnErrorIsAnObjectToo) {
  for (const std::vector<std::string>& arguments :
       {std::vector<std::string>{"runs", "list", "--json", "--db", "/no/such/r.db"},
        {"info", "--json", "--nonsense"}}) {
    const auto ran = run(arguments);
    EXPECT_EQ(ran.code, 2);
    const auto error = json::parse(ran.out).at("error");
    EXPECT_FALSE(error.at("stage").get<std::string>().empty());
    EXPECT_THAT(ran.err, HasSubstr(error.at("message").get<std::string>()));
  }
}

TEST_F(Cli, ASweepStoresReportsAndPrints) {
  const auto ran =
      run({"--preset", preset({"mlp", "linear"}), "--db", path("r.db"), "--json", path("r.json")});
  EXPECT_EQ(ran.code, 0) << ran.err;
  EXPECT_THAT(ran.out,
              AllOf(HasSubstr("4 cases: 4 pass"), HasSubstr("speed-up over N eager runs: "),
                    HasSubstr("speed-up over the best rival: "), HasSubstr("r.db"), HasSubstr("r.json")));
  EXPECT_THAT(ran.err, HasSubstr("[4/4] linear n=4 pass"));
  const auto report = read("r.json");
  ASSERT_EQ(report.at("cases").size(), 4u);
  for (const auto& record : report.at("cases")) {
    EXPECT_EQ(record.at("verdict"), "pass");
    EXPECT_EQ(record.at("device"), "cpu");
    EXPECT_TRUE(record.at("wide").at("ci95_us").is_array());
    EXPECT_FALSE(record.at("speedup").is_null());
    EXPECT_FALSE(record.at("speedup_best_rival").is_null());
  }
}

TEST_F(Cli, ReportOnStandardOutputIsNothingButJson) {
  const auto ran = run({"--preset", preset({"mlp"}), "--json", "-"});
  EXPECT_EQ(ran.code, 0);
  EXPECT_EQ(json::parse(ran.out).at("cases").size(), 2u);
  EXPECT_THAT(ran.err, HasSubstr("2 cases: 2 pass"));
}

TEST_F(Cli, WhatAllCommandsShareMayStandBeforeThem) {
  const auto ran = run({"--no-color", "--quiet", "benchmark"});
  EXPECT_EQ(ran.code, 0) << ran.err;
}

TEST_F(Cli, TwoThingsAreNotWrittenToOneFile) {
  for (const auto& arguments :
       {std::vector<std::string>{"--preset", preset({"mlp"}), "--db", path("n.db"), "--json", path("n.db")},
        {"--preset", preset({"mlp"}), "--json", path("r.json"), "--baseline", path("b.json"), "--summary",
         path("r.json")},
        {"--preset", preset({"mlp"}), "--baseline", path("b.json"), "--summary", path("b.json")}}) {
    std::ofstream(path("b.json")) << "{}";
    const auto ran = run(arguments);
    EXPECT_EQ(ran.code, 2);
    EXPECT_THAT(ran.err, testing::AnyOf(HasSubstr("is read"), HasSubstr("two things")));
    EXPECT_FALSE(std::filesystem::exists(path("n.db")));
  }
}

TEST_F(Cli, QuietPrintsNothing) {
  const auto ran = run({"--preset", preset({"mlp"}), "--quiet"});
  EXPECT_EQ(ran.code, 0);
  EXPECT_EQ(ran.out + ran.err, "");
}

TEST_F(Cli, ExitCodesOfASweep) {
  EXPECT_EQ(run({"--preset", preset({"mlp", "skipped"}), "--db", path("a.db")}).code, 0);
  EXPECT_EQ(run({"--preset", preset({"mlp", "crash"}), "--db", path("a.db")}).code, 3);
  EXPECT_EQ(run({"--preset", preset({"mlp", "hang"}), "--db", path("a.db"), "--timeout", "0.3"}).code, 3);
  EXPECT_EQ(run({"--preset", preset({"skipped"}), "--db", path("a.db")}).code, 3);
  EXPECT_EQ(run({"--preset", preset({"crash", "fail", "mlp"}), "--db", path("a.db")}).code, 5);
}

TEST_F(Cli, AMissingDeviceIsCode3WithItsReasonBeforeAnythingIsStored) {
  for (const auto& arguments : {std::vector<std::string>{"--preset", preset({"mlp"}), "--device", "cuda"},
                                std::vector<std::string>{"--preset", preset({"mlp"}, "cuda")},
                                {"benchmark", "mlp", "--device", "cuda"}}) {
    const auto ran = run(arguments);
    EXPECT_EQ(ran.code, 3);
    EXPECT_THAT(ran.err, HasSubstr("cuda cannot be used: no driver; install one"));
  }
  EXPECT_FALSE(std::filesystem::exists(folder_ / "data"));
}

TEST_F(Cli, FaultsOfFilesAreFoundBeforeMeasuring) {
  const auto file = preset({"mlp"});
  auto ran = run({"--preset", file, "--json", "/no/such/folder/r.json"});
  EXPECT_EQ(ran.code, 2);
  EXPECT_THAT(ran.err, AllOf(HasSubstr("/no/such/folder"), Not(HasSubstr("[1/"))));
  ran = run({"--preset", file, "--db", folder_.string()});
  EXPECT_EQ(ran.code, 2);
  EXPECT_THAT(ran.err, AllOf(HasSubstr(folder_.string()), Not(HasSubstr("[1/"))));
}

TEST_F(Cli, ASubjectThatIsNoneIsNamed) {
  const auto ran = run({"--preset", preset({"mlp", "lniear"})});
  EXPECT_EQ(ran.code, 2);
  EXPECT_THAT(ran.err, HasSubstr("\"lniear\""));
}

TEST_F(Cli, RunsAreListedShownAndExported) {
  ASSERT_EQ(run({"--preset", preset({"mlp"}), "--db", path("r.db"), "--label", "\x1b[31mred"}).code, 0);
  ASSERT_EQ(run({"--preset", preset({"linear"}), "--db", path("r.db"), "--json", path("r.json")}).code, 0);
  const auto listed = json::parse(run({"runs", "list", "--db", path("r.db"), "--json"}).out);
  ASSERT_EQ(listed.size(), 2u);
  EXPECT_EQ(listed.at(1).at("status"), "done");
  EXPECT_EQ(listed.at(1).at("passed"), 2);
  EXPECT_THAT(run({"runs", "list", "--db", path("r.db")}).out,
              AllOf(HasSubstr("mine"), Not(HasSubstr("\x1b"))));

  const auto shown = run({"runs", "show", "1", "--db", path("r.db")});
  EXPECT_EQ(shown.code, 0);
  EXPECT_THAT(shown.out, AllOf(HasSubstr("mlp"), HasSubstr("2 cases: 2 pass"), Not(HasSubstr("\x1b"))));
  EXPECT_EQ(
      json::parse(run({"runs", "show", "latest", "--json", "--db", path("r.db")}).out).at("cases").size(),
      2u);

  EXPECT_EQ(run({"runs", "export", "2", "-o", path("e.json"), "--format", "json", "--db", path("r.db")}).code,
            0);
  EXPECT_EQ(read("e.json"), read("r.json"));
  const auto told = run({"runs", "export", "2", "-o", path("f.csv"), "--json", "--db", path("r.db")});
  EXPECT_EQ(json::parse(told.out), json({{"run", 2}, {"output", path("f.csv")}})) << told.err;
  EXPECT_EQ(json::parse(run({"runs", "export", "latest", "-o", "-", "--db", path("r.db")}).out),
            read("r.json"));
  EXPECT_EQ(run({"runs", "show", "9", "--db", path("r.db")}).code, 2);
  EXPECT_EQ(run({"runs", "export", "2", "--db", path("r.db")}).code, 2);
}

TEST_F(Cli, InfoTellsWhatThereIs) {
  const auto info = json::parse(run({"info", "--json"}).out);
  EXPECT_EQ(info.at("libraries").at("libfake"), "1.2.3");
  EXPECT_EQ(info.at("primitives").at("aten.linear.default"), (json{"bmm", "sequential"}));
  EXPECT_EQ(info.at("devices").at(1).at("usable"), false);
  EXPECT_EQ(info.at("database").at("exists"), false);
  EXPECT_TRUE(info.at("presets").contains("ci"));
  EXPECT_GT(info.at("machine").at("logical_cores"), 0);
  EXPECT_FALSE(std::filesystem::exists(folder_ / "data"));
  const auto text = run({"info"}).out;
  EXPECT_THAT(
      text, AllOf(HasSubstr("not usable: no driver"), HasSubstr("libfake 1.2.3"), HasSubstr("not there yet"),
                  HasSubstr("aten.linear.default: bmm, sequential"), HasSubstr("0.1.0-test")));
}

TEST_F(Cli, InfoSurvivesABrokenDatabase) {
  std::ofstream(path("r.db")) << "this is no database at all, but it is long enough to be looked at as one";
  const auto ran = run({"info", "--json", "--db", path("r.db")});
  EXPECT_EQ(ran.code, 0);
  EXPECT_FALSE(json::parse(ran.out).at("database").at("error").is_null());
}

TEST_F(Cli, DoctorSaysWhatIsThereAndWhatToDoAboutTheRest) {
  ::setenv("XDG_CACHE_HOME", (folder_ / "cache").c_str(), 1);
  const auto all = json::parse(run({"doctor", "--json"}).out);
  ::unsetenv("XDG_CACHE_HOME");
  EXPECT_EQ(all.at("schema_version"), 1);
  EXPECT_EQ(all.at("version"), "0.1.0-test");
  std::map<std::string, json> checks;
  for (const auto& check : all.at("checks")) {
    checks[check.at("what").get<std::string>()] = check;
    EXPECT_THAT((std::vector<std::string>{"ok", "absent", "warning"}),
                testing::Contains(check.at("state").get<std::string>()));
    EXPECT_FALSE(check.at("found") == "" && check.at("remedy") == "") << check;
  }
  EXPECT_EQ(checks.at("libfake").at("found"), "1.2.3");
  EXPECT_EQ(checks.at("roofline peaks").at("state"), "absent");
  EXPECT_THAT(checks.at("roofline peaks").at("remedy").get<std::string>(), HasSubstr("--roofline"));
  EXPECT_EQ(checks.at("database").at("state"), "ok");
  const auto text = run({"doctor"}).out;
  for (const auto& [what, check] : checks) EXPECT_THAT(text, HasSubstr(what));
}

TEST_F(Cli, APresetInTheUsersFolderStandsInForOurs) {
  std::filesystem::create_directories(folder_ / "widebench/presets");
  std::filesystem::copy_file(preset({"mlp"}), folder_ / "widebench/presets/ci.json");
  const auto ran = run({"--preset", "ci", "--json", "-"});
  EXPECT_EQ(ran.code, 0);
  EXPECT_EQ(json::parse(ran.out).at("cases").size(), 2u);
}

TEST_F(Cli, AnInternalErrorIsCode70) {
  const AddCommand broken[] = {[](CLI::App& app, Context& context) {
    set_action(*app.add_subcommand("broken"), context,
               []() -> int { throw std::logic_error("slot 3 is empty"); });
  }};
  std::ostringstream out, err;
  Context context{.engine = test::fake_engine(), .out = out, .err = err};
  EXPECT_EQ(cli::run({"broken"}, context, broken), 70);
  EXPECT_THAT(err.str(), AllOf(HasSubstr("internal error: slot 3 is empty"), HasSubstr("report it")));
}

}  // namespace
}  // namespace wide::cli
