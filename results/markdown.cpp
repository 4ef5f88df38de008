#include "results/markdown.h"

#include "results/table.h"

namespace wide::results {

std::string escaped_markdown(std::string_view text, std::size_t limit) {
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
      case '@':  // no mention of somebody
        result += "@&#8203;";
        break;
      case '\\':
      case '`':
      case '*':
      case '_':
      case '{':
      case '}':
      case '[':
      case ']':
      case '(':
      case ')':
      case '#':
      case '|':
      case '!':
      case '~':
      case '$':
        result += '\\';
        [[fallthrough]];
      default:
        result += c;
    }
  }
  return result;
}

}  // namespace wide::results
