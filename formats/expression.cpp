#include "formats/expression.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <limits>

#include "formats/error.h"
#include "formats/fault.h"
#include "formats/int128.h"

namespace wide::formats {
namespace {

using Kind = Expression::Kind;

constexpr std::size_t kLongest = 4096;  // bytes of srepr
constexpr int kDeepest = 64;

/// Functions by their sympy name, with the number of operands they take.
struct Function {
  std::string_view name;
  Kind kind;
  std::size_t least, most;
};
constexpr std::size_t kAny = std::numeric_limits<std::size_t>::max();
constexpr std::array kFunctions = {
    Function{"Add", Kind::kAdd, 1, kAny},
    Function{"Mul", Kind::kMul, 1, kAny},
    Function{"Pow", Kind::kPow, 2, 2},
    Function{"PowByNatural", Kind::kPow, 2, 2},
    Function{"Max", Kind::kMax, 1, kAny},
    Function{"Min", Kind::kMin, 1, kAny},
    Function{"FloorDiv", Kind::kFloorDiv, 2, 2},
    Function{"Mod", Kind::kMod, 2, 2},
    Function{"PythonMod", Kind::kPythonMod, 2, 2},
    Function{"CeilDiv", Kind::kCeilDiv, 2, 2},
    Function{"CleanDiv", Kind::kCleanDiv, 2, 2},
};

bool is_letter(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';
}
bool is_digit(char c) {
  return c >= '0' && c <= '9';
}

class Parser {
 public:
  explicit Parser(std::string_view text) : text_(text) {}

  Expression whole() {
    if (text_.size() > kLongest) fail("is longer than " + std::to_string(kLongest) + " bytes");
    Expression result = expression(0);
    skip_space();
    if (at_ != text_.size()) fail("goes on after its end");
    return result;
  }

 private:
  [[noreturn]] void fail(const std::string& why) const {
    throw Fault("symbolic expression " + quote(text_) + " " + why + " (byte " + std::to_string(at_) +
                "); export the model with fewer dynamic dimensions");
  }
  void skip_space() {
    while (at_ < text_.size() && text_[at_] == ' ') ++at_;
  }
  bool accept(char c) {
    skip_space();
    if (at_ == text_.size() || text_[at_] != c) return false;
    ++at_;
    return true;
  }
  void expect(char c) {
    if (!accept(c)) fail(std::string("lacks a '") + c + "'");
  }
  std::string_view identifier() {
    skip_space();
    const std::size_t begin = at_;
    while (at_ < text_.size() && (is_letter(text_[at_]) || (at_ > begin && is_digit(text_[at_])))) ++at_;
    if (at_ == begin) fail("lacks a name");
    return text_.substr(begin, at_ - begin);
  }

  Expression expression(int depth) {
    if (depth >= kDeepest) fail("is nested deeper than " + std::to_string(kDeepest) + " levels");
    const std::string_view name = identifier();
    expect('(');
    if (name == "Integer") return integer();
    if (name == "Symbol") return symbol();
    const auto function = std::ranges::find(kFunctions, name, &Function::name);
    if (function == kFunctions.end()) fail("uses " + quote(name) + ", which is not supported");
    Expression result;
    result.kind = function->kind;
    do {
      result.operands.push_back(expression(depth + 1));
    } while (accept(','));
    expect(')');
    if (result.operands.size() < function->least || result.operands.size() > function->most)
      fail("gives " + std::string(name) + " a wrong number of operands");
    return result;
  }

  Expression integer() {
    skip_space();
    Expression result;
    const char* const end = text_.data() + text_.size();
    const auto [rest, error] = std::from_chars(text_.data() + at_, end, result.integer);
    if (error != std::errc()) fail("has an integer that 64 bits do not hold");
    at_ = static_cast<std::size_t>(rest - text_.data());
    expect(')');
    return result;
  }

  // Symbol('s77', positive=True, integer=True): the assumptions are checked for their form and dropped.
  Expression symbol() {
    Expression result;
    result.kind = Kind::kSymbol;
    expect('\'');
    result.symbol = identifier();
    if (at_ == text_.size() || text_[at_] != '\'') fail("has a symbol that is not a plain name");
    ++at_;
    while (accept(',')) {
      identifier();
      expect('=');
      const std::string_view value = identifier();
      if (value != "True" && value != "False") fail("has an assumption that is neither True nor False");
    }
    expect(')');
    return result;
  }

  std::string_view text_;
  std::size_t at_ = 0;
};

using Value = std::optional<std::int64_t>;

Value narrow(int128 wide) {
  if (wide < std::numeric_limits<std::int64_t>::min() || wide > std::numeric_limits<std::int64_t>::max())
    return {};
  return static_cast<std::int64_t>(wide);
}

Value power(std::int64_t base, std::int64_t exponent) {
  if (exponent < 0) return {};
  if (base == 0 || base == 1) return exponent == 0 ? 1 : base;
  if (base == -1) return exponent % 2 ? -1 : 1;
  Value result = 1;
  for (std::int64_t i = 0; result && i < exponent; ++i) result = narrow(static_cast<int128>(*result) * base);
  return result;  // |base| >= 2: ends after at most 63 rounds
}

Value combine(Kind kind, std::int64_t a, std::int64_t b) {
  const int128 x = a, y = b;
  const bool divides = kind == Kind::kFloorDiv || kind == Kind::kMod || kind == Kind::kPythonMod ||
                       kind == Kind::kCeilDiv || kind == Kind::kCleanDiv;
  if (divides && b == 0) return {};
  switch (kind) {
    case Kind::kAdd:
      return narrow(x + y);
    case Kind::kMul:
      return narrow(x * y);
    case Kind::kPow:
      return power(a, b);
    case Kind::kMax:
      return std::max(a, b);
    case Kind::kMin:
      return std::min(a, b);
    case Kind::kFloorDiv:
      return narrow(floor_div(x, y));
    case Kind::kMod:
    case Kind::kPythonMod:
      return narrow(x - floor_div(x, y) * y);
    case Kind::kCeilDiv:
      return narrow(-floor_div(-x, y));
    case Kind::kCleanDiv:
      return x % y == 0 ? narrow(x / y) : std::nullopt;
    case Kind::kInteger:
    case Kind::kSymbol:
      break;
  }
  return {};
}

// How tightly a form binds, so that only the parentheses that are needed are printed.
int tightness(const Expression& e) {
  switch (e.kind) {
    case Kind::kAdd:
      return 1;
    case Kind::kMul:
    case Kind::kFloorDiv:
    case Kind::kPythonMod:
      return 2;
    case Kind::kPow:
      return 3;
    case Kind::kInteger:
      return e.integer < 0 ? 0 : 4;
    default:
      return 4;
  }
}

std::string joined(const Expression& e, std::string_view between, int tight) {
  std::string result;
  for (const auto& operand : e.operands) {
    if (!result.empty()) result += between;
    const bool parenthesised = tightness(operand) <= tight;
    result += parenthesised ? "(" + to_string(operand) + ")" : to_string(operand);
  }
  return result;
}

std::string call(std::string_view name, const Expression& e) {
  return std::string(name) + "(" + joined(e, ", ", -1) + ")";
}

}  // namespace

Expression parse_expression(std::string_view srepr) {
  return Parser(srepr).whole();
}

std::optional<std::int64_t> evaluate(const Expression& expression,
                                     const std::map<std::string, std::int64_t>& symbols) {
  if (expression.kind == Kind::kInteger) return expression.integer;
  if (expression.kind == Kind::kSymbol) {
    const auto found = symbols.find(expression.symbol);
    return found == symbols.end() ? std::nullopt : std::optional(found->second);
  }
  Value result;
  bool first = true;
  for (const auto& operand : expression.operands) {
    const Value value = evaluate(operand, symbols);
    if (!value) return {};
    result = first ? value : combine(expression.kind, *result, *value);
    if (!result) return {};
    first = false;
  }
  return result;
}

std::string to_string(const Expression& expression) {
  switch (expression.kind) {
    case Kind::kInteger:
      return std::to_string(expression.integer);
    case Kind::kSymbol:
      return expression.symbol;
    case Kind::kAdd:
      return joined(expression, " + ", 0);
    case Kind::kMul:
      return joined(expression, "*", 2);
    case Kind::kPow:
      return joined(expression, "**", 3);
    case Kind::kFloorDiv:
      return joined(expression, "//", 2);
    case Kind::kPythonMod:
      return joined(expression, "%", 2);
    case Kind::kMax:
      return call("Max", expression);
    case Kind::kMin:
      return call("Min", expression);
    case Kind::kMod:
      return call("Mod", expression);
    case Kind::kCeilDiv:
      return call("CeilDiv", expression);
    case Kind::kCleanDiv:
      return call("CleanDiv", expression);
  }
  return {};
}

}  // namespace wide::formats
