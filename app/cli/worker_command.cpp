// widebench worker: one case of a sweep, started by the sweep itself.
#include <memory>

#include "app/cli/context.h"
#include "app/measure_case.h"
#include "presets/worker.h"

namespace wide::cli {

void add_worker_command(CLI::App& app, Context& context) {
  auto options = std::make_shared<app::MeasureOptions>();
  auto* command = app.add_subcommand("worker", "One case of a sweep, read from standard input")->group("");
  command->add_flag("--anew", options->plans_anew, "plan by times that are taken now");
  set_action(*command, context, [options] {
    return presets::run_worker([&](const presets::CaseSpec& spec, results::CaseRecord& record) {
      app::measure_case(spec, *options, record);
    });
  });
}

}  // namespace wide::cli
