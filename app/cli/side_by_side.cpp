#include "app/cli/side_by_side.h"

#include <fmt/format.h>

#include "app/again.h"
#include "app/cli/signals.h"
#include "app/cli/values.h"
#include "app/sweep_job.h"

namespace wide::cli {

void add_side_by_side_options(CLI::App& command, SideBySideOptions& options) {
  auto* again = command.get_option("--re-measure");
  command.add_option("--program-a", options.first_program, "The widebench that measures the first run")
      ->check(program())
      ->needs(again)
      ->type_name("FILE");
  command.add_option("--program-b", options.second_program, "The widebench that measures the second run")
      ->check(program())
      ->needs(again)
      ->type_name("FILE");
  command.add_option("--repeats", options.repeats, "How often each is measured; default 4")
      ->check(between(1, 1000))
      ->needs(again)
      ->type_name("COUNT");
}

SideBySide measure_side_by_side(Context& context, const results::Side& first, const results::Side& second,
                                const SideBySideOptions& options) {
  const SignalWatch signals;
  auto first_specs = app::specs_of(first.runs.front().run),
       second_specs = app::specs_of(second.runs.front().run);
  app::resolve_devices(first_specs, context.engine);
  app::resolve_devices(second_specs, context.engine);
  const auto measurer = [&](const std::string& program) {
    app::Measurer result;
    result.program = program;
    result.options.stop = &signals.signal();
    return result;
  };
  // What is measured now is measured here, whatever machine the runs came from.
  auto first_run = first.runs.front(), second_run = second.runs.front();
  first_run.run.machine = second_run.run.machine = app::machine_facts(context.engine);
  context.human() << fmt::format("measuring {} and {} cases in turns, {} times\n", first_specs.size(),
                                 second_specs.size(), options.repeats)
                  << std::flush;
  auto turns =
      app::measure_in_turns(first_run, measurer(options.first_program), second_run,
                            measurer(options.second_program), first_specs, second_specs, options.repeats);
  if (!turns) return {{}, {}, signals.signal()};
  turns->first.name = first.name + ", measured again";
  turns->second.name = second.name + ", measured again";
  return {std::move(turns->first), std::move(turns->second), 0};
}

}  // namespace wide::cli
