// The options of `widebench profile`, with a fake capture.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <iterator>
#include <nlohmann/json.hpp>
#include <sstream>

#include "app/cli_fixture.h"
#include "profiler/trace/chrome_import.h"

namespace wide::cli {
namespace {

using nlohmann::json;
using testing::AllOf;
using testing::HasSubstr;
using testing::Not;

class ProfileOptions : public CliFixture {
 protected:
  static Ran run(std::vector<std::string> arguments) {
    arguments.insert(arguments.begin(), "profile");
    return run_words(arguments);
  }
  static json document(std::vector<std::string> arguments) {
    arguments.emplace_back("--json");
    const auto ran = run(std::move(arguments));
    EXPECT_EQ(ran.code, 0) << ran.err;
    return json::parse(ran.out);
  }
  static std::vector<std::string> contenders(const json& document) {
    std::vector<std::string> names;
    for (const auto& capture : document.at("captures"))
      names.push_back(capture.at("contender").get<std::string>());
    return names;
  }
};

TEST_F(ProfileOptions, OfABuiltInSubjectReachTheCapture) {
  const auto plain = document({"mlp"});
  EXPECT_EQ(plain.at("subject"), "mlp");
  EXPECT_EQ(contenders(plain), (std::vector<std::string>{"wide", "eager"}));
  const json defaults = {{"dtype", "float32"}, {"threads", "2"}, {"mode", "eager"}, {"preset", "quick"},
                         {"passes", "20"},     {"members", "4"}, {"peaks", "none"}};
  EXPECT_EQ(plain["captures"][0]["facts"], defaults);
  const auto changed = document({"mlp", "-n", "8", "--dtype", "bfloat16", "-p", "ci", "--passes", "3",
                                 "--mode", "reduce-overhead", "--rivals", "eager,threads"});
  const json facts = {{"dtype", "bfloat16"}, {"threads", "2"}, {"mode", "reduce-overhead"},
                      {"preset", "ci"},      {"passes", "3"},  {"members", "8"},
                      {"peaks", "none"}};
  EXPECT_EQ(changed["captures"][0]["facts"], facts);
  EXPECT_EQ(contenders(changed), (std::vector<std::string>{"wide", "eager", "threads"}));
}

TEST_F(ProfileOptions, RivalsNoneCapturesWideAlone) {
  const auto alone = document({"--model", "m.pt2", "--rivals", "none"});
  EXPECT_EQ(alone.at("subject"), "m.pt2");
  EXPECT_EQ(contenders(alone), std::vector<std::string>{"wide"});
  EXPECT_TRUE(alone.at("comparisons").empty());
}

TEST_F(ProfileOptions, RooflineAndItsDrawingAskForPeaks) {
  EXPECT_FALSE(document({"mlp"}).contains("roofline"));
  const std::vector<std::vector<std::string>> ways = {{"mlp", "--roofline"}, {"mlp", "--svg", path("r.svg")}};
  for (const auto& arguments : ways) {
    const auto all = document(arguments);
    EXPECT_EQ(all["captures"][0]["facts"]["peaks"], "stored");
    EXPECT_EQ(all.at("roofline").at("nodes").size(), 2u);
  }
  EXPECT_EQ(document({"mlp", "--measure-peaks"})["captures"][0]["facts"]["peaks"], "measured");
  std::ifstream file(path("r.svg"));
  const std::string svg((std::istreambuf_iterator<char>(file)), {});
  EXPECT_THAT(svg, AllOf(HasSubstr("<svg"), HasSubstr("</svg>")));
}

TEST_F(ProfileOptions, ATraceIsWrittenAndCanBeComparedWith) {
  const auto ran = run({"mlp", "--trace", path("t.json.gz")});
  EXPECT_EQ(ran.code, 0) << ran.err;
  EXPECT_THAT(ran.out, HasSubstr("t.json.gz; open it in https://ui.perfetto.dev"));
  const auto traces = profiler::read_chrome_file(path("t.json.gz"));
  ASSERT_EQ(traces.size(), 2u);
  EXPECT_EQ(traces[0].contender, "wide");
  EXPECT_EQ(traces[1].contender, "eager");
  const auto compared = document({"mlp", "--rivals", "none", "--against", path("t.json.gz")});
  EXPECT_EQ(compared.at("captures").size(), 2u);
  for (const auto& row : compared.at("difference")) EXPECT_EQ(row.at("change"), "same");
}

TEST_F(ProfileOptions, TextIsForPeopleAndJsonForPrograms) {
  const auto text = run({"mlp", "-t", "1"});
  EXPECT_THAT(text.out, AllOf(HasSubstr("why wide is faster than eager"), HasSubstr("--top 0 shows all")));
  const auto both = run({"mlp", "--json"});
  EXPECT_THAT(both.err, HasSubstr("why wide is faster than eager"));
  EXPECT_NO_THROW(json::parse(both.out));
  const auto quiet = run({"mlp", "--quiet"});
  EXPECT_EQ(quiet.out + quiet.err, "");
}

TEST_F(ProfileOptions, FaultsAreOneLineAndCode2) {
  std::ofstream(path("bad.json")) << "{}";
  struct Case {
    std::vector<std::string> arguments;
    std::string said;
  };
  const std::vector<Case> cases = {
      {{}, "built-in subject"},
      {{"mlp", "--model", "m.pt2"}, "not both"},
      {{"mlp", "--dtype", "int8"}, "--dtype"},
      {{"mlp", "--rivals", "nobody"}, "--rivals"},
      {{"mlp", "-n", "0"}, "-n"},
      {{"mlp", "--passes", "0"}, "--passes"},
      {{"mlp", "--against", path("absent.json")}, "absent.json"},
      {{"mlp", "--against", path("bad.json")}, "bad.json"},
      {{"mlp", "--trace", path("no/t.json")}, "its folder does not exist"},
      {{"mlp", "--svg", path("no/r.svg")}, "its folder does not exist"},
  };
  for (const auto& [arguments, said] : cases) {
    const auto ran = run(arguments);
    EXPECT_EQ(ran.code, 2) << said;
    EXPECT_THAT(ran.err, HasSubstr(said));
    EXPECT_THAT(ran.out, Not(HasSubstr("why wide")));
  }
}

}  // namespace
}  // namespace wide::cli
