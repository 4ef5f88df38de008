#include "formats/guard.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <random>

#include "formats/error.h"

namespace wide::formats {
namespace {

const std::map<std::string, std::int64_t> kSymbols = {{"s0", 7}, {"s1", 3}};

std::string refused(std::string_view text) {
  try {
    guard_holds(text, kSymbols);
    return "";
  } catch (const Error& error) {
    return error.what();
  }
}

struct Held {
  const char* text;
  bool expected;
};
void PrintTo(const Held& one, std::ostream* out) {
  *out << one.text;
}
class GuardValue : public testing::TestWithParam<Held> {};

TEST_P(GuardValue, IsPythons) {
  EXPECT_EQ(guard_holds(GetParam().text, kSymbols), GetParam().expected);
}

// What Python's eval() gives where s0 is 7 and s1 is 3.
INSTANTIATE_TEST_SUITE_P(
    All, GuardValue,
    testing::Values(
        Held{"((1 + s0) // 2) != 1", true}, Held{"(s0 % 2) == 0", false}, Held{"-s0 // 2 == -4", true},
        Held{"(-7) % s1 == 2", true}, Held{"s0*s0 + ((-5)*s1) >= 3", true},
        Held{"max(s0, s1) < 20 and min(s0, 3) == 3", true}, Held{"(s0 / 2) > 3.25", true},
        Held{"(s0 / 2) > 3.5", false}, Held{"torch.sym_float(s0) <= 11.0", true},
        Held{"math.trunc(1.5*torch.sym_float(s0)) == 10", true}, Held{"math.floor(-s0 / 2) == -4", true},
        Held{"math.ceil(s0 / 2) == 4", true}, Held{"round(s0 / 2) == 4", true},
        Held{"round(s1 / 2) == 2", true}, Held{"3 <= s0 <= 6", false}, Held{"3 < s0 < 8 != s1", true},
        Held{"not s0 < 3 or s1 > 100", true}, Held{"not (s0 == 7)", false}, Held{"2**s1 == 8", true},
        Held{"s0**2 == 49", true}, Held{"-2**2 == -4", true}, Held{"s0 - 3 - 2 == 2", true},
        Held{"s0 // s1 // 2 == 1", true}, Held{"2*s0 % 4 == 2", true},
        Held{"s0 == 7 or 1 // (s0 - 7) == 0", true}, Held{"s0 < math.inf", true},
        Held{"s0 > -math.inf", true}, Held{"abs(3 - s0) == 4", true}, Held{"int(s0 / 2) == 3", true},
        Held{"True and s0", true}, Held{"s0 and False", false}, Held{"1e3 > s0", true},
        Held{"2.5*s0 == 17.5", true}, Held{"s0 % 2.5 == 2.0", true}, Held{"math.sqrt(s0 + 2) == 3", true},
        Held{"2**(-1) == 0.5", true}, Held{"s0 == 7 and s1 == 3 or s0 == 1", true},
        Held{"s0 == 1 or s0 == 7 and s1 == 4", false}));

TEST(Guard, OfWhichNothingCanBeSaidDoesNotHold) {
  EXPECT_FALSE(guard_holds("s0 // (s0 - 7) == 1", kSymbols));
  EXPECT_FALSE(guard_holds("not s0 // (s0 - 7) == 1", kSymbols));
  EXPECT_FALSE(guard_holds("s0**99 > 0", kSymbols));
  EXPECT_FALSE(guard_holds("9000000000000000000*9000000000000000000 > 0", kSymbols));
  EXPECT_FALSE(guard_holds("int(math.inf) > 0", kSymbols));
}

TEST(Guard, RefusesWhatTorchExportDoesNotWrite) {
  for (const auto* text :
       {"", "s0 ==", "s0 == 1 1", "(s0", "s2 == 1", "eval(s0)", "s0 == 'x'", "max()", "abs(1, 2)",
        "__import__('os')", "s0 if s0 else 1", "99999999999999999999 > s0", "s0 = 1", "[s0]"})
    EXPECT_NE(refused(text), "") << text;
  EXPECT_THAT(refused(std::string(200, '(')), testing::HasSubstr("too deeply"));
  EXPECT_THAT(refused(std::string(200, '-')), testing::HasSubstr("too deeply"));
  std::string wide = "s0";
  while (wide.size() <= 16384) wide += " or s0";
  EXPECT_THAT(refused(wide), testing::HasSubstr("longer than"));
}

TEST(Guard, AnyTextIsAnsweredOrRefused) {
  const std::vector<std::string> parts = {
      "s0", "s1", "(", ")",   "not ", " and ", " or ", "==", "<",   "//",    "%",        "/",
      "**", "-",  "+", "max", "int",  ",",     "7",    "0",  "1.5", "1e400", "math.inf", "\xff"};
  std::mt19937 random(7);
  int answered = 0;
  for (int i = 0; i < 20000; ++i) {
    std::string text;
    for (auto length = random() % 12 + 1; length > 0; --length) text += parts[random() % parts.size()];
    try {
      (void)guard_holds(text, kSymbols);
      ++answered;
    } catch (const Error&) {
    }
  }
  EXPECT_GT(answered, 100);
}

}  // namespace
}  // namespace wide::formats
