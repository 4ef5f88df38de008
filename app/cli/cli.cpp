#include "app/cli/cli.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <cstdlib>
#include <iostream>
#include <nlohmann/json.hpp>

#include "app/cli/sweep_command.h"
#include "app/exit_code.h"
#include "presets/worker.h"
#include "results/escape.h"
#include "results/table.h"

namespace wide::cli {
namespace {

constexpr std::size_t kLongestMessage = 2000;

std::string command_line(const std::vector<std::string>& arguments) {
  std::string text = "widebench";
  for (const auto& argument : arguments) text.append(" ").append(results::shell_word(argument));
  return text;
}

void report(Context& context, const std::string& stage, const std::string& message) {
  context.err << "error: " << results::printable(message, kLongestMessage) << '\n' << std::flush;
  if (!context.json) return;
  const nlohmann::json json{{"error", {{"stage", stage}, {"message", message}}}};
  context.out << json.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace) << '\n' << std::flush;
}

// Help goes out as asked; any other end of parsing is a usage error in one line.
int ended_by_parser(const CLI::App& app, const CLI::ParseError& end, Context& context) {
  if (end.get_exit_code() == 0) return app.exit(end, context.out, context.err);
  report(context, "usage", std::string(end.what()) + "; --help shows what there is");
  return app::kExitUsage;
}

// "-c=MODE" is the contract; the parser reads "--compile=MODE" only.
void spell_out(std::vector<std::string>& arguments) {
  for (auto& argument : arguments) {
    if (argument.starts_with("-c=")) argument = "--compile=" + argument.substr(3);
  }
}

// Whether a JSON error object is wanted must be known even when parsing fails.
bool asks_for_json(const std::vector<std::string>& arguments) {
  const auto found = std::find(arguments.begin(), arguments.end(), "--json");
  return found != arguments.end() && !arguments.front().starts_with("-");
}

// A variable of a shell that is not set must not switch off what it was to name.
void refuse_empty_values(const CLI::App& app) {
  for (const auto* option : app.get_options()) {
    const auto& values = option->results();
    if (option->check_name("--label") || std::ranges::find(values, "") == values.end()) continue;
    throw CLI::ValidationError(option->get_name(), "its value is empty; give one, or leave it out");
  }
  for (const auto* command : app.get_subcommands()) refuse_empty_values(*command);
}

// The root's own options are those of a sweep: a command has its own, and would not know of these.
void refuse_options_before_command(const CLI::App& app) {
  const auto named = app.get_subcommands();
  if (named.empty()) return;
  for (const auto* option : app.get_options()) {
    if (option->count() == 0 || option->get_group() == kOutputGroup) continue;
    throw CLI::ValidationError(option->get_name(),
                               "stands before the command '" + named[0]->get_name() +
                                   "', which would not see it; options come after the command");
  }
}

// The first word that stands where a command should and names none, with those before it; empty: none.
std::string no_command(CLI::App& app, std::span<const std::string> words) {
  const auto all = app.get_subcommands(nullptr);
  if (words.empty() || all.empty() || words.front().starts_with("-")) return "";
  const auto& word = words.front();
  const auto found = std::ranges::find_if(all, [&](const CLI::App* one) { return one->check_name(word); });
  if (found == all.end()) return word;
  const auto rest = no_command(**found, words.subspan(1));
  return rest.empty() ? "" : word + " " + rest;
}

// The next file that is opened must not become standard output where that is closed. Writes to it fail.
void keep_standard_streams() {
  for (const int stream : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO}) {
    if (::fcntl(stream, F_GETFD) != -1) continue;
    (void)::open(stream == STDOUT_FILENO ? "/dev/full" : "/dev/null",
                 O_RDWR);  // the lowest number that is free
  }
}

// As libtorch says it.
std::string wanted(std::string_view message) {
  constexpr std::string_view kBefore = "tried to allocate ";
  const auto begin = message.find(kBefore);
  if (begin == message.npos) return "";
  const auto number = message.substr(begin + kBefore.size());
  const auto digits = number.substr(0, number.find_first_not_of("0123456789"));
  return " (" + std::string(digits) + " bytes at once were wanted)";
}

int act(Context& context) try { return context.action(); } catch (const app::CannotMeasure& error) {
  report(context, error.stage(), error.what());
  return app::kExitCannotMeasure;
} catch (const Error& error) {
  report(context, error.stage(), error.what());
  return app::kExitUsage;
} catch (const std::exception& error) {
  if (presets::tells_of_memory(error.what())) {
    report(context, "memory",
           "memory ran out" + wanted(error.what()) + "; take fewer members or smaller sizes");
    return app::kExitCannotMeasure;
  }
  report(context, "internal",
         std::string("internal error: ") + error.what() +
             "; this is a bug of widebench, please report it with the command");
  return app::kExitInternal;
}

}  // namespace

int run(std::vector<std::string> arguments, Context& context, std::span<const AddCommand> commands) {
  context.command_line = command_line(arguments);
  context.json = asks_for_json(arguments);
  spell_out(arguments);
  CLI::App app("Runs N models of one architecture as one wide model: proves, measures, stores.", "widebench");
  app.set_version_flag("--version", context.engine.version);
  app.require_subcommand(0, 1);
  add_sweep_options(app, context);
  for (const auto add : commands) add(app, context);
  if (const auto none = no_command(app, arguments); !none.empty()) {
    report(context, "usage", "there is no command '" + none + "'; --help shows what there is");
    return app::kExitUsage;
  }
  std::reverse(arguments.begin(), arguments.end());  // the parser takes them from the back
  try {
    app.parse(std::move(arguments));
    refuse_empty_values(app);
    refuse_options_before_command(app);
  } catch (const CLI::ParseError& end) {
    return ended_by_parser(app, end, context);
  }
  return act(context);
}

int run_main(int argc, char** argv, app::Engine engine, std::span<const AddCommand> commands,
             std::function<std::shared_ptr<gui::Bench>(const std::string& device)> bench) {
  keep_standard_streams();
  std::signal(SIGXFSZ, SIG_IGN);  // a file that may not grow is an error of its write, with a path
  const char* no_color = std::getenv("NO_COLOR");
  const bool terminal = ::isatty(STDERR_FILENO) == 1;
  Context context{.engine = std::move(engine), .out = std::cout, .err = std::cerr};
  context.terminal = terminal;
  context.bench = std::move(bench);
  context.color = terminal && ::isatty(STDOUT_FILENO) == 1 && (no_color == nullptr || *no_color == '\0');
  const int code = run(std::vector<std::string>(argv + std::min(argc, 1), argv + argc), context, commands);
  std::cout.flush();
  if (std::cout) return code;
  report(context, "write",
         "standard output cannot be written, so that what is there is not all; check what it leads to");
  return code == app::kExitDone ? app::kExitUsage : code;
}

}  // namespace wide::cli
