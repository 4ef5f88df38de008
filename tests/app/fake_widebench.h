#pragma once
// The commands that need no libtorch, and a worker that only pretends to measure.

#include <span>

#include "app/cli/context.h"

namespace wide::test {

std::span<const cli::AddCommand> fake_commands();

}  // namespace wide::test
