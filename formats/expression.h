#pragma once
// Symbolic sizes: a parser for the few forms of sympy's srepr that torch.export writes, and their value.

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>

#include "formats/exported_program.h"

namespace wide::formats {

/// Parses e.g. "Mul(Integer(2), Symbol('s77', positive=True, integer=True))". At most 4 KiB and 64 levels;
/// functions outside of Expression::Kind are refused by name. Throws wide::Error ("load").
Expression parse_expression(std::string_view srepr);

/// The value where every symbol has one; nothing when a symbol is missing, a division is by zero or inexact
/// where it must be exact, an exponent is negative, or 64 bits do not hold a value on the way.
std::optional<std::int64_t> evaluate(const Expression& expression,
                                     const std::map<std::string, std::int64_t>& symbols);

/// As people write it: "2*s77 + 1", "(s0 + 1)//2", "Max(1, s0)".
std::string to_string(const Expression& expression);

}  // namespace wide::formats
