#pragma once
// What may be said of the window on the command line, by the root command and by `gui`.

#include <string>
#include <vector>

#include "app/cli/context.h"

namespace wide::cli {

struct WindowRequest {
  std::vector<std::string> what;  ///< files, or one built-in subject
  std::string screenshot, panel, theme, database;
  std::string size;  ///< "1280x800"
  int percent = 0;   ///< scale of the text; 0: as it was
  bool demo = false;
  std::string device = "auto";  ///< that models run on
};

inline constexpr const char* kWindowGroup = "Window";

/// --screenshot, --window-size, --open, --demo, --theme and --scale.
void add_window_options(CLI::App& command, WindowRequest& request);

/// Opens the window and returns the exit code when it is closed. Where there is no window in this build, or
/// no display, it says so, and how to run headless: code 2. Throws wide::Error ("usage").
int open_window(Context& context, const WindowRequest& request);

}  // namespace wide::cli
