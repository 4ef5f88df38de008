#include "formats/document.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "formats/fault.h"

namespace wide::formats {
namespace {

using nlohmann::json;
using testing::HasSubstr;

std::string refusal(std::string_view text) {
  try {
    parse_document(text);
    return "";
  } catch (const Fault& fault) {
    return fault.what();
  }
}

std::string nested(std::size_t depth, std::string_view open, std::string_view close) {
  std::string text;
  for (std::size_t i = 0; i < depth; ++i) text += open;
  text += "0";
  for (std::size_t i = 0; i < depth; ++i) text += close;
  return text;
}

TEST(Document, IsWhatTheLibraryBuilds) {
  const std::string text =
      R"({"b": {"c": [[]]}, "a": [1, -2, 3.5, true, null, "x\u00e9", {}], "": 18446744073709551615})";
  EXPECT_EQ(parse_document(text), json::parse(text));
}

TEST(Document, DepthIsLimitedBeforeTheDeeperIsBuilt) {
  for (const auto& [open, close] : {std::pair{"[", "]"}, {"{\"a\":", "}"}}) {
    EXPECT_EQ(refusal(nested(kDeepestDocument, open, close)), "");
    for (const std::size_t depth : {kDeepestDocument + 1, std::size_t{300'000}})
      EXPECT_THAT(refusal(nested(depth, open, close)), HasSubstr("nested deeper than 64 levels"));
  }
}

TEST(Document, AKeyThatStandsTwiceIsRefusedByName) {
  EXPECT_THAT(refusal(R"({"a": {"verdict": 1, "verdict": 2}})"), HasSubstr("'verdict' stands twice"));
  EXPECT_EQ(refusal(R"([{"a": 1}, {"a": {"a": 2}}])"), "");
}

TEST(Document, WhatIsNoJsonIsRefusedByItsLine) {
  EXPECT_THAT(refusal("{\n\"a\": 1,\n}"), HasSubstr("line 3: no valid JSON (byte 11)"));
  for (const std::string_view text :
       {std::string_view(""), std::string_view("{} {}"), std::string_view("{}\0", 3),
        std::string_view("\"\xFF\""), std::string_view("1e999"), std::string_view("NaN"),
        std::string_view("[1,")})
    EXPECT_THAT(refusal(text), HasSubstr("line 1: no valid JSON")) << text;
}

TEST(Document, PassesElementsOnAndLeavesThemOut) {
  std::vector<json> cases;
  const auto document =
      parse_document(R"({"a": [1], "cases": [1, [2], {"cases": [3]}], "b": {"cases": [4]}})",
                     {"cases", [&](json&& one) { cases.push_back(std::move(one)); }});
  EXPECT_EQ(cases, (std::vector<json>{1, json::array({2}), json{{"cases", {3}}}}));
  EXPECT_EQ(document, json::parse(R"({"a": [1], "cases": [], "b": {"cases": [4]}})"));
}

}  // namespace
}  // namespace wide::formats
