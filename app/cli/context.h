#pragma once
// What every command gets: the engine, where to print, and the options that all commands share.

#include <CLI/CLI.hpp>
#include <functional>
#include <memory>
#include <nlohmann/json_fwd.hpp>
#include <ostream>
#include <string>
#include <vector>

#include "app/engine.h"

namespace wide::gui {
class Bench;
}

namespace wide::cli {

enum class LogLevel { kError, kWarn, kInfo, kDebug };

struct Context {
  app::Engine engine;
  std::ostream& out;
  std::ostream& err;
  bool terminal = false;  ///< standard error is one: progress is a bar there
  bool color = false;

  bool json = false;  ///< machine readable on `out`, human text on `err`
  bool quiet = false;
  LogLevel log_level = LogLevel::kWarn;
  std::string command_line;  ///< as given, quoted where needed

  /// Makes what answers the window's questions about models. Empty: this build has no window.
  std::function<std::shared_ptr<gui::Bench>(const std::string& device)> bench = {};

  /// Set by the command that was named, run once all arguments are known to be good. Returns the exit code.
  std::function<int()> action;

  /// Where text for people goes; nowhere with --quiet.
  std::ostream& human() const;
  /// Writes `document` to `out`; bytes that are no UTF-8 are replaced.
  void print(const nlohmann::json& document) const;
  /// One line on `err`, when the level is asked for.
  void log(LogLevel level, const std::string& message) const;
};

/// Adds one command to the program. Every file X_command.cpp in this folder defines add_X_command.
using AddCommand = void (*)(CLI::App&, Context&);

/// The group, in help, of the options that all commands share.
inline constexpr const char* kOutputGroup = "Output";

/// --json, --quiet, --no-color and --log-level. Every command calls it; the root leaves --json out.
void add_common_options(CLI::App& command, Context& context, bool json_flag = true);

/// Sets what the command does when it was named.
void set_action(CLI::App& command, Context& context, std::function<int()> action);

/// "Examples:" and one line each, below a command's help.
std::string examples(const std::vector<std::string>& lines);

}  // namespace wide::cli
