#include "app/cli/sweep_command.h"

#include <memory>

#include "app/cli/measuring.h"
#include "app/cli/window_options.h"
#include "presets/preset.h"

namespace wide::cli {
namespace {

struct SweepArguments {
  std::string preset;
  MeasuringOptions measuring;
  WindowRequest window;
};

// Without a preset the program is the window, which would not see a sweep's options, and the other way round.
void refuse_of_the_other(const CLI::App& app, bool sweeps) {
  for (const auto* option : app.get_options()) {
    const auto name = option->get_name();
    if (option->count() == 0 || name == "--preset" || name == "--db" || option->get_group() == kOutputGroup)
      continue;
    const bool of_window = option->get_group() == kWindowGroup;
    if (of_window && sweeps)
      throw CLI::ValidationError(name, "is for the window, and --preset sweeps; leave one out");
    if (!of_window && !sweeps)
      throw CLI::ValidationError(name, "is for a sweep; give --preset NAME, or name a command");
  }
}

int sweep(Context& context, const SweepArguments& options) {
  if (options.preset.empty()) {
    auto window = options.window;
    window.database = options.measuring.database;
    return open_window(context, window);
  }
  context.json = options.measuring.report == "-";
  const auto file = presets::find_preset(options.preset);
  auto measuring = options.measuring;
  measuring.read = {file.string()};
  const auto preset = presets::read_preset(file, changes(options.measuring));
  try {
    app::check_cases(preset.cases, context.engine);
  } catch (const Error& error) {
    throw Error(error.stage(), file.string() + ": " + error.what());
  }
  return measure(context, measuring, preset);
}

}  // namespace

void add_sweep_options(CLI::App& app, Context& context) {
  const auto options = std::make_shared<SweepArguments>();
  app.add_option("--preset", options->preset, "Sweep a preset: ci, quick, full, or the path of your own")
      ->type_name("NAME|FILE");
  app.add_option("--json", options->measuring.report, "Write the report to this file; - for standard output")
      ->type_name("FILE");
  add_measuring_options(app, options->measuring);
  add_window_options(app, options->window);
  add_common_options(app, context, /*json_flag=*/false);
  app.footer(examples({"widebench --preset ci --db r.db --json r.json",
                       "widebench --preset quick --device cpu", "widebench --preset ./mine.json --resume",
                       "widebench --preset ci --repeat 4 --save-baseline main",
                       "widebench --preset ci --baseline main"}) +
             "\n\nExit codes of a sweep:\n"
             "  0 every case passed, or was skipped with a reason    5 a case computed wrong numbers\n"
             "  3 a case ended in error, timeout or out of memory, or none could be measured\n"
             "  2 usage or input error    130, 143 stopped by Ctrl-C or SIGTERM; --resume measures the rest\n"
             "  1 slower than the baseline, or a case of it is missing\n"
             "  4 undecided against the baseline, with --fail-inconclusive\n"
             "  5 goes before 1, 1 before 3, 3 before 4. Whatever the code, all finished cases are stored.");
  // CLI11 runs the root's callback too when a command was named, after that command's own.
  app.callback([&app, &context, options] {
    if (context.action) return;
    refuse_of_the_other(app, app.count("--preset") > 0);
    context.action = [&context, options] { return sweep(context, *options); };
  });
}

}  // namespace wide::cli
