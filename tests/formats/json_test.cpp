#include "formats/json.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "formats/error.h"
#include "support.h"

namespace wide::formats {
namespace {

using testing::HasSubstr;
using namespace std::string_literals;

std::string refused(std::string_view text, const JsonLimits& limits = {}) {
  try {
    parse_json(text, limits);
    return "";
  } catch (const Error& error) {
    return error.what();
  }
}

nlohmann::json mirrored(const Json& json) {
  return std::visit(
      [](const auto& value) -> nlohmann::json {
        using Value = std::decay_t<decltype(value)>;
        if constexpr (std::is_same_v<Value, std::monostate>) {
          return nullptr;
        } else if constexpr (std::is_same_v<Value, Json::Array>) {
          auto result = nlohmann::json::array();
          for (const auto& item : value) result.push_back(mirrored(item));
          return result;
        } else if constexpr (std::is_same_v<Value, Json::Object>) {
          auto result = nlohmann::json::object();
          for (const auto& [key, item] : value) result[key] = mirrored(item);
          return result;
        } else {
          return value;
        }
      },
      json.value);
}

TEST(JsonParser, BuildsWhatTheLibraryBuilds) {
  const std::string text =
      R"( {"b": {"c": [[]]}, "a": [1, -2, 3.5, true, null, "x\u00e9", {}], "": 18446744073709551615, "d": {}} )";
  EXPECT_EQ(mirrored(parse_json(text)), nlohmann::json::parse(text));
}

TEST(JsonParser, AgreesWithTheLibraryOnRealPrograms) {
  for (const auto& folder : test::corpus()) {
    for (const auto& part : test::unzip(test::slurp(folder / "model.pt2"))) {
      if (!part.name.ends_with(".json")) continue;
      EXPECT_EQ(mirrored(parse_json(part.bytes)), nlohmann::json::parse(part.bytes)) << part.name;
    }
  }
}

TEST(JsonParser, RefusesWhatIsNotJson) {
  EXPECT_THAT(refused(""), HasSubstr("not valid JSON"));
  EXPECT_THAT(refused("{} x"), HasSubstr("not valid JSON at byte 4"));
  EXPECT_THAT(refused("{}\0"s), HasSubstr("a NUL"));
  EXPECT_THAT(refused("[1,]"), HasSubstr("not valid JSON"));
  EXPECT_THAT(refused("// c\n1"), HasSubstr("not valid JSON"));
  EXPECT_THAT(refused("NaN"), HasSubstr("not valid JSON"));
  EXPECT_THAT(refused("\xEF\xBB\xBF{}"), HasSubstr("byte order mark"));
  EXPECT_THAT(refused("\"\xff\""), HasSubstr("invalid UTF-8"));
  EXPECT_THAT(refused("\"\xc0\x80\""), HasSubstr("invalid UTF-8"));
  EXPECT_THAT(refused("1e999"), HasSubstr("out of range"));
}

TEST(JsonParser, RefusesDuplicateKeysAtAnyDepth) {
  EXPECT_THAT(refused(R"({"a": 1, "a": 1})"), HasSubstr("'a' stands twice"));
  EXPECT_THAT(refused(R"([{"b": {"a": 1, "\u0061": 2}}])"), HasSubstr("'a' stands twice"));
}

TEST(JsonParser, StopsAtItsLimits) {
  EXPECT_EQ(refused("[[[]]]", {.depth = 3}), "");
  EXPECT_THAT(refused("[[[[]]]]", {.depth = 3}), HasSubstr("deeper than 3"));
  EXPECT_THAT(refused(std::string(1'000'000, '[')), HasSubstr("deeper than 200"));
  EXPECT_EQ(refused("[1, 2]", {.values = 3}), "");
  EXPECT_THAT(refused("[1, 2, 3]", {.values = 3}), HasSubstr("more than 3 JSON values"));
  EXPECT_THAT(refused("[1, 2]", {.bytes = 5}), HasSubstr("limit of 5"));
}

TEST(JsonAccess, NumbersAreExactOrRefused) {
  EXPECT_EQ(as_integer(parse_json("-9223372036854775808"), "x"), INT64_MIN);
  EXPECT_THROW(as_integer(parse_json("9223372036854775808"), "x"), Error);
  EXPECT_THROW(as_integer(parse_json("1.0"), "x"), Error);
  EXPECT_EQ(as_real(parse_json("\"-Infinity\""), "x"), -INFINITY);
  EXPECT_TRUE(std::isnan(as_real(parse_json("\"NaN\""), "x")));
  EXPECT_THROW(as_real(parse_json("\"nan\""), "x"), Error);
}

TEST(JsonAccess, UnionsHaveOneKey) {
  const Json json = parse_json(R"({"as_int": 5})");
  EXPECT_EQ(as_tagged(json, "x").tag, "as_int");
  EXPECT_THROW(as_tagged(parse_json("{}"), "x"), Error);
  EXPECT_THROW(as_tagged(parse_json(R"({"a": 1, "b": 2})"), "x"), Error);
}

TEST(JsonAccess, MissingAndNullAreToldApartFromPresent) {
  const Json json = parse_json(R"({"a": null, "b": 0})");
  EXPECT_FALSE(optional_member(json, "a"));
  EXPECT_FALSE(optional_member(json, "c"));
  EXPECT_TRUE(optional_member(json, "b"));
  EXPECT_THROW(member(json, "a"), Error);
  EXPECT_THROW(member(parse_json("[]"), "a"), Error);
}

}  // namespace
}  // namespace wide::formats
