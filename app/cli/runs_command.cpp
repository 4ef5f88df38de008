// widebench runs: the history in the database. Its sub-commands lie beside it.
#include "app/cli/runs_commands.h"
#include "app/cli/values.h"

namespace wide::cli {

CLI::App& add_runs_subcommand(CLI::App& runs, Context& context, const std::string& name,
                              const std::string& about, const std::shared_ptr<std::string>& database) {
  auto& command = *runs.add_subcommand(name, about);
  command.add_option("--db", *database, "Database; default $XDG_DATA_HOME/widebench/results.db")
      ->type_name("FILE");
  add_common_options(command, context);
  return command;
}

void add_runs_command(CLI::App& app, Context& context) {
  auto& runs = *app.add_subcommand("runs", "The history of runs");
  runs.require_subcommand(1);
  add_runs_list(runs, context);
  add_runs_compare(runs, context);
  add_runs_trend(runs, context);
  add_runs_export(runs, context);
  add_runs_keep(runs, context);
  add_runs_restore(runs, context);
  add_runs_resume(runs, context);
  runs.footer(
      examples({"widebench runs list", "widebench runs show latest", "widebench runs compare latest~1 latest",
                "widebench runs trend mlp", "widebench runs export latest -o report.html",
                "widebench runs pin 3 4 5 --as main"}));
}

}  // namespace wide::cli
