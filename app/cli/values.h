#pragma once
// Values on the command line that look right to the parser, but are not.

#include <unistd.h>

#include <CLI/CLI.hpp>
#include <charconv>
#include <filesystem>
#include <string>
#include <system_error>
#include <type_traits>

namespace wide::cli {

/// Why the text is no number to take at its word; empty: it is one. `nan` lies in every range of comparisons,
/// and the parser reads 010 as eight.
inline std::string fault_of_number(const std::string& text) {
  const auto digits = text.find_first_not_of("+-");
  const auto word = CLI::detail::to_lower(digits == std::string::npos ? text : text.substr(digits));
  if (word.starts_with("nan") || word.starts_with("inf")) return text + " is not a finite number";
  const bool leading_zero = word.size() > 1 && word[0] == '0' && word[1] != '.' && word[1] != 'e';
  if (leading_zero) return text + ": write the number in decimal, without a leading 0";
  return "";
}

/// A finite number from `low` to `high`, both included, in decimal.
template <typename Number>
CLI::Validator between(Number low, Number high) {
  const CLI::Validator range = CLI::Range(low, high);
  return {[range](std::string& text) {
            if (const auto fault = fault_of_number(text); !fault.empty()) return fault;
            if constexpr (std::is_integral_v<Number>) {  // the parser takes the nearest there is
              Number number{};
              const auto end = std::from_chars(text.data(), text.data() + text.size(), number);
              if (end.ec == std::errc::result_out_of_range) return text + " is too large a number";
              const bool whole = end.ec == std::errc() && end.ptr == text.data() + text.size();
              if (!whole && !text.starts_with('+')) return text + " is not a whole number";
            }
            return range(text);
          },
          range.get_description()};
}

/// A file that can be started.
inline CLI::Validator program() {
  return {
      [](std::string& file) {
        if (auto fault = CLI::ExistingFile(file); !fault.empty()) return fault;
        std::error_code none;
        const bool starts = std::filesystem::is_regular_file(file, none) && ::access(file.c_str(), X_OK) == 0;
        return starts ? std::string() : file + " cannot be executed; make it so (chmod +x), or name another";
      },
      ""};
}

/// A finite number in decimal.
inline CLI::Validator decimal() {
  return {[](std::string& text) { return fault_of_number(text); }, ""};
}

}  // namespace wide::cli
