#include "formats/expression.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <limits>

#include "formats/error.h"

namespace wide::formats {
namespace {

using testing::HasSubstr;

constexpr auto kMost = std::numeric_limits<std::int64_t>::max();
constexpr auto kLeast = std::numeric_limits<std::int64_t>::min();
const std::map<std::string, std::int64_t> kSymbols = {{"s0", 7}, {"s1", -7}, {"big", kMost}, {"zero", 0}};

std::optional<std::int64_t> value(std::string_view text) {
  return evaluate(parse_expression(text), kSymbols);
}

std::string refused(std::string_view text) {
  try {
    parse_expression(text);
    return "";
  } catch (const Error& error) {
    return error.what();
  }
}

TEST(Expression, ParsesWhatTorchWrites) {
  const auto e = parse_expression("Mul(Integer(2), Symbol('s77', positive=True, integer=True))");
  EXPECT_EQ(e.kind, Expression::Kind::kMul);
  EXPECT_EQ(e.operands.at(0).integer, 2);
  EXPECT_EQ(e.operands.at(1).symbol, "s77");
}

struct Value {
  const char* text;
  std::optional<std::int64_t> expected;
};
void PrintTo(const Value& one, std::ostream* out) {
  *out << one.text;
}
class ExpressionValue : public testing::TestWithParam<Value> {};

TEST_P(ExpressionValue, IsExactOrAbsent) {
  EXPECT_EQ(value(GetParam().text), GetParam().expected);
}

INSTANTIATE_TEST_SUITE_P(
    All, ExpressionValue,
    testing::Values(
        Value{"Integer(-3)", -3}, Value{"Integer(9223372036854775807)", kMost},
        Value{"Integer(-9223372036854775808)", kLeast}, Value{"Symbol('s0')", 7},
        Value{"Symbol('unknown')", {}}, Value{"Add(Symbol('s0'), Integer(1), Integer(2))", 10},
        Value{"Add(Symbol('big'), Integer(1))", {}}, Value{"Mul(Symbol('big'), Integer(2))", {}},
        Value{"Mul(Integer(-9223372036854775808), Integer(-1))", {}},
        Value{"Pow(Symbol('s0'), Integer(2))", 49}, Value{"Pow(Symbol('s0'), Integer(-1))", {}},
        Value{"Pow(Integer(2), Integer(62))", std::int64_t{1} << 62},
        Value{"Pow(Integer(2), Integer(63))", {}}, Value{"Pow(Integer(-2), Integer(63))", kLeast},
        Value{"Pow(Integer(-1), Integer(9223372036854775807))", -1}, Value{"Pow(Integer(0), Integer(0))", 1},
        Value{"PowByNatural(Integer(3), Integer(3))", 27},
        Value{"Max(Integer(1), Symbol('s0'), Integer(3))", 7}, Value{"Min(Symbol('s1'), Integer(3))", -7},
        Value{"FloorDiv(Symbol('s0'), Integer(2))", 3}, Value{"FloorDiv(Symbol('s1'), Integer(2))", -4},
        Value{"FloorDiv(Integer(-9223372036854775808), Integer(-1))", {}},
        Value{"FloorDiv(Symbol('s0'), Symbol('zero'))", {}}, Value{"Mod(Symbol('s0'), Integer(4))", 3},
        Value{"PythonMod(Symbol('s1'), Integer(4))", 1}, Value{"PythonMod(Symbol('s0'), Integer(-4))", -1},
        Value{"Mod(Symbol('s0'), Integer(0))", {}}, Value{"CeilDiv(Symbol('s0'), Integer(2))", 4},
        Value{"CeilDiv(Symbol('s1'), Integer(2))", -3}, Value{"CleanDiv(Integer(8), Integer(4))", 2},
        Value{"CleanDiv(Integer(9), Integer(4))", {}}));

struct Refused {
  const char* text;
  const char* why;
};
void PrintTo(const Refused& one, std::ostream* out) {
  *out << one.text;
}
class ExpressionRefused : public testing::TestWithParam<Refused> {};

TEST_P(ExpressionRefused, SaysWhy) {
  EXPECT_THAT(refused(GetParam().text), HasSubstr(GetParam().why));
}

INSTANTIATE_TEST_SUITE_P(
    All, ExpressionRefused,
    testing::Values(Refused{"", "lacks a name"},
                    Refused{"__import__('os').system('x')", "'__import__', which is not"},
                    Refused{"eval(Integer(1))", "'eval', which is not"},
                    Refused{"Rational(1, 2)", "'Rational', which is not"}, Refused{"Integer(1) ", ""},
                    Refused{"Integer(1)x", "goes on after its end"},
                    Refused{"Integer(9223372036854775808)", "64 bits"}, Refused{"Integer()", "64 bits"},
                    Refused{"Integer(1.5)", "lacks a ')'"}, Refused{"Symbol(s0)", "lacks a '''"},
                    Refused{"Symbol('s0\\'')", "not a plain name"},
                    Refused{"Symbol('s0', integer=1)", "lacks a name"},
                    Refused{"Symbol('s0', integer=exit)", "neither True nor False"},
                    Refused{"Symbol('')", "lacks a name"}, Refused{"Add(Integer(1),)", "lacks a name"},
                    Refused{"Add()", "lacks a name"}, Refused{"Pow(Integer(1))", "wrong number"},
                    Refused{"Mod(Integer(1), Integer(1), Integer(1))", "wrong number"},
                    Refused{"Add(Integer(1)", "lacks a ')'"}, Refused{"\x1b[31mAdd", "\\x1b[31mAdd"}));

TEST(Expression, DepthAndLengthAreBounded) {
  const auto nested = [](int levels) {
    std::string text;
    for (int i = 0; i < levels; ++i) text += "Add(";
    return text + "Integer(1)" + std::string(static_cast<std::size_t>(levels), ')');
  };
  EXPECT_EQ(value(nested(63)), 1);
  EXPECT_THAT(refused(nested(64)), HasSubstr("nested deeper than 64"));
  EXPECT_THAT(refused(std::string(5000, ' ')), HasSubstr("longer than 4096"));
}

struct Printed {
  const char* text;
  const char* expected;
};
void PrintTo(const Printed& one, std::ostream* out) {
  *out << one.text;
}
class ExpressionPrinted : public testing::TestWithParam<Printed> {};

TEST_P(ExpressionPrinted, AsPeopleWriteIt) {
  EXPECT_EQ(to_string(parse_expression(GetParam().text)), GetParam().expected);
}

INSTANTIATE_TEST_SUITE_P(
    All, ExpressionPrinted,
    testing::Values(Printed{"Add(Mul(Integer(2), Symbol('s7')), Integer(1))", "2*s7 + 1"},
                    Printed{"Mul(Integer(2), Add(Symbol('s7'), Integer(1)))", "2*(s7 + 1)"},
                    Printed{"FloorDiv(Add(Symbol('s0'), Integer(1)), Integer(2))", "(s0 + 1)//2"},
                    Printed{"FloorDiv(Symbol('s0'), FloorDiv(Symbol('s1'), Integer(2)))", "s0//(s1//2)"},
                    Printed{"Mod(Symbol('s0'), Integer(2))", "Mod(s0, 2)"},
                    Printed{"PythonMod(Symbol('s0'), Integer(2))", "s0%2"},
                    Printed{"Pow(Integer(-1), Symbol('s0'))", "(-1)**s0"},
                    Printed{"Max(Integer(1), Symbol('s0'))", "Max(1, s0)"}));

}  // namespace
}  // namespace wide::formats
