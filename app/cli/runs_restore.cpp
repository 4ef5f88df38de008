// widebench runs restore: a backup in the place of the database.
#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "app/cli/run_choice.h"
#include "app/cli/runs_commands.h"
#include "app/exit_code.h"
#include "results/counted.h"
#include "results/restore.h"
#include "results/table.h"

namespace wide::cli {
namespace {

struct RunsRestoreArguments {
  std::shared_ptr<std::string> database = std::make_shared<std::string>();
  std::string backup;
  bool force = false;
};

int restore(const Context& context, const RunsRestoreArguments& options) {
  const auto path = database_path(*options.database);
  const auto done = results::restore(options.backup, path, options.force);
  if (context.json) {
    const nlohmann::json document = {{"database", path.string()},
                                     {"kept", done.kept.string()},
                                     {"runs", done.runs},
                                     {"cases", done.cases},
                                     {"newest", done.newest}};
    context.print(document);
  }
  const auto shown = [](const std::filesystem::path& file) {
    return results::printable(file.string(), 4096);
  };
  auto& human = context.human();
  human << fmt::format("{} is restored: {}, {}", shown(path), results::counted(done.runs, "run"),
                       results::counted(done.cases, "case"));
  if (!done.newest.empty()) human << ", the newest of " << results::printable(done.newest);
  human << '\n';
  if (!done.kept.empty()) human << "what was there is kept as " << shown(done.kept) << '\n';
  return app::kExitDone;
}

}  // namespace

void add_runs_restore(CLI::App& runs, Context& context) {
  const auto options = std::make_shared<RunsRestoreArguments>();
  auto& command = add_runs_subcommand(runs, context, "restore", "Put a backup in the place of the database",
                                      options->database);
  command.add_option("BACKUP", options->backup, "FILE.bak or FILE.schema-V.bak beside the database")
      ->required();
  command.add_flag("--force", options->force,
                   "Although the database is whole and holds what the backup lacks");
  command.footer(
      examples({"widebench runs restore ~/.local/share/widebench/results.db.bak",
                "widebench runs restore all.db.schema-1.bak --db all.db"}) +
      "\n\nThe backup is read through first. What was there is kept beside it under another name.");
  set_action(command, context, [&context, options] { return restore(context, *options); });
}

}  // namespace wide::cli
