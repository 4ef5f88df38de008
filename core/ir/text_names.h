#pragma once
// Words that the printer and the parser of the text form share.

#include <c10/core/MemoryFormat.h>

#include <array>
#include <string>
#include <string_view>
#include <utility>

#include "formats/exported_program.h"

namespace wide {

/// Indexed by InputKind.
inline constexpr std::array<std::string_view, 4> kInputNames = {"input", "parameter", "buffer", "constant"};

inline constexpr std::array<std::pair<std::string_view, c10::MemoryFormat>, 4> kMemoryFormatNames = {{
    {"contiguous", c10::MemoryFormat::Contiguous},
    {"channels_last", c10::MemoryFormat::ChannelsLast},
    {"channels_last_3d", c10::MemoryFormat::ChannelsLast3d},
    {"preserve", c10::MemoryFormat::Preserve},
}};

inline constexpr std::array<std::pair<std::string_view, formats::Expression::Kind>, 10> kExpressionNames = {{
    {"add", formats::Expression::Kind::kAdd},
    {"mul", formats::Expression::Kind::kMul},
    {"pow", formats::Expression::Kind::kPow},
    {"max", formats::Expression::Kind::kMax},
    {"min", formats::Expression::Kind::kMin},
    {"floordiv", formats::Expression::Kind::kFloorDiv},
    {"mod", formats::Expression::Kind::kMod},
    {"pythonmod", formats::Expression::Kind::kPythonMod},
    {"ceildiv", formats::Expression::Kind::kCeilDiv},
    {"cleandiv", formats::Expression::Kind::kCleanDiv},
}};

/// "add(s77, 1)": function-call form, which parse_graph reads back.
std::string print_expression(const formats::Expression& expression);

}  // namespace wide
