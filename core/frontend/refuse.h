#pragma once

#include <string>

#include "formats/error.h"
#include "formats/exported_program.h"

namespace wide {

/// Throws wide::Error ("capture") that names the node of the file.
[[noreturn]] inline void refuse(const formats::ProgramNode& node, const std::string& why) {
  throw Error("capture", "node '" + node.name + "' " + node.target + ": " + why);
}

}  // namespace wide
