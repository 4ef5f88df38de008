// Command lines back to forms, and lists of numbers of members.
#include <algorithm>
#include <charconv>
#include <filesystem>

#include "gui/views/sweep_form.h"
#include "presets/case_fields.h"

namespace wide::gui {
namespace {

constexpr std::size_t kMostCounts = 64;

// As a shell splits a line: blanks, '…', "…" and \; no variables.
std::optional<std::vector<std::string>> split(std::string_view line) {
  std::vector<std::string> words;
  std::string word;
  bool open = false;
  char quote = 0;
  for (std::size_t i = 0; i < line.size(); ++i) {
    const char c = line[i];
    if (quote != 0) {
      if (c == quote) {
        quote = 0;
      } else if (quote == '"' && c == '\\' && i + 1 < line.size()) {
        word.push_back(line[++i]);
      } else {
        word.push_back(c);
      }
    } else if (c == '\'' || c == '"') {
      quote = c, open = true;
    } else if (c == '\\' && i + 1 < line.size()) {
      if (line[++i] != '\n') word.push_back(line[i]), open = true;
    } else if (c == ' ' || c == '\t' || c == '\n' || c == '\r') {
      if (open || !word.empty()) words.push_back(word);
      word.clear(), open = false;
    } else {
      word.push_back(c);
    }
  }
  if (quote != 0) return std::nullopt;
  if (open || !word.empty()) words.push_back(word);
  return words;
}

std::vector<std::string> at_commas(std::string_view text) {
  std::vector<std::string> parts;
  while (!text.empty()) {
    const auto end = std::min(text.find(','), text.size());
    if (end > 0) parts.emplace_back(text.substr(0, end));
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return parts;
}

template <typename Number>
std::optional<Number> number(std::string_view text) {
  Number value{};
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return value;
}

class Parser {
 public:
  Parser(std::vector<std::string> words, ParsedForm& result) : words_(std::move(words)), result_(result) {}

  void parse() {
    if (!words_.empty() && !words_[0].starts_with("-") && words_[0] != "benchmark") ++at_;  // the program
    bool benchmark = false;
    if (at_ < words_.size() && words_[at_] == "benchmark") benchmark = true, ++at_;
    while (at_ < words_.size() && result_.fault.empty()) {
      const auto word = words_[at_++];
      if (word.starts_with("-") && word.size() > 1) {
        option(word);
      } else if (benchmark) {
        if (word != "all") result_.form.subjects.push_back(word);
      } else {
        result_.fault = "\"" + word + "\" is no command that measures; begin with: widebench benchmark";
      }
    }
    if (result_.fault.empty() && !benchmark && !saw_preset_)
      result_.fault = "no command that measures; begin with: widebench benchmark";
  }

 private:
  void option(const std::string& word) {
    const auto equals = word.find('=');
    name_ = word.substr(0, equals);
    inline_.reset();
    if (equals != std::string::npos) inline_ = word.substr(equals + 1);
    auto& form = result_.form;
    if (name_ == "-p" || name_ == "--preset") {
      form.preset = value(), saw_preset_ = true;
    } else if (name_ == "-n") {
      if (const auto list = parse_counts(value())) {
        form.n = *list;
      } else {
        bad_value();
      }
    } else if (name_ == "-c" || name_ == "--compile") {
      form.modes = at_commas(inline_.value_or("default"));
    } else if (name_ == "-s" || name_ == "--strategy") {
      many(form.strategies, true);
    } else if (name_ == "--model") {
      form.model = value();
    } else if (name_ == "--weights") {
      many(form.weights, false);
    } else if (name_ == "--device") {
      many(form.devices, true);
      std::erase(form.devices, "auto");
    } else if (name_ == "--dtype") {
      many(form.dtypes, true);
    } else if (name_ == "--rivals") {
      many(form.rivals, true);
    } else if (name_ == "--threads") {
      one(form.threads);
    } else if (name_ == "--timeout") {
      one(form.timeout);
    } else if (name_ == "--seed") {
      one(form.seed);
    } else if (name_ == "--label") {
      form.label = value();
    } else if (name_ == "--db") {
      form.database = value();
    } else if (name_ == "--baseline") {
      form.gate.baseline = value();
    } else if (name_ == "--min-effect") {
      one(form.gate.effect_percent);
    } else if (name_ == "--min-us") {
      one(form.gate.minimum_us);
    } else if (name_ == "--gate-repeats") {
      one(form.gate.repeats);
    } else if (name_ == "--fail-inconclusive") {
      form.gate.fail_inconclusive = true;
    } else if (name_ == "--across-machines") {
      form.gate.across_machines = true;
    } else if (name_ == "--peers") {
      form.peers = true;
    } else if (name_ == "--resume") {
      form.resume = true;
    } else {
      result_.fault = "the form has no " + name_ + "; leave it out, or run the line in a terminal";
    }
  }

  std::string value() {
    if (inline_) return *inline_;
    if (at_ < words_.size()) return words_[at_++];
    result_.fault = name_ + " wants a value";
    return "";
  }

  // Values up to the next option.
  void many(std::vector<std::string>& list, bool commas) {
    const auto add = [&](const std::string& word) {
      if (!commas) return list.push_back(word);
      for (auto& part : at_commas(word)) list.push_back(std::move(part));
    };
    add(value());
    while (!inline_ && at_ < words_.size() && !words_[at_].starts_with("-")) add(words_[at_++]);
  }

  template <typename Number>
  void one(std::optional<Number>& into) {
    into = number<Number>(value());
    if (!into) bad_value();
  }

  template <typename Number>
  void one(Number& into) {
    const auto given = number<Number>(value());
    if (!given) bad_value();
    into = given.value_or(into);
  }

  void bad_value() {
    if (result_.fault.empty()) result_.fault = "the value of " + name_ + " is no number that it takes";
  }

  std::vector<std::string> words_;
  ParsedForm& result_;
  std::size_t at_ = 0;
  std::string name_;
  std::optional<std::string> inline_;
  bool saw_preset_ = false;
};

}  // namespace

ParsedForm parse_command(std::string_view line) {
  ParsedForm result;
  auto words = split(line);
  if (!words) {
    result.fault = "a quotation mark is not closed";
  } else if (words->empty()) {
    result.fault = "the line is empty";
  } else {
    Parser(std::move(*words), result).parse();
  }
  return result;
}

std::optional<std::vector<std::int64_t>> parse_counts(std::string_view text) {
  std::vector<std::int64_t> counts;
  std::string separated(text);
  std::replace(separated.begin(), separated.end(), ' ', ',');
  const auto add = [&](std::int64_t n) {
    if (n < 1 || n > presets::kMostMembers || counts.size() >= kMostCounts) return false;
    if (std::find(counts.begin(), counts.end(), n) == counts.end()) counts.push_back(n);
    return true;
  };
  for (const auto& part : at_commas(separated)) {
    const auto dots = part.find("..");
    const auto from = number<std::int64_t>(std::string_view(part).substr(0, dots));
    if (!from || !add(*from)) return std::nullopt;
    if (dots == std::string::npos) continue;
    const auto to = number<std::int64_t>(std::string_view(part).substr(dots + 2));
    if (!to || *to < *from) return std::nullopt;
    for (auto n = *from * 2; n <= *to; n *= 2) {
      if (!add(n)) return std::nullopt;
    }
  }
  return counts;
}

std::string counts_text(const std::vector<std::int64_t>& counts) {
  std::string text;
  for (const auto n : counts) text.append(text.empty() ? "" : ",").append(std::to_string(n));
  return text;
}

}  // namespace wide::gui
