// widebench runs compare: runs, baselines and report files, case by case.
#include <future>
#include <nlohmann/json.hpp>

#include "app/cli/measuring.h"
#include "app/cli/run_choice.h"
#include "app/cli/runs_commands.h"
#include "app/cli/side_by_side.h"
#include "app/cli/values.h"
#include "app/exit_code.h"
#include "app/headline.h"
#include "results/compare.h"
#include "results/table.h"

namespace wide::cli {
namespace {

struct RunsCompareArguments {
  std::shared_ptr<std::string> database = std::make_shared<std::string>();
  std::vector<std::string> runs;
  results::CompareOptions compare;
  double minimum_effect_percent = 5;
  SideBySideOptions again;
  bool all = false, markdown = false, measure_again = false;
};

int compare(Context& context, const RunsCompareArguments& options) {
  if (options.runs.size() < 2) throw Error("usage", "name two runs or more to compare");
  auto how = options.compare;
  how.minimum_effect = options.minimum_effect_percent / 100;
  const auto database = database_path(*options.database);
  std::vector<std::future<results::Side>> reading;  // report files may be large
  for (const auto& run : options.runs)
    reading.push_back(std::async(std::launch::async, [&] { return read_side(database, run); }));
  std::vector<results::Side> sides;
  for (auto& side : reading) sides.push_back(side.get());
  int code = app::kExitDone;
  for (std::size_t i = 1; i < options.runs.size(); ++i) {
    results::Comparison seen;
    if (options.measure_again) {
      const auto fresh = measure_side_by_side(context, sides[0], sides[i], options.again);
      if (!fresh) return app::kExitSignal + fresh.error;
      for (const auto* side : {&fresh.first, &fresh.second}) {
        for (const auto& run : side->runs) code = app::worst(code, app::exit_code(app::headline(run.cases)));
      }
      seen = results::compare(fresh.first, fresh.second, how);
    } else {
      seen = results::compare(sides[0], sides[i], how);
    }
    if (context.json) {
      context.out << (i > 1 ? ",\n" : options.runs.size() > 2 ? "[" : "");
      write_json(context.out, seen);
    } else {
      context.human() << (i > 1 ? "\n" : "")
                      << (options.markdown ? markdown(seen, options.all) : text(seen, options.all));
    }
  }
  if (context.json) context.out << (options.runs.size() > 2 ? "]\n" : "\n");
  return code;
}

}  // namespace

void add_runs_compare(CLI::App& runs, Context& context) {
  const auto options = std::make_shared<RunsCompareArguments>();
  auto& command = add_runs_subcommand(
      runs, context, "compare", "Is the second run faster than the first, case by case", options->database);
  command.add_option("RUN", options->runs, kRunHelp)->required();
  command.add_flag("--all", options->all, "List the cases without a change, too");
  command.add_flag("--markdown", options->markdown, "Print GitHub Markdown");
  command.add_flag("--across-machines", options->compare.across_machines,
                   "Judge although machine, libraries or threads differ");
  command
      .add_option("--min-effect", options->minimum_effect_percent, "Smaller changes do not count; default 5")
      ->check(between(0.1, 1000.0))
      ->type_name("PERCENT");
  command.add_flag("--re-measure", options->measure_again,
                   "Measure both again now, in turns, and compare that");
  add_side_by_side_options(command, options->again);
  command.footer(
      examples({"widebench runs compare latest~1 latest", "widebench runs compare main latest --all",
                "widebench runs compare main other.json --across-machines",
                "widebench runs compare main latest --re-measure --program-a ./old/widebench"}));
  set_action(command, context, [&context, options] { return compare(context, *options); });
}

}  // namespace wide::cli
