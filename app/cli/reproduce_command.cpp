// widebench reproduce: measures a stored run again and compares.
#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "app/again.h"
#include "app/cli/context.h"
#include "app/cli/run_choice.h"
#include "app/cli/signals.h"
#include "app/cli/values.h"
#include "app/exit_code.h"
#include "app/headline.h"
#include "app/sweep_job.h"
#include "results/compare.h"
#include "results/store.h"
#include "results/table.h"

namespace wide::cli {
namespace {

struct ReproduceArguments {
  std::string database, run;
  results::CompareOptions compare;
  bool dry = false;
};

void print_recipe(const Context& context, const results::RunRecord& run) {
  const auto recipe = results::reproduce_json(run);
  context.human() << "command   " << results::printable(recipe.at("command").get<std::string>(), 2000)
                  << '\n';
  context.human() << "seeds     " << recipe.at("seeds").dump() << '\n';
  for (const auto& [name, value] : run.environment)
    context.human() << "env       " << results::printable(name) << "=" << results::printable(value, 300)
                    << '\n';
  context.human() << std::flush;
}

int reproduce(Context& context, const ReproduceArguments& options) {
  const SignalWatch signals;
  const auto path = database_path(options.database);
  auto side = read_side(path, options.run);
  const auto& run = side.runs.front().run;
  auto specs = app::specs_of(run);
  print_recipe(context, run);
  if (options.dry) {
    if (context.json) context.out << results::reproduce_json(run).dump(2) << '\n';
    return app::kExitDone;
  }
  app::resolve_devices(specs, context.engine);
  app::SweepJob job;
  job.preset = run.preset;
  // What measures the same; the label says whose it is. What a stranger's report says is nothing to run.
  job.command_line = run.origin == "measured" ? run.command_line : context.command_line;
  job.label = fmt::format("reproduces {}", run.uid.substr(0, 12));
  job.specs = specs;
  job.options.stop = &signals.signal();
  auto store = results::Store::open(path, results::OpenMode::kReadWrite);
  const auto outcome = app::run_sweep_job(job, context.engine, store, {});
  if (outcome.end == presets::SweepEnd::kStopped) return app::kExitSignal + signals.signal();
  const results::Side fresh{fmt::format("run {}", outcome.run),
                            {{store.run(outcome.run), store.cases(outcome.run, false)}}};
  const auto seen = results::compare(side, fresh, options.compare);
  if (context.json) context.out << to_json(seen).dump(2) << '\n';
  context.human() << text(seen) << std::flush;
  return app::exit_code(app::headline(fresh.runs.front().cases));
}

}  // namespace

void add_reproduce_command(CLI::App& app, Context& context) {
  const auto options = std::make_shared<ReproduceArguments>();
  auto& command = *app.add_subcommand("reproduce", "Measure a stored run again and compare");
  command.add_option("RUN", options->run, kRunHelp)->required();
  command.add_option("--db", options->database, "Database; default $XDG_DATA_HOME/widebench/results.db")
      ->type_name("FILE");
  command.add_flag("--across-machines", options->compare.across_machines,
                   "Judge although machine, libraries or threads differ");
  command.add_flag("--dry-run", options->dry, "Only tell command, seeds and environment");
  add_common_options(command, context);
  command.footer(examples({"widebench reproduce latest", "widebench reproduce report.json --across-machines",
                           "widebench reproduce 3 --dry-run"}));
  set_action(command, context, [&context, options] { return reproduce(context, *options); });
}

}  // namespace wide::cli
