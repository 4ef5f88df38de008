// widebench runs trend: a subject over time.
#include "app/cli/run_choice.h"
#include "app/cli/runs_commands.h"
#include "app/exit_code.h"
#include "results/store.h"
#include "results/table.h"
#include "results/trend.h"

namespace wide::cli {
namespace {

struct RunsTrendArguments {
  std::shared_ptr<std::string> database = std::make_shared<std::string>();
  std::string subject;
};

int trend(const Context& context, const RunsTrendArguments& options) {
  const auto store = results::Store::open(database_path(*options.database), results::OpenMode::kReadOnly);
  const auto seen = results::trend(options.subject, store.trend(options.subject));
  if (seen.series.empty()) {
    throw Error("runs", store.path().string() + ": no run measured here has the subject \"" +
                            results::printable(options.subject) + "\"; `widebench runs list" +
                            results::database_flag(store.path()) + "` lists runs");
  }
  if (context.json) {
    write_json(context.out, seen);
    context.out << '\n';
  } else {
    context.human() << text(seen);
  }
  return app::kExitDone;
}

}  // namespace

void add_runs_trend(CLI::App& runs, Context& context) {
  const auto options = std::make_shared<RunsTrendArguments>();
  auto& command = add_runs_subcommand(runs, context, "trend",
                                      "A subject over time with change points; which strategy won at which N",
                                      options->database);
  command.add_option("SUBJECT", options->subject, "As in the table of a run")->required();
  command.footer(examples({"widebench runs trend mlp", "widebench runs trend conv2d --json"}));
  set_action(command, context, [&context, options] { return trend(context, *options); });
}

}  // namespace wide::cli
