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

class Cli : public CliFixture {
 protected:
  Ran run(const std::vector<std::string>& arguments) { return run_words(arguments); }

  std::string preset(const std::vector<std::string>& subjects, const std::string& device = "auto") {
    json cases = json::array();
    for (const auto& subject : subjects) {
      const bool zoo = subject == "mlp" || subject == "deep_mlp";
      cases.push_back({{"subject", subject}, {"kind", zoo ? "zoo" : "primitive"}, {"shape", {{"batch", 3}}}});
    }
    const json document = {{"schema_version", 1},
                           {"name", "mine"},
                           {"timeout_seconds", 20},
                           {"defaults", {{"n", {2, 4}}, {"devices", {device}}}},
                           {"cases", cases}};
    std::ofstream(path("mine.json")) << document;
    return path("mine.json");
  }

  json read(const std::string& name) {
    std::ifstream in(path(name));
    return json::parse(in);
  }
};

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
      {"--preset", "ci", "--baseline", ""},
      {"--preset", "ci", "--save-baseline", ""},
      {"--preset", "ci", "--baseline", "1", "--min-effect", "nan"},
      {"gate", "--self-test", "--noise", "nan"},
      {"runs", "compare", "1", "2", "--min-effect", "nan"},
      {"benchmark", "mlp", "--weights", "x"},
      {"benchmark", "--model", "/no/such.pt2"},
      {"runs"},
      {"runs", "show"},
      {"runs", "show", "x"},
      {"runs", "export", "1", "--format", "xml"},
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

TEST_F(Cli, BenchmarkAloneListsSubjects) {
  const auto ran = run({"benchmark"});
  EXPECT_EQ(ran.code, 0);
  EXPECT_THAT(ran.out, AllOf(HasSubstr("deep_mlp  zoo        model deep_mlp\n"), HasSubstr("linear ")));
  const auto listed = json::parse(run({"benchmark", "--json"}).out);
  EXPECT_EQ(listed.size(), test::fake_engine().subjects().size());
  EXPECT_EQ(listed.at(0).at("name"), "mlp");
}

TEST_F(Cli, BenchmarkMeasuresTheNamedWithItsChanges) {
  const auto ran =
      run({"benchmark", "linear", "mlp", "-p", preset({"mlp", "deep_mlp", "linear"}), "-n", "2,4,8",
           "-c=reduce-overhead", "-s", "bmm", "sequential", "--seed", "5", "-o", path("b.json"), "-t", "1"});
  EXPECT_EQ(ran.code, 0) << ran.err;
  const auto report = read("b.json");
  ASSERT_EQ(report.at("cases").size(), 12u);
  EXPECT_EQ(report.at("cases").at(0).at("subject"), "linear");
  EXPECT_EQ(report.at("cases").at(0).at("mode"), "reduce-overhead");
  EXPECT_EQ(report.at("cases").at(11).at("strategy"), "sequential");
  EXPECT_THAT(ran.out, HasSubstr("the best 1 of 12 cases:\n"));
}

TEST_F(Cli, BenchmarkTakesASubjectThatThePresetLacks) {
  const auto ran = run({"benchmark", "linear", "linear", "-p", preset({"mlp"}), "-n", "4,4", "-c", "--json"});
  EXPECT_EQ(ran.code, 0) << ran.err;
  const auto report = json::parse(ran.out);
  ASSERT_EQ(report.at("cases").size(), 1u);
  EXPECT_EQ(report.at("cases").at(0).at("kind"), "primitive");
  EXPECT_EQ(report.at("cases").at(0).at("mode"), "default");
}

TEST_F(Cli, BenchmarkTakesAModelOfTheUsers) {
  for (const auto* name : {"net.pt2", "a.safetensors", "b.safetensors"}) std::ofstream(path(name)) << "x";
  const auto ran = run({"benchmark", "--model", path("net.pt2"), "--weights", path("a.safetensors"),
                        path("b.safetensors"), "-p", "ci", "--json"});
  EXPECT_EQ(ran.code, 0) << ran.err;
  const auto report = json::parse(ran.out);
  ASSERT_EQ(report.at("cases").size(), 1u);
  EXPECT_EQ(report.at("cases").at(0).at("subject"), "net");
  EXPECT_EQ(report.at("cases").at(0).at("kind"), "model");
  EXPECT_EQ(report.at("cases").at(0).at("n"), 2);
}

TEST_F(Cli, AModelHasCopiesWhereCheckpointsAreFew) {
  for (const auto* name : {"net.pt2", "a.safetensors", "b.safetensors"}) std::ofstream(path(name)) << "x";
  const auto ran = run({"benchmark", "--model", path("net.pt2"), "-n", "1,2,5", "--json", "--weights",
                        path("a.safetensors"), path("b.safetensors")});
  EXPECT_EQ(ran.code, 0) << ran.err;
  EXPECT_THAT(ran.err, HasSubstr("of 5 members 2 have a checkpoint; the others are copies"));
  const auto specs = json::parse(ran.out).at("settings").at("cases");
  ASSERT_EQ(specs.size(), 3u);
  EXPECT_EQ(specs.at(0).at("weights").size(), 1u);
  EXPECT_EQ(specs.at(1).at("weights").size(), 2u);
  EXPECT_EQ(specs.at(2).at("weights").size(), 2u);
  EXPECT_EQ(specs.at(2).at("n"), 5);
  const auto enough = run({"benchmark", "--model", path("net.pt2"), "-n", "1", "--json"});
  EXPECT_EQ(enough.code, 0) << enough.err;
  EXPECT_THAT(enough.err, Not(HasSubstr("copies")));
}

TEST_F(Cli, PythonRivalsWantACheckpointPerMember) {
  std::ofstream(path("net.pt2")) << "x";
  const auto few = run({"benchmark", "--model", path("net.pt2"), "-n", "2", "--peers"});
  EXPECT_EQ(few.code, 2);
  EXPECT_THAT(few.err, HasSubstr("2 members need 2 checkpoints, given are 0"));
}

TEST_F(Cli, OneCaseTakesSeveralChoicesOfStrategies) {
  const auto ran =
      run({"benchmark", "linear", "-p", "ci", "-n", "2", "-s", "linear=sequential+wide", "--json"});
  EXPECT_EQ(ran.code, 0) << ran.err;
  EXPECT_EQ(json::parse(ran.out).at("settings").at("cases").at(0).at("strategy"), "linear=sequential+wide");
  const auto slip = run({"benchmark", "linear", "-s", "wide+linear=nonsense"});
  EXPECT_EQ(slip.code, 2);
  EXPECT_THAT(slip.err, HasSubstr("no operation has a strategy 'linear=nonsense'"));
}

TEST_F(Cli, HostileNamesOfModelsReachNeitherTerminalNorShell) {
  const std::vector<std::string> names = {"'; DROP TABLE runs;--",
                                          "$(touch x)",
                                          "`x`",
                                          "@file",
                                          "%n%s",
                                          "\x1b[31mred",
                                          "\u202eabc",
                                          "=1+1",
                                          "a\nb",
                                          "con",
                                          "--json",
                                          "*",
                                          "a b",
                                          "<img onerror=>",
                                          " "};
  for (const auto& name : names) {
    const auto file = path(name + ".pt2");
    std::ofstream(file) << "x";
    const auto ran = run({"benchmark", "--model", file, "-p", "ci", "--db", path("r.db"), "-o", path("o")});
    EXPECT_EQ(ran.code, 0) << name << ": " << ran.err;
    for (const auto& text : {ran.out, ran.err}) {
      EXPECT_THAT(text, AllOf(Not(HasSubstr("\x1b")), Not(HasSubstr("\u202e"))));
    }
    EXPECT_EQ(read("o").at("cases").size(), 1u);
  }
  EXPECT_EQ(json::parse(run({"runs", "list", "--db", path("r.db"), "--json"}).out).size(), names.size());
  EXPECT_FALSE(std::filesystem::exists("x"));
}

TEST_F(Cli, NamesThatAreNoUtf8AreRefused) {
  std::ofstream(path("a\xff.pt2")) << "x";
  const auto ran = run({"benchmark", "--model", path("a\xff.pt2")});
  EXPECT_EQ(ran.code, 2);
  EXPECT_THAT(ran.err, HasSubstr("UTF-8"));
}

TEST_F(Cli, UnknownStrategiesAreRefusedBeforeMeasuring) {
  for (const std::string name : {"nonsense", "linear=nonsense", "a\xff"}) {
    const auto ran = run({"benchmark", "mlp", "-s", name});
    EXPECT_EQ(ran.code, 2) << name;
    EXPECT_THAT(ran.err,
                AllOf(HasSubstr("there are all, auto, bmm, sequential, wide"), Not(HasSubstr("\xff"))));
  }
}

TEST_F(Cli, AllStrategiesAreCasesOfTheirOwnWithASummary) {
  const auto ran = run({"benchmark", "linear", "-p", preset({"linear"}), "-s", "all", "-o", path("b.json")});
  EXPECT_EQ(ran.code, 0) << ran.err;
  const auto report = read("b.json");
  ASSERT_EQ(report.at("cases").size(), 6u);
  std::vector<std::string> strategies;
  for (const auto& one : report.at("cases")) strategies.push_back(one.at("strategy"));
  EXPECT_THAT(strategies, testing::ElementsAre("auto", "bmm", "sequential", "auto", "bmm", "sequential"));
  const auto& summary = report.at("summary");
  ASSERT_EQ(summary.at("strategies").size(), 3u);
  EXPECT_EQ(summary.at("strategies").at(0).at("contests"), 0);  // auto does not compete
  EXPECT_EQ(summary.at("strategies").at(1).at("contests"), 2);
  EXPECT_EQ(summary.at("crossovers").size(), 3u);
  EXPECT_EQ(summary.at("crossovers").at(0).at("over_eager").at("n"), "below");
  EXPECT_THAT(ran.out,
              AllOf(HasSubstr("by strategy"), HasSubstr("wide pays from N ="), HasSubstr("below 2")));
}

class CliPeers : public Cli {
 protected:
  // A python3 that does what `script` says.
  void python(const std::string& script) {
    std::ofstream(path("python3")) << "#!/bin/sh\n" << script << '\n';
    std::filesystem::permissions(path("python3"), std::filesystem::perms::owner_all);
    ::setenv("WIDEBENCH_PYTHON", path("python3").c_str(), 1);
  }
  void TearDown() override {
    ::unsetenv("WIDEBENCH_PYTHON");
    Cli::TearDown();
  }
};

TEST_F(CliPeers, AreRivalsOfEveryCase) {
  python("[ \"$2\" = --check ] && echo 2.11.0");
  const auto ran =
      run({"benchmark", "mlp", "-p", preset({"mlp"}), "-n", "4", "--peers", "-o", path("b.json")});
  EXPECT_EQ(ran.code, 0) << ran.err;
  const auto rivals = read("b.json").at("settings").at("cases").at(0).at("rivals");
  EXPECT_EQ(rivals, json({"eager", "threads", "python_eager", "python_compile", "python_vmap",
                          "python_vmap_compile"}));
  EXPECT_THAT(ran.out, AllOf(HasSubstr("py vmap compile"), HasSubstr("best rival")));
  const char* folder = std::getenv("TMPDIR");  // set for the workers only
  EXPECT_TRUE(folder == nullptr || std::filesystem::is_directory(folder));
}

TEST_F(CliPeers, WithoutTorchNothingIsMeasured) {
  python("echo first >&2; echo \"torch cannot be imported: No module named 'torch'\" >&2; exit 3");
  const auto ran = run({"benchmark", "mlp", "--peers", "--db", path("r.db")});
  EXPECT_EQ(ran.code, 3);
  EXPECT_THAT(ran.err, AllOf(HasSubstr("No module named 'torch'"), HasSubstr("WIDEBENCH_PYTHON"),
                             HasSubstr("scripts/setup --profile full"), Not(HasSubstr("first"))));
  EXPECT_FALSE(std::filesystem::exists(path("r.db")));
  ::setenv("WIDEBENCH_PYTHON", "/no/such/python3", 1);
  const auto none = run({"benchmark", "mlp", "--peers"});
  EXPECT_EQ(none.code, 3);
  EXPECT_THAT(none.err, HasSubstr("/no/such/python3"));
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
