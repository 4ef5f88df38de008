// What `benchmark` measures: subjects, models, strategies and rivals that are named, and slips of who names
// them.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>

#include "app/cli_fixture.h"

namespace wide::cli {
namespace {

using nlohmann::json;
using testing::AllOf;
using testing::HasSubstr;
using testing::Not;

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
  auto document = read(std::filesystem::path(preset({"mlp"})).filename());
  document["defaults"]["rivals"] = {"eager", "python_eager"};
  std::ofstream(path("python.json")) << document;
  for (const auto& rivals :
       {std::string("--peers"), std::string("--rivals=python_vmap"), "-p" + path("python.json")}) {
    const auto few = run({"benchmark", "--model", path("net.pt2"), "-n", "2", rivals});
    EXPECT_EQ(few.code, 2);
    EXPECT_THAT(few.err, HasSubstr("2 members need 2 checkpoints, given are 0"));
  }
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

// Before anything is measured or stored, and as a fault of who wrote it.
TEST_F(Cli, SizesAndStrategiesOfCasesAreChecked) {
  const auto slip = run({"benchmark", "mlp", "--shape", "bach=3", "--db", path("r.db")});
  EXPECT_EQ(slip.code, 2);
  EXPECT_THAT(slip.err, HasSubstr("subject 'mlp' has no size 'bach'; it has batch, features"));
  const auto large = run({"benchmark", "mlp", "--shape", "batch=3,5000", "--db", path("r.db")});
  EXPECT_EQ(large.code, 2);
  EXPECT_THAT(large.err, HasSubstr("size 'batch' must lie in 1…1000, is 5000"));
  auto document = nlohmann::json::parse(std::ifstream(preset({"mlp"})));
  document["defaults"]["strategies"] = {"auto", "nonsense"};
  std::ofstream(path("mine.json")) << document;
  const auto of_preset = run({"--preset", path("mine.json"), "--db", path("r.db")});
  EXPECT_EQ(of_preset.code, 2);
  EXPECT_THAT(of_preset.err, HasSubstr("no operation has a strategy 'nonsense'"));
  EXPECT_FALSE(std::filesystem::exists(path("r.db")));
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
  for (const auto& rivals : {"--peers", "--rivals=eager,python_eager"}) {
    const auto ran = run({"benchmark", "mlp", rivals, "--db", path("r.db")});
    EXPECT_EQ(ran.code, 3);
    EXPECT_THAT(ran.err, AllOf(HasSubstr("No module named 'torch'"), HasSubstr("WIDEBENCH_PYTHON"),
                               HasSubstr("scripts/setup --profile full"), Not(HasSubstr("first"))));
    EXPECT_FALSE(std::filesystem::exists(path("r.db")));
  }
  ::setenv("WIDEBENCH_PYTHON", "/no/such/python3", 1);
  const auto none = run({"benchmark", "mlp", "--peers"});
  EXPECT_EQ(none.code, 3);
  EXPECT_THAT(none.err, HasSubstr("/no/such/python3"));
}

}  // namespace
}  // namespace wide::cli
