#include "app/cli/context.h"

#include <map>
#include <nlohmann/json.hpp>
#include <sstream>
#include <utility>

#include "results/table.h"

namespace wide::cli {
namespace {

const std::map<std::string, LogLevel> kLevels = {{"error", LogLevel::kError},
                                                 {"warn", LogLevel::kWarn},
                                                 {"info", LogLevel::kInfo},
                                                 {"debug", LogLevel::kDebug}};

}  // namespace

std::ostream& Context::human() const {
  static std::ostream nowhere(nullptr);
  if (quiet) return nowhere;
  return json ? err : out;
}

void Context::print(const nlohmann::json& document) const {
  out << document.dump(2, ' ', false, nlohmann::json::error_handler_t::replace) << '\n';
}

void Context::log(LogLevel level, const std::string& message) const {
  if (level > log_level || (quiet && level != LogLevel::kError)) return;
  constexpr const char* kNames[] = {"error", "warning", "info", "debug"};
  constexpr std::size_t kLongest = 2000;
  err << kNames[static_cast<int>(level)] << ": " << results::printable(message, kLongest) << '\n'
      << std::flush;
}

void add_common_options(CLI::App& command, Context& context, bool json_flag) {
  if (json_flag) {
    command.add_flag("--json", context.json, "Machine readable on standard output, text on standard error")
        ->group(kOutputGroup);
  }
  command.add_flag("-q,--quiet", context.quiet, "No text for people but errors")->group(kOutputGroup);
  command
      .add_flag_callback(
          "--no-color", [&context] { context.color = false; }, "No colours")
      ->group(kOutputGroup);
  command
      .add_option_function<std::string>(
          "--log-level", [&context](const std::string& name) { context.log_level = kLevels.at(name); },
          "error, warn (default), info or debug")
      ->check(CLI::IsMember({"error", "warn", "info", "debug"}))
      ->type_name("LEVEL")
      ->group(kOutputGroup);
}

void set_action(CLI::App& command, Context& context, std::function<int()> action) {
  command.callback([&context, action = std::move(action)] { context.action = action; });
}

std::string examples(const std::vector<std::string>& lines) {
  std::string text = "Examples:";
  for (const auto& line : lines) text += "\n  " + line;
  return text;
}

}  // namespace wide::cli
