#include <string>

#include "app/cli/profile.h"
#include "app/fake_widebench.h"
#include "presets/fake_measure.h"
#include "presets/worker.h"
#include "profiler/trace/sample_traces.h"

namespace wide::cli {

void add_benchmark_command(CLI::App&, Context&);
void add_doctor_command(CLI::App&, Context&);
void add_gate_command(CLI::App&, Context&);
void add_info_command(CLI::App&, Context&);
void add_reproduce_command(CLI::App&, Context&);
void add_runs_command(CLI::App&, Context&);

}  // namespace wide::cli

namespace wide::test {
namespace {

void add_worker_command(CLI::App& app, cli::Context& context) {
  auto& command = *app.add_subcommand("worker")->group("");
  command.add_flag("--anew");
  cli::set_action(command, context, [] { return presets::run_worker(fake_measure); });
}

}  // namespace

namespace {

// Traces whose times are known, and the request in their facts.
cli::Profiled fake_capture(const cli::Context&, const cli::ProfileRequest& request) {
  cli::Profiled result;
  result.dtype = request.dtype;
  result.spec = {.subject = request.subject, .kind = "zoo", .n = request.members, .rivals = request.rivals};
  result.traces.push_back(wide_trace());
  for (const auto& rival : request.rivals) {
    result.traces.push_back(eager_trace());
    result.traces.back().contender = rival;
  }
  auto& wide = result.traces[0];
  wide.subject = request.subject.empty() ? request.model.models.at(0) : request.subject;
  wide.facts = {{"dtype", request.dtype},
                {"threads", "2"},
                {"mode", request.model.mode_or()},
                {"preset", request.preset},
                {"passes", std::to_string(request.passes)},
                {"members", std::to_string(request.members)},
                {"peaks", request.measure_peaks ? "measured"
                          : request.peaks       ? "stored"
                                                : "none"}};
  if (request.peaks) {
    result.peaks.emplace();
    result.peaks->threads = 2, result.peaks->flops["float32"] = 1e10, result.peaks->bandwidth = {{1e3, 4e8}};
  }
  return result;
}

void add_profile_command(CLI::App& app, cli::Context& context) {
  cli::add_profile(app, context, fake_capture);
}

}  // namespace

std::span<const cli::AddCommand> fake_commands() {
  static constexpr cli::AddCommand kAll[] = {
      cli::add_benchmark_command, cli::add_doctor_command,    cli::add_gate_command, cli::add_info_command,
      add_profile_command,        cli::add_reproduce_command, cli::add_runs_command, add_worker_command};
  return kAll;
}

}  // namespace wide::test
