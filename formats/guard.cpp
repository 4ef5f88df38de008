#include "formats/guard.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <limits>
#include <optional>
#include <variant>
#include <vector>

#include "formats/fault.h"
#include "formats/int128.h"

namespace wide::formats {
namespace {

constexpr std::size_t kLongestGuard = 16384;  // bytes
constexpr int kDeepestGuard = 64;
constexpr int128 kMost = int128{1} << 100;

/// A number of Python; nothing where it has none, which every operation hands on.
using Number = std::optional<std::variant<int128, double>>;

Number integer(int128 value) {
  if (value > kMost || value < -kMost) return {};
  return value;
}
Number boolean(bool value) {
  return int128{value};
}
bool is_float(const Number& number) {
  return std::holds_alternative<double>(*number);
}
double as_double(const Number& number) {
  return is_float(number) ? std::get<double>(*number) : static_cast<double>(std::get<int128>(*number));
}
bool truth(const Number& number) {
  return is_float(number) ? std::get<double>(*number) != 0 : std::get<int128>(*number) != 0;
}

/// Of a float, as Python's int(), math.floor() and math.ceil() give it.
Number whole(double value) {
  if (!(std::abs(value) < static_cast<double>(kMost))) return {};
  return static_cast<int128>(value);
}

Number arithmetic(std::string_view sign, const Number& a, const Number& b) {
  if (!a || !b) return {};
  const bool divides = sign == "/" || sign == "//" || sign == "%";
  if (divides && as_double(b) == 0) return {};
  if (is_float(a) || is_float(b) || sign == "/") {
    const double x = as_double(a), y = as_double(b);
    if (sign == "+") return x + y;
    if (sign == "-") return x - y;
    if (sign == "*") return x * y;
    if (sign == "/") return x / y;
    if (sign == "//") return std::floor(x / y);
    if (sign == "%") return x - std::floor(x / y) * y;
    return std::pow(x, y);
  }
  const int128 x = std::get<int128>(*a), y = std::get<int128>(*b);
  if (sign == "+") return integer(x + y);
  if (sign == "-") return integer(x - y);
  if (sign == "//") return integer(floor_div(x, y));
  if (sign == "%") return integer(x - floor_div(x, y) * y);
  // Beyond 100 bits as a float is far beyond any size.
  if (sign == "*") return std::abs(as_double(a) * as_double(b)) < 1e30 ? integer(x * y) : Number();
  if (y < 0) return std::pow(as_double(a), as_double(b));
  return std::abs(std::pow(as_double(a), as_double(b))) < 1e15 ? whole(std::pow(as_double(a), as_double(b)))
                                                               : Number();
}

bool compare(std::string_view sign, const Number& a, const Number& b) {
  const auto decide = [&](const auto x, const auto y) {
    if (sign == "==") return x == y;
    if (sign == "!=") return x != y;
    if (sign == "<") return x < y;
    if (sign == "<=") return x <= y;
    if (sign == ">") return x > y;
    return x >= y;
  };
  if (is_float(a) || is_float(b)) return decide(as_double(a), as_double(b));
  return decide(std::get<int128>(*a), std::get<int128>(*b));
}

struct Callable {
  std::string_view name;
  std::size_t least, most;
  Number (*call)(const std::vector<Number>& operands);
};
template <auto round>
Number rounded(const std::vector<Number>& operands) {
  return is_float(operands[0]) ? whole(round(std::get<double>(*operands[0]))) : operands[0];
}
template <int sign>
Number outermost(const std::vector<Number>& operands) {
  Number result = operands[0];
  for (const auto& operand : operands)
    if (compare(sign > 0 ? ">" : "<", operand, result)) result = operand;
  return result;
}
Number as_float(const std::vector<Number>& operands) {
  return as_double(operands[0]);
}
Number root(const std::vector<Number>& operands) {
  return as_double(operands[0]) < 0 ? Number() : std::sqrt(as_double(operands[0]));
}
Number size_of(const std::vector<Number>& operands) {
  return compare("<", operands[0], int128{0}) ? arithmetic("-", int128{0}, operands[0]) : operands[0];
}
constexpr double (*kFloor)(double) = std::floor;
constexpr double (*kCeil)(double) = std::ceil;
constexpr double (*kTrunc)(double) = std::trunc;
constexpr double (*kRound)(double) = std::nearbyint;  // halves to even, as Python's round()
const std::array kCallables = {
    Callable{"max", 1, 64, outermost<1>},
    Callable{"min", 1, 64, outermost<-1>},
    Callable{"torch.sym_max", 1, 64, outermost<1>},
    Callable{"torch.sym_min", 1, 64, outermost<-1>},
    Callable{"torch.sym_float", 1, 1, as_float},
    Callable{"float", 1, 1, as_float},
    Callable{"int", 1, 1, rounded<kTrunc>},
    Callable{"math.floor", 1, 1, rounded<kFloor>},
    Callable{"math.ceil", 1, 1, rounded<kCeil>},
    Callable{"math.trunc", 1, 1, rounded<kTrunc>},
    Callable{"round", 1, 1, rounded<kRound>},
    Callable{"math.sqrt", 1, 1, root},
    Callable{"abs", 1, 1, size_of},
};

bool digit(char c) {
  return c >= '0' && c <= '9';
}
bool begins_name(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';
}

/// A parser by recursive descent, a function for each level of Python's precedence; it computes as it reads.
class Reader {
 public:
  Reader(std::string_view text, const std::map<std::string, std::int64_t>& symbols)
      : text_(text), symbols_(symbols) {}

  Number all() {
    if (text_.size() > kLongestGuard) fail("is longer than " + std::to_string(kLongestGuard) + " bytes");
    const auto result = either();
    skip_space();
    if (at_ != text_.size()) fail("goes on after its end");
    return result;
  }

 private:
  [[noreturn]] void fail(const std::string& why) const {
    throw Fault("condition " + quote(text_) + " " + why + " (byte " + std::to_string(at_) + ")");
  }
  void skip_space() {
    while (at_ < text_.size() && (text_[at_] == ' ' || text_[at_] == '\n')) ++at_;
  }
  bool accept(std::string_view sign) {
    skip_space();
    if (!text_.substr(at_).starts_with(sign)) return false;
    at_ += sign.size();
    return true;
  }
  void expect(std::string_view sign) {
    if (!accept(sign)) fail("lacks " + quote(sign));
  }
  bool accept_word(std::string_view word) {
    const std::size_t begin = at_;
    if (!accept(word)) return false;
    if (at_ == text_.size() || (!begins_name(text_[at_]) && !digit(text_[at_]))) return true;
    at_ = begin;
    return false;
  }
  // The longest sign of `signs`, which are sorted so that the longer ones stand first.
  template <std::size_t count>
  std::string_view sign_of(const std::array<std::string_view, count>& signs) {
    for (const auto sign : signs)
      if (accept(sign)) return sign;
    return {};
  }

  Number either() {
    auto result = both();
    while (accept_word("or")) {
      const auto other = both();
      if (result && !truth(result)) result = other;  // Python does not look at the second of `True or 1 / 0`
    }
    return result;
  }
  Number both() {
    auto result = inverted();
    while (accept_word("and")) {
      const auto other = inverted();
      if (result && truth(result)) result = other;
    }
    return result;
  }
  Number inverted() {
    const Level level(*this);
    if (accept_word("not")) {
      const auto operand = inverted();
      return operand ? boolean(!truth(operand)) : operand;
    }
    return compared();
  }
  Number compared() {
    static constexpr std::array<std::string_view, 6> kSigns = {"==", "!=", "<=", ">=", "<", ">"};
    auto left = sum();
    auto sign = sign_of(kSigns);
    if (sign.empty()) return left;
    Number result = boolean(true);
    for (; !sign.empty(); sign = sign_of(kSigns)) {
      const auto right = sum();
      if (!left || !right) result = {};
      if (result && truth(result)) result = boolean(compare(sign, left, right));
      left = right;
    }
    return result;
  }
  Number sum() {
    static constexpr std::array<std::string_view, 2> kSigns = {"+", "-"};
    auto result = product();
    for (auto sign = sign_of(kSigns); !sign.empty(); sign = sign_of(kSigns))
      result = arithmetic(sign, result, product());
    return result;
  }
  Number product() {
    static constexpr std::array<std::string_view, 4> kSigns = {"//", "/", "%", "*"};
    auto result = negated();
    for (auto sign = sign_of(kSigns); !sign.empty(); sign = sign_of(kSigns))
      result = arithmetic(sign, result, negated());
    return result;
  }
  Number negated() {
    const Level level(*this);
    if (accept("-")) return arithmetic("-", int128{0}, negated());
    auto base = atom();
    return accept("**") ? arithmetic("**", base, negated()) : base;
  }

  Number atom() {
    if (accept("(")) {
      const auto result = either();
      expect(")");
      return result;
    }
    skip_space();
    if (at_ == text_.size()) fail("ends too soon");
    if (digit(text_[at_])) return literal();
    const auto name = dotted_name();
    if (name == "True") return boolean(true);
    if (name == "False") return boolean(false);
    if (name == "math.inf") return std::numeric_limits<double>::infinity();
    if (accept("(")) return called(name);
    const auto found = symbols_.find(std::string(name));
    if (found == symbols_.end()) fail("names " + quote(name) + ", which is not known");
    return int128{found->second};
  }
  std::string_view dotted_name() {
    const std::size_t begin = at_;
    while (at_ < text_.size() &&
           (begins_name(text_[at_]) || (at_ > begin && (digit(text_[at_]) || text_[at_] == '.'))))
      ++at_;
    if (at_ == begin) fail("has a character that is not understood");
    return text_.substr(begin, at_ - begin);
  }
  Number literal() {
    const std::size_t begin = at_;
    while (at_ < text_.size() && digit(text_[at_])) ++at_;
    const bool fraction = at_ < text_.size() && (text_[at_] == '.' || text_[at_] == 'e');
    if (!fraction) {
      std::int64_t value = 0;
      if (std::from_chars(text_.data() + begin, text_.data() + at_, value).ec != std::errc())
        fail("has an integer that 64 bits do not hold");
      return int128{value};
    }
    double value = 0;
    const auto [rest, error] = std::from_chars(text_.data() + begin, text_.data() + text_.size(), value);
    if (error != std::errc()) fail("has a number that is not understood");
    at_ = static_cast<std::size_t>(rest - text_.data());
    return value;
  }
  Number called(std::string_view name) {
    const auto function = std::ranges::find(kCallables, name, &Callable::name);
    if (function == kCallables.end()) fail("calls " + quote(name) + ", which is not supported");
    std::vector<Number> operands;
    do {
      operands.push_back(either());
    } while (accept(","));
    expect(")");
    if (operands.size() < function->least || operands.size() > function->most)
      fail("gives " + quote(name) + " a wrong number of operands");
    const bool known = std::ranges::all_of(operands, [](const auto& one) { return one.has_value(); });
    return known ? function->call(operands) : Number();
  }

  /// Counts the levels of recursion.
  struct Level {
    explicit Level(Reader& of) : reader(of) {
      if (++reader.depth_ > 2 * kDeepestGuard) reader.fail("is nested too deeply");
    }
    ~Level() { --reader.depth_; }
    Level(const Level&) = delete;
    Level& operator=(const Level&) = delete;
    Reader& reader;
  };

  std::string_view text_;
  const std::map<std::string, std::int64_t>& symbols_;
  std::size_t at_ = 0;
  int depth_ = 0;
};

}  // namespace

bool guard_holds(std::string_view guard, const std::map<std::string, std::int64_t>& symbols) {
  const auto result = Reader(guard, symbols).all();
  return result && truth(result);
}

}  // namespace wide::formats
