#include "presets/preset.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <nlohmann/json.hpp>
#include <set>

#include "formats/error.h"

namespace wide::presets {
namespace {

using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;

std::string message_of(const std::string& text) {
  try {
    parse_preset(text, "mine.json");
  } catch (const Error& error) {
    return error.what();
  }
  return "accepted";
}

std::string with_case(const std::string& entry, const std::string& more = "") {
  return R"({"schema_version": 1, "name": "mine", )" + more + R"("cases": [)" + entry + "]}";
}

constexpr const char* kLinear =
    R"({"subject": "linear", "kind": "primitive", "shape": {"batch": 3}, "n": [2, 4]})";

std::vector<std::int64_t> counts(const Preset& preset) {
  std::set<std::int64_t> n;
  for (const auto& spec : preset.cases) n.insert(spec.n);
  return {n.begin(), n.end()};
}

TEST(Preset, MultipliesItsAxes) {
  const auto preset = parse_preset(
      with_case(R"({"subject": "linear", "kind": "primitive", "n": [2, 4], "dtypes": ["float32", "bfloat16"],
                    "shape": {"batch": [3, 5], "in_features": 7}})"),
      "mine.json");
  ASSERT_EQ(preset.cases.size(), 8u);
  EXPECT_EQ(preset.cases[0].key(), "linear/n=2/batch=3,in_features=7/float32/auto/eager/auto");
  EXPECT_EQ(preset.cases[1].key(), "linear/n=4/batch=3,in_features=7/float32/auto/eager/auto");
  EXPECT_EQ(preset.cases[7].key(), "linear/n=4/batch=5,in_features=7/bfloat16/auto/eager/auto");
}

TEST(Preset, ACaseReplacesDefaultsAndMergesTheStoppingRule) {
  const auto preset = parse_preset(
      with_case(
          R"({"subject": "linear", "kind": "primitive", "shape": {}, "n": 8, "stopping": {"min_rounds": 5}})",
          R"("defaults": {"n": [2], "seed": 9, "stopping": {"max_seconds": 0.25}}, )"),
      "mine.json");
  ASSERT_EQ(preset.cases.size(), 1u);
  EXPECT_EQ(preset.cases[0].n, 8);
  EXPECT_EQ(preset.cases[0].seed, 9u);
  EXPECT_EQ(preset.cases[0].stopping.min_rounds, 5);
  EXPECT_EQ(preset.cases[0].stopping.max_seconds, 0.25);
}

TEST(Preset, ChangesFromTheCommandLineWin) {
  PresetChanges changes;
  changes.subjects = {"linear"};
  changes.n = {3};
  changes.devices = {"cpu"};
  changes.threads = 2;
  changes.seed = 77;
  changes.modes = {"default"};
  changes.strategies = {"sequential", "auto"};
  const auto other = R"(, {"subject": "gelu", "kind": "primitive", "shape": {}, "n": 2})";
  const auto preset = parse_preset(with_case(kLinear + std::string(other)), "mine.json", changes);
  ASSERT_EQ(preset.cases.size(), 2u);
  EXPECT_EQ(preset.cases[0].key(), "linear/n=3/batch=3/float32/cpu/default/sequential");
  EXPECT_EQ(preset.cases[0].threads, 2);
  EXPECT_EQ(preset.cases[0].seed, 77u);
}

struct Slip {
  std::string text, path, message;
};
void PrintTo(const Slip& slip, std::ostream* out) {
  *out << slip.path << " " << slip.message;
}

class Slips : public testing::TestWithParam<Slip> {};

TEST_P(Slips, AreNamedWithFileAndPath) {
  const auto message = message_of(GetParam().text);
  EXPECT_THAT(message, HasSubstr("mine.json: " + GetParam().path));
  EXPECT_THAT(message, HasSubstr(GetParam().message));
  EXPECT_EQ(message.find('\n'), std::string::npos);
}

std::string entry(const std::string& more) {
  return with_case(R"({"subject": "linear", "kind": "primitive", "shape": {"batch": 3}, "n": 2, )" + more +
                   "}");
}

INSTANTIATE_TEST_SUITE_P(
    Preset, Slips,
    testing::Values(
        Slip{"{\n\"schema_version\": 1,\n}", "line 3", "no valid JSON"}, Slip{"", "line 1", "no valid JSON"},
        Slip{"[]", "$", "must be an object"}, Slip{"{}", "$", "\"schema_version\" is missing"},
        Slip{R"({"schema_version": 2})", "$", "newer"},
        Slip{R"({"schema_version": 1, "name": "x", "name": "y", "cases": []})", "the key", "stands twice"},
        Slip{with_case(kLinear, R"("case": [], )"), "$", "unknown key \"case\""},
        Slip{with_case(kLinear, R"("timeout_seconds": -1, )"), "$.timeout_seconds", "must lie in"},
        Slip{with_case(kLinear, R"("defaults": {"N": [2]}, )"), "$.defaults", "unknown key \"N\""},
        Slip{with_case(""), "$.cases", "must not be empty"},
        Slip{with_case(std::string(kLinear) + "," + kLinear), "$.cases[1]", "stands twice"},
        Slip{with_case(R"({"subject": "linear", "kind": "primitive", "shape": {}})"), "$.cases[0]", "no n"},
        Slip{with_case(R"({"subject": "", "kind": "primitive", "shape": {}})"), "$.cases[0].subject",
             "empty"},
        Slip{with_case(R"({"subject": "a\nb", "kind": "zoo", "shape": {}})"), "$.cases[0].subject",
             "control"},
        Slip{with_case(R"({"subject": "x", "kind": "model", "shape": {}})"), "$.cases[0].kind", "\"model\""},
        Slip{with_case(R"({"subject": "x", "kind": "zoo", "shape": {"batch": 2.5}, "n": 2})"),
             "$.cases[0].shape.batch", "whole number, is 2.5"},
        Slip{with_case(R"({"subject": "x", "kind": "zoo", "shape": {"a b": -1}, "n": 2})"),
             "$.cases[0].shape[\"a b\"]", "must lie in 0…"},
        Slip{entry(R"("dtypes": ["float31"])"), "$.cases[0].dtypes[0]", "use one of float32"},
        Slip{entry(R"("devices": ["gpu"])"), "$.cases[0].devices[0]", "auto, cpu, cuda"},
        Slip{entry(R"("modes": ["eager", "eager"])"), "$.cases[0].modes[1]", "twice"},
        Slip{entry(R"("rivals": "eagre")"), "$.cases[0].rivals", "\"eagre\""},
        Slip{entry(R"("seed": 18446744073709551615)"), "$.cases[0].seed", "whole number"},
        Slip{entry(R"("stopping": {"rounds": 3})"), "$.cases[0].stopping", "unknown key \"rounds\""},
        Slip{entry(R"("stopping": {"min_rounds": 3, "max_rounds": 2})"), "$.cases[0].stopping", "less than"},
        Slip{entry(R"("threads": true)"), "$.cases[0].threads", "whole number, is true"}));

TEST(Preset, AMillionCasesAreRefusedBeforeTheyAreMade) {
  std::string axis = "1";
  for (int i = 2; i <= 400; ++i) axis += "," + std::to_string(i);
  const auto text = with_case(R"({"subject": "x", "kind": "zoo", "n": 2, "shape": {"a": [)" + axis +
                              R"(], "b": [)" + axis + "]}}");
  EXPECT_THAT(message_of(text), HasSubstr("more than 100000 cases"));
}

TEST(Preset, DeepNestingIsRefused) {
  EXPECT_THAT(message_of(std::string(100000, '[')), AllOf(HasSubstr("mine.json"), HasSubstr("deeper")));
}

TEST(Preset, ASpecComesBackFromItsJson) {
  CaseSpec spec{.subject = "mine", .kind = "model", .n = 2, .dtype = "bfloat16", .rivals = {}, .seed = 5};
  spec.model = "/models/a.pt2";
  spec.weights = {"/models/a.safetensors", "/models/b.safetensors"};
  EXPECT_EQ(spec_from_json(to_json(spec), "here"), spec);
  auto extra = to_json(spec);
  extra["colour"] = "red";
  EXPECT_THROW(spec_from_json(extra, "here"), Error);
  const auto whole = to_json(spec);
  for (const auto& [key, value] : whole.items()) {
    auto less = whole;
    less.erase(key);
    EXPECT_THROW(spec_from_json(less, "here"), Error) << key;
  }
}

TEST(Presets, QuickFullAndCiAreFoundByName) {
  const std::map<std::string, std::vector<std::int64_t>> expected = {
      {"ci", {2, 4, 8}}, {"quick", {4, 8, 16, 32}}, {"full", {2, 4, 8, 16, 32, 64}}};
  for (const auto& [name, n] : expected) {
    const auto preset = read_preset(find_preset(name));
    EXPECT_EQ(preset.name, name);
    EXPECT_EQ(counts(preset), n);
    std::map<std::string, std::set<std::string>> subjects;
    for (const auto& spec : preset.cases) subjects[spec.kind].insert(spec.subject);
    EXPECT_EQ(subjects["zoo"].size(), 13u);
    EXPECT_EQ(subjects["block"].size(), 5u);
    EXPECT_GE(subjects["primitive"].size(), 25u);
  }
}

TEST(Presets, CiFitsItsThreeMinutes) {
  const auto preset = read_preset(find_preset("ci"));
  double seconds = 0;
  for (const auto& spec : preset.cases) {
    const double starting_and_proving = 0.5;
    const double contenders = 1 + static_cast<double>(spec.rivals.size());
    seconds += starting_and_proving + spec.stopping.max_seconds + contenders * spec.stopping.warmup_seconds;
  }
  EXPECT_GE(preset.cases.size(), 120u);
  EXPECT_LT(seconds, 180) << "even when no case gets precise before its time is up";
}

TEST(Presets, ANameThatIsNoneListsThose) {
  try {
    find_preset("qiuck");
    FAIL();
  } catch (const Error& error) {
    EXPECT_THAT(error.what(), AllOf(HasSubstr("qiuck"), HasSubstr("ci, full, quick")));
  }
  EXPECT_EQ(find_preset("./mine.json"), "./mine.json");
  EXPECT_THROW(read_preset("./no/such/mine.json"), Error);
  EXPECT_THROW(read_preset("/"), Error);
}

}  // namespace
}  // namespace wide::presets
