// widebench runs list, widebench runs show.
#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "app/cli/run_choice.h"
#include "app/cli/runs_commands.h"
#include "app/exit_code.h"
#include "app/run_lock.h"
#include "app/stored_captures.h"
#include "app/summary.h"
#include "results/report.h"
#include "results/store.h"
#include "results/table.h"

namespace wide::cli {
namespace {

using nlohmann::json;
using results::printable;
using results::Store;

constexpr std::size_t kLongestValue = 300;

struct RunsListArguments {
  std::shared_ptr<std::string> database = std::make_shared<std::string>();
  std::string id, tag;
};

json to_json(const results::RunSummary& run) {
  return {{"id", run.id},
          {"uid", run.uid},
          {"started", run.started},
          {"preset", run.preset},
          {"label", run.label},
          {"device", run.device},
          {"origin", run.origin},
          {"cases", run.cases},
          {"passed", run.passed},
          {"subjects", run.subjects},
          {"status", name(run.status)},
          {"machine_key", run.machine_key},
          {"parent", run.parent == 0 ? json(nullptr) : json(run.parent)},
          {"pinned", run.pinned},
          {"tags", run.tags},
          {"baselines", run.baselines}};
}

/// What people hung on the runs, below the table: one line a run that has any.
std::string marks(const std::vector<results::RunSummary>& runs) {
  std::string text;
  for (const auto& run : runs) {
    std::string line;
    for (const auto& baseline : run.baselines) line += " baseline:" + printable(baseline);
    if (run.pinned) line += " pinned";
    if (run.parent != 0) line += " measured-again:" + std::to_string(run.parent);
    for (const auto& tag : run.tags) line += " #" + printable(tag);
    if (!line.empty()) text += fmt::format("  run {}:{}\n", run.id, line);
  }
  return text.empty() ? "" : "\n" + text;
}

int list(const Context& context, const RunsListArguments& options) {
  const auto store = Store::open(database_path(*options.database), results::OpenMode::kOverview);
  auto runs = store.runs();
  for (auto& run : runs) run.status = app::status_now(store, run.id, run.status);
  std::erase_if(runs, [&](const auto& run) {
    return !options.tag.empty() && std::find(run.tags.begin(), run.tags.end(), options.tag) == run.tags.end();
  });
  if (context.json) {
    auto array = json::array();
    for (const auto& run : runs) array.push_back(to_json(run));
    context.print(array);
  } else if (runs.empty() && !options.tag.empty()) {
    context.human() << "no run has the tag '" << results::printable(options.tag, 300) << "'\n";
  } else if (runs.empty()) {
    context.human() << "no runs yet; `widebench --preset quick` makes one\n";
  } else {
    context.human() << results::table(runs) << marks(runs);
  }
  return app::kExitDone;
}

std::string facts(const results::RunRecord& run) {
  const auto line = [](std::string_view what, const std::string& value) {
    return value.empty() ? std::string() : fmt::format("{:<9} {}\n", what, printable(value, kLongestValue));
  };
  std::string text = line("run", fmt::format("{} ({})", run.id, run.uid)) + line("started", run.started) +
                     line("status", std::string(name(run.status))) + line("origin", run.origin) +
                     line("preset", run.preset) + line("label", run.label) +
                     line("command", run.command_line) + line("device", run.device) +
                     line("machine", fmt::format("{}, {} cores, {}", run.machine.cpu,
                                                 run.machine.physical_cores, run.machine.os)) +
                     line("tool", run.tool_version + (run.git_commit.empty() ? "" : " " + run.git_commit));
  for (const auto& tag : run.tags) text += line("tag", tag);
  for (const auto& [name, value] : run.environment) text += line("env", name + "=" + value);
  for (const auto& note : run.notes) text += line("note", note.created + "  " + note.text);
  return text;
}

int show(const Context& context, const RunsListArguments& options) {
  const auto store = Store::open(database_path(*options.database), results::OpenMode::kReadOnly);
  const auto id = find_run(store, options.id);
  auto run = store.run(id);
  run.status = app::status_now(store, id, run.status);
  const auto cases = store.cases(id);
  if (context.json) {
    auto report = results::report(run, cases, results::Samples::kLeaveOut);
    app::name_captures(report, store, id);
    context.print(report);
    return app::kExitDone;
  }
  context.human() << facts(run) << '\n' << results::table(cases) << '\n' << app::text(app::summarize(cases));
  const auto captured = app::captured_cases(store, id);
  for (const auto& one : captured) {
    for (const auto& trace : one.traces)
      context.human() << fmt::format("capture of {} running {}, {} bytes packed\n", printable(trace.name),
                                     printable(one.key, 150), trace.size);
  }
  if (!captured.empty())
    context.human() << fmt::format("`widebench profile --from {}` explains the captures again\n", id);
  return app::kExitDone;
}

}  // namespace

void add_runs_list(CLI::App& runs, Context& context) {
  const auto options = std::make_shared<RunsListArguments>();
  auto& listed =
      add_runs_subcommand(runs, context, "list", "One line per run, newest last", options->database);
  listed.add_option("--tag", options->tag, "Only runs with this tag")->type_name("TAG");
  listed.footer(examples({"widebench runs list", "widebench runs list --db r.db --json"}));
  set_action(listed, context, [&context, options] { return list(context, *options); });
  auto& shown = add_runs_subcommand(runs, context, "show", "A run's cases and headline", options->database);
  shown.add_option("ID", options->id, kStoredRunHelp)->required();
  shown.footer(examples({"widebench runs show latest", "widebench runs show 3 --json"}));
  set_action(shown, context, [&context, options] { return show(context, *options); });
}

}  // namespace wide::cli
