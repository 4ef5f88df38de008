#pragma once
// The program without a command: a headless sweep by --preset.

#include "app/cli/context.h"

namespace wide::cli {

/// Adds the options of the root command and what it does when no other command is named.
void add_sweep_options(CLI::App& app, Context& context);

}  // namespace wide::cli
