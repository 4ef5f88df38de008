#include "results/escape.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>

#include "results/json_fields.h"
#include "results/table.h"

namespace wide::results {

std::string escaped_markup(std::string_view text, std::size_t limit) {
  std::string result;
  for (const char c : printable(text, limit)) {
    switch (c) {
      case '&':
        result += "&amp;";
        break;
      case '<':
        result += "&lt;";
        break;
      case '>':
        result += "&gt;";
        break;
      case '"':
        result += "&quot;";
        break;
      case '\'':
        result += "&#39;";
        break;
      default:
        result += c;
    }
  }
  return result;
}

std::string csv_field(std::string_view text, std::size_t limit) {
  std::string clean = printable(text, limit);
  if (!clean.empty() && std::string_view("=+-@").find(clean.front()) != std::string_view::npos)
    clean.insert(clean.begin(), '\'');
  if (clean.find_first_of(",\"; ") == std::string::npos) return clean;
  std::string quoted = "\"";
  for (const char c : clean) quoted += c == '"' ? std::string("\"\"") : std::string(1, c);
  return quoted + "\"";
}

std::string script_json(const nlohmann::json& document) {
  std::string result;
  const std::string text =
      document.dump(-1, ' ', true, nlohmann::json::error_handler_t::replace);  // ASCII only
  for (const char c : text) {
    if (c == '<' || c == '>' || c == '&') {
      constexpr std::string_view kHex = "0123456789abcdef";
      result += "\\u00";
      result += kHex[static_cast<unsigned char>(c) >> 4];
      result += kHex[static_cast<unsigned char>(c) & 15];
    } else {
      result += c;
    }
  }
  return result;
}

std::string shortest(double value) {
  if (!std::isfinite(value)) return "";
  std::array<char, 64> text{};
  const auto end = std::to_chars(text.data(), text.data() + text.size(), value);
  return {text.data(), end.ptr};
}

std::string fixed(double value, int decimals) {
  if (!std::isfinite(value)) return "-";
  std::array<char, 400> text{};
  const auto end =
      std::to_chars(text.data(), text.data() + text.size(), value, std::chars_format::fixed, decimals);
  return {text.data(), end.ptr};
}

std::string shell_word(const std::string& text) {
  const auto plain = [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
           std::string_view("-_./=,:+@%").find(c) != std::string_view::npos;
  };
  if (!text.empty() && std::all_of(text.begin(), text.end(), plain)) return text;
  std::string quoted = "'";
  for (const char c : text) c == '\'' ? quoted.append("'\\''") : quoted.append(1, c);
  return quoted.append("'");
}

}  // namespace wide::results
