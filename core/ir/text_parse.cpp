#include <ATen/ATen.h>

#include <cctype>
#include <charconv>
#include <limits>
#include <unordered_map>

#include "core/aten/torch_bridge.h"
#include "core/ir/text.h"
#include "core/ir/text_names.h"
#include "formats/error.h"

namespace wide {
namespace {

constexpr std::size_t kMaxDepth = 64;

bool word_char(char c) {
  return std::isalnum(static_cast<unsigned char>(c)) || c == '_' || c == '.' || c == ':';
}

// One line of the text form.
class Line {
 public:
  Line(std::string_view text, int number) : text_(text), number_(number) { skip(); }

  [[noreturn]] void fail(const std::string& why) const {
    throw Error("parse",
                "line " + std::to_string(number_) + ", column " + std::to_string(position_ + 1) + ": " + why);
  }
  bool done() const { return position_ >= text_.size(); }
  char peek() const { return done() ? '\0' : text_[position_]; }
  bool accept(char c) {
    if (peek() != c) return false;
    ++position_;
    skip();
    return true;
  }
  void expect(char c) {
    if (!accept(c)) fail(std::string("expected '") + c + "'");
  }
  std::string word() {
    const auto start = position_;
    while (!done() && word_char(text_[position_])) ++position_;
    if (start == position_) fail("expected a word");
    std::string result(text_.substr(start, position_ - start));
    skip();
    return result;
  }
  bool accept_word(std::string_view wanted) {
    if (text_.substr(position_, wanted.size()) != wanted) return false;
    const auto after = position_ + wanted.size();
    if (after < text_.size() && word_char(text_[after])) return false;
    position_ = after;
    skip();
    return true;
  }
  std::string name() {
    expect('%');
    return word();
  }
  std::string quoted() {
    if (peek() != '"') fail("expected a quoted text");
    std::string result;
    for (++position_; peek() != '"'; ++position_) {
      if (done()) fail("a quoted text does not end");
      if (peek() != '\\') {
        result += peek();
        continue;
      }
      ++position_;
      if (peek() == 'x') {
        unsigned code = 0;
        const auto* first = text_.data() + position_ + 1;
        if (position_ + 2 >= text_.size() || std::from_chars(first, first + 2, code, 16).ptr != first + 2) {
          fail("bad \\x escape");
        }
        result += static_cast<char>(code);
        position_ += 2;
      } else {
        result += peek();
      }
    }
    ++position_;
    skip();
    return result;
  }
  // An integer, or a float when it has a point, an exponent or is inf/nan.
  Argument number() {
    const auto start = position_;
    if (peek() == '-' || peek() == '+') ++position_;
    while (!done() && (word_char(text_[position_]) ||
                       ((peek() == '-' || peek() == '+') && (text_[position_ - 1] == 'e')))) {
      ++position_;
    }
    const auto token = text_.substr(start, position_ - start);
    skip();
    std::int64_t integer = 0;
    const auto* end = token.data() + token.size();
    if (std::from_chars(token.data(), end, integer).ptr == end && !token.empty()) return {integer};
    if (token == "inf") return {std::numeric_limits<double>::infinity()};
    if (token == "-inf") return {-std::numeric_limits<double>::infinity()};
    if (token == "nan") return {std::numeric_limits<double>::quiet_NaN()};
    double real = 0;
    if (!token.empty() && std::from_chars(token.data(), end, real).ptr == end) return {real};
    fail("'" + std::string(token) + "' is not a number");
  }

 private:
  void skip() {
    while (!done() && (text_[position_] == ' ' || text_[position_] == '\t')) ++position_;
  }
  std::string_view text_;
  int number_;
  std::size_t position_ = 0;
};

formats::SymbolicInt parse_size(Line& line, std::size_t depth = 0);

formats::Expression as_expression(formats::SymbolicInt size) {
  if (auto* expression = std::get_if<formats::Expression>(&size)) return std::move(*expression);
  formats::Expression integer;
  integer.integer = std::get<std::int64_t>(size);
  return integer;
}

formats::SymbolicInt parse_size(Line& line, std::size_t depth) {
  if (depth > kMaxDepth) line.fail("expression nested too deeply");
  if (std::isdigit(static_cast<unsigned char>(line.peek())) || line.peek() == '-') {
    const auto number = line.number();
    if (const auto* integer = std::get_if<std::int64_t>(&number.value)) return *integer;
    line.fail("a size must be an integer");
  }
  formats::Expression expression;
  const auto word = line.word();
  if (!line.accept('(')) {
    expression.kind = formats::Expression::Kind::kSymbol;
    expression.symbol = word;
    return expression;
  }
  bool known = false;
  for (const auto& [name, kind] : kExpressionNames) {
    if (name != word) continue;
    expression.kind = kind;
    known = true;
  }
  if (!known) line.fail("unknown function '" + word + "'");
  do {
    expression.operands.push_back(as_expression(parse_size(line, depth + 1)));
  } while (line.accept(','));
  line.expect(')');
  return expression;
}

class Parser {
 public:
  void line(std::string_view text, int number) {
    Line line(text, number);
    if (line.done() || line.peek() == '#') return;
    if (line.accept_word("graph")) {
      graph_.name = line.quoted();
    } else if (line.accept_word("symbol")) {
      auto& range = graph_.ranges[line.word()];
      range.min = bound(line);
      range.max = bound(line);
    } else if (line.accept_word("guard")) {
      graph_.guards.push_back(line.quoted());
    } else if (line.accept_word("output")) {
      output(line, OutputKind::kUser);
    } else if (line.accept_word("writes")) {
      output(line, OutputKind::kBufferMutation);
    } else if (!input(line)) {
      node(line);
    }
    if (!line.done()) line.fail("unexpected text");
  }

  Graph take() { return std::move(graph_); }
  /// The line before opened a body of its node.
  bool opens_body() const { return opens_body_; }
  void add_body(Graph body, bool another) {
    graph_.nodes.back().bodies.push_back(std::make_shared<const Graph>(std::move(body)));
    opens_body_ = another;
  }

 private:
  ValueId define(Line& line, const std::string& name) {
    if (name == "_") return -1;
    const auto id = graph_.add_value(name, true);
    if (!ids_.emplace(name, id).second) line.fail("%" + name + " is defined twice");
    return id;
  }
  static std::optional<std::int64_t> bound(Line& line) {
    if (line.accept_word("none")) return std::nullopt;
    const auto number = line.number();
    if (const auto* integer = std::get_if<std::int64_t>(&number.value)) return *integer;
    line.fail("a bound must be an integer");
  }
  void type(Line& line, ValueId id) {
    if (!line.accept(':')) return;
    if (id < 0) line.fail("an unused result has no type");
    auto& value = graph_.values[static_cast<std::size_t>(id)];
    const auto word = line.word();
    if (word == "scalar") {
      value.tensor = false;
      if (line.peek() == ',' || line.peek() == '=' || line.done()) return;
      const auto name = line.word();
      const auto number = parse_dtype(name);
      if (!number) line.fail("unknown element type '" + name + "'");
      value.type = TensorType{*number, {}};
      return;
    }
    const auto dtype = parse_dtype(word);
    if (!dtype) line.fail("unknown element type '" + word + "'");
    value.type = TensorType{*dtype, {}};
    line.expect('[');
    while (!line.accept(']')) {
      value.type->sizes.push_back(parse_size(line));
      if (line.peek() != ']') line.expect(',');
    }
    value.type->varies = line.accept_word("varies");
  }
  bool input(Line& line) {
    for (std::size_t kind = 0; kind < kInputNames.size(); ++kind) {
      if (!line.accept_word(kInputNames[kind])) continue;
      GraphInput input;
      input.kind = static_cast<InputKind>(kind);
      input.value = define(line, line.name());
      input.target = line.quoted();
      input.persistent = !line.accept_word("transient");
      type(line, input.value);
      graph_.inputs.push_back(std::move(input));
      return true;
    }
    return false;
  }
  void output(Line& line, OutputKind kind) {
    GraphOutput output;
    output.kind = kind;
    output.value = argument(line, 0);
    if (line.peek() == '"') output.target = line.quoted();
    graph_.outputs.push_back(std::move(output));
  }
  void node(Line& line) {
    Node node;
    if (line.peek() == '%') {
      do {
        const auto id = define(line, line.name());
        type(line, id);
        node.results.push_back(id);
      } while (line.accept(','));
      line.expect('=');
    }
    node.op = line.word();
    line.expect('(');
    while (!line.accept(')')) {
      node.arguments.push_back(argument(line, 0));
      if (line.peek() != ')') line.expect(',');
    }
    if (line.accept_word("at")) node.module_path = line.quoted();
    opens_body_ = line.accept('{');
    graph_.nodes.push_back(std::move(node));
  }
  Argument argument(Line& line, std::size_t depth) {
    if (depth > kMaxDepth) line.fail("lists nested too deeply");
    if (line.peek() == '%') {
      const auto name = line.name();
      const auto found = ids_.find(name);
      if (found == ids_.end()) line.fail("%" + name + " is not defined before its use");
      return {ValueRef{found->second}};
    }
    if (line.peek() == '"') return {line.quoted()};
    if (line.accept('[')) {
      Argument::List items;
      while (!line.accept(']')) {
        items.push_back(argument(line, depth + 1));
        if (line.peek() != ']') line.expect(',');
      }
      return {std::move(items)};
    }
    if (line.accept_word("none")) return {};
    if (line.accept_word("true")) return {true};
    if (line.accept_word("false")) return {false};
    if (line.accept_word("complex")) return complex(line);
    return symbol(line);
  }
  static Argument complex(Line& line) {
    line.expect('(');
    const auto real = line.number();
    line.expect(',');
    const auto imaginary = line.number();
    line.expect(')');
    const auto* a = std::get_if<double>(&real.value);
    const auto* b = std::get_if<double>(&imaginary.value);
    if (!a || !b) line.fail("a complex number has two floats");
    return {std::complex<double>(*a, *b)};
  }
  static Argument symbol(Line& line) {
    if (line.peek() == 'd' || line.peek() == 'm' || line.peek() == 'l') {
      const auto word = line.word();
      if (word.starts_with("dtype.")) {
        if (const auto dtype = parse_dtype(std::string_view(word).substr(6))) return {*dtype};
      }
      if (word == "layout.strided") return {at::Layout::Strided};
      for (const auto& [name, format] : kMemoryFormatNames) {
        if (word == "memory_format." + std::string(name)) return {format};
      }
      if (word == "device.cpu") return {at::Device(at::kCPU)};
      line.fail("unknown word '" + word + "'");
    }
    return line.number();
  }

  Graph graph_;
  std::unordered_map<std::string, ValueId> ids_;
  bool opens_body_ = false;
};

}  // namespace

Graph parse_graph(std::string_view text) {
  std::vector<Parser> parsers(1);  // the graph, and the bodies around the current line
  int number = 0;
  while (!text.empty()) {
    const auto end = text.find('\n');
    Line line(text.substr(0, end), ++number);
    if (line.accept('}')) {
      if (parsers.size() == 1) line.fail("closes a body that nothing opened");
      auto body = parsers.back().take();
      parsers.pop_back();
      parsers.back().add_body(std::move(body), line.accept('{'));
      if (!line.done()) line.fail("unexpected text");
    } else {
      parsers.back().line(text.substr(0, end), number);
    }
    if (parsers.back().opens_body()) {
      if (parsers.size() > kMaxDepth) line.fail("bodies nested too deeply");
      parsers.emplace_back();
    }
    text = end == std::string_view::npos ? std::string_view() : text.substr(end + 1);
  }
  if (parsers.size() > 1) throw Error("parse", "line " + std::to_string(number) + ": a body is not closed");
  return parsers.front().take();
}

}  // namespace wide
