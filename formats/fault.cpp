#include "formats/fault.h"

#include <algorithm>
#include <cstdio>

namespace wide::formats {
namespace {

constexpr std::size_t kLongestQuote = 120;  // bytes of the original text

bool is_plain(char c) {
  return c >= 0x20 && c < 0x7f;
}

}  // namespace

std::string quote(std::string_view text) {
  std::string result = "'";
  for (const char c : text.substr(0, kLongestQuote)) {
    if (is_plain(c)) {
      result += c;
    } else {
      char escaped[5];
      std::snprintf(escaped, sizeof escaped, "\\x%02x", static_cast<unsigned>(static_cast<unsigned char>(c)));
      result += escaped;
    }
  }
  if (text.size() > kLongestQuote) result += "…";
  return result + "'";
}

std::string display_name(const std::filesystem::path& path) {
  const std::string& text = path.native();
  // Any UTF-8 byte may stand; only C0, DEL and escape sequences made of them could act on a terminal or break
  // the line.
  const bool safe =
      std::none_of(text.begin(), text.end(), [](char c) { return (c >= 0 && c < 0x20) || c == 0x7f; });
  return safe && !text.empty() ? text : quote(text);
}

}  // namespace wide::formats
