#pragma once
// All commands of the program. CMake writes the source from the names of the files X_command.cpp.

#include <span>

#include "app/cli/context.h"

namespace wide::cli {

std::span<const AddCommand> commands();

}  // namespace wide::cli
