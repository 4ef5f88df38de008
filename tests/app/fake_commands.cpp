#include "app/fake_widebench.h"
#include "presets/fake_measure.h"
#include "presets/worker.h"

namespace wide::cli {

void add_benchmark_command(CLI::App&, Context&);
void add_doctor_command(CLI::App&, Context&);
void add_info_command(CLI::App&, Context&);
void add_runs_command(CLI::App&, Context&);

}  // namespace wide::cli

namespace wide::test {
namespace {

void add_worker_command(CLI::App& app, cli::Context& context) {
  auto& command = *app.add_subcommand("worker")->group("");
  cli::set_action(command, context, [] { return presets::run_worker(fake_measure); });
}

}  // namespace

std::span<const cli::AddCommand> fake_commands() {
  static constexpr cli::AddCommand kAll[] = {cli::add_benchmark_command, cli::add_doctor_command,
                                             cli::add_info_command, cli::add_runs_command,
                                             add_worker_command};
  return kAll;
}

}  // namespace wide::test
