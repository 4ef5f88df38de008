// widebench runs resume: resumes a run that was stopped or killed, by what it says of itself.
#include <memory>

#include "app/again.h"
#include "app/cli/measuring.h"
#include "app/cli/run_choice.h"
#include "app/cli/runs_commands.h"
#include "app/cli/values.h"
#include "app/sweep_job.h"
#include "formats/error.h"
#include "presets/preset.h"
#include "results/store.h"

namespace wide::cli {
namespace {

struct RunsResumeArguments {
  std::shared_ptr<std::string> database = std::make_shared<std::string>();
  std::string run;
  MeasuringOptions measuring;
};

// The cases as the run has them. How long one may take is no part of a run: the preset of its name says it,
// where there still is one.
presets::Preset preset_of(const results::RunRecord& run) {
  presets::Preset preset{.name = run.preset, .cases = app::specs_of(run)};
  try {
    preset.timeout_seconds = presets::read_preset(presets::find_preset(run.preset)).timeout_seconds;
  } catch (const Error&) {
    preset.timeout_seconds = presets::Preset{}.timeout_seconds;
  }
  return preset;
}

results::RunRecord read_run(const std::filesystem::path& path, const std::string& choice) {
  const auto store = results::Store::open(path, results::OpenMode::kReadOnly);
  return store.run(find_run(store, choice));
}

int resume(Context& context, RunsResumeArguments& options) {
  const auto path = database_path(*options.database);
  const auto run = read_run(path, options.run);
  if (auto reason = app::cannot_go_on(run, app::machine_facts(context.engine)); !reason.empty())
    throw Error("runs", reason);
  options.measuring.database = path.string();
  options.measuring.run = run.id;
  if (context.json) options.measuring.report = "-";
  return measure(context, options.measuring, preset_of(run));
}

}  // namespace

void add_runs_resume(CLI::App& runs, Context& context) {
  const auto options = std::make_shared<RunsResumeArguments>();
  auto& command = add_runs_subcommand(runs, context, "resume", "Resume a run that was stopped or killed",
                                      options->database);
  command.add_option("RUN", options->run, "Number, latest, latest~1 or uid")->required();
  command
      .add_option("--timeout", options->measuring.timeout_seconds,
                  "A case that takes longer is killed; default by preset")
      ->check(between(0.1, 86400.0))
      ->type_name("SECONDS");
  command.footer(examples({"widebench runs resume latest", "widebench runs resume 3 --db r.db"}));
  set_action(command, context, [&context, options] { return resume(context, *options); });
}

}  // namespace wide::cli
