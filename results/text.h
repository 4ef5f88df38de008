#pragma once
// Text from files and users made fit to store and to show.

#include <string>
#include <string_view>

namespace wide::results {

/// One decoded character of UTF-8.
struct Character {
  char32_t code = 0xFFFD;  ///< U+FFFD where the bytes are not UTF-8
  std::size_t bytes = 1;   ///< how many were consumed
  bool valid = false;
};

/// Decodes the first character; `text` is not empty. Overlong forms, surrogates and cut sequences are not
/// valid.
Character decode(std::string_view text);

/// `text` with every byte that is not UTF-8 replaced by U+FFFD.
std::string valid_utf8(std::string_view text);

}  // namespace wide::results
