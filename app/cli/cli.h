#pragma once
// The command line as a function: arguments in, exit code out.

#include <span>
#include <string>
#include <vector>

#include "app/cli/context.h"

namespace wide::cli {

/// Parses `arguments` (without the program's name), runs the command and turns what was thrown into an exit
/// code and one line: wide::Error 2, app::CannotMeasure 3, any other exception 70. The root command (a sweep
/// by --preset) is always there; `commands` adds the rest.
int run(std::vector<std::string> arguments, Context& context, std::span<const AddCommand> commands);

/// The same from main's arguments, printing to the process's own streams. `bench`: see Context.
int run_main(int argc, char** argv, app::Engine engine, std::span<const AddCommand> commands,
             std::function<std::shared_ptr<gui::Bench>(const std::string& device)> bench = {});

}  // namespace wide::cli
