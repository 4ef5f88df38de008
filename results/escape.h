#pragma once
// Text from files and users made fit for HTML, XML, CSV and a script block.

#include <nlohmann/json_fwd.hpp>
#include <string>
#include <string_view>

namespace wide::results {

/// For element content and quoted attributes of HTML and XML 1.0: controls and bidirectional controls are
/// taken out, `& < > " '` become entities, more than `limit` characters are cut.
std::string escaped_markup(std::string_view text, std::size_t limit = 300);

/// One CSV field, quoted where needed (RFC 4180). What a spreadsheet would take for a formula gets a ' in
/// front.
std::string csv_field(std::string_view text, std::size_t limit = 10'000);

/// JSON that may stand between <script> and </script>.
std::string script_json(const nlohmann::json& document);

/// As a shell reads it back: in quotes where needed.
std::string shell_word(const std::string& text);

/// `value` in the shortest form that reads back as the same double, whatever the locale; empty when not
/// finite.
std::string shortest(double value);
/// `value` with `decimals` digits after the point.
std::string fixed(double value, int decimals);

}  // namespace wide::results
