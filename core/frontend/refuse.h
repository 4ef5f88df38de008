#pragma once

#include <string>
#include <string_view>

#include "formats/error.h"
#include "formats/exported_program.h"

namespace wide {

/// Stands before the operators of ATen in a file: "torch.ops.aten.relu.default".
inline constexpr std::string_view kOpsPrefix = "torch.ops.";

/// Throws wide::Error ("capture") that names the node of the file.
[[noreturn]] inline void refuse(const formats::ProgramNode& node, const std::string& why) {
  throw Error("capture", "node '" + node.name + "' " + node.target + ": " + why);
}

}  // namespace wide
