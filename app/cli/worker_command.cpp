// widebench worker: one case of a sweep, started by the sweep itself.
#include "app/cli/context.h"
#include "app/measure_case.h"
#include "presets/worker.h"

namespace wide::cli {

void add_worker_command(CLI::App& app, Context& context) {
  auto* command = app.add_subcommand("worker", "One case of a sweep, read from standard input")->group("");
  set_action(*command, context, [] { return presets::run_worker(app::measure_case); });
}

}  // namespace wide::cli
