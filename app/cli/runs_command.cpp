// widebench runs: the history in the database. Opens it for reading only.
#include <fmt/format.h>

#include <charconv>
#include <memory>
#include <nlohmann/json.hpp>

#include "app/cli/context.h"
#include "app/exit_code.h"
#include "app/summary.h"
#include "results/report.h"
#include "results/store.h"
#include "results/table.h"

namespace wide::cli {
namespace {

using nlohmann::json;
using results::Store;

struct Options {
  std::string database;
  std::string id;
  std::string output;
};

Store open(const Options& options) {
  const auto path =
      options.database.empty() ? results::default_path() : std::filesystem::path(options.database);
  return Store::open(path, results::OpenMode::kReadOnly);
}

// A run's number, or "latest".
std::int64_t find(const Store& store, const std::string& id) {
  if (id == "latest") {
    const auto runs = store.runs();
    if (runs.empty()) throw Error("runs", store.path().string() + ": holds no run yet");
    return runs.back().id;
  }
  std::int64_t number = 0;
  const auto [end, failed] = std::from_chars(id.data(), id.data() + id.size(), number);
  if (failed != std::errc() || end != id.data() + id.size()) {
    throw Error("usage",
                "\"" + id + "\" is no run; give its number, or latest; `widebench runs list` shows them");
  }
  return number;
}

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
          {"status", name(run.status)},
          {"machine_key", run.machine_key}};
}

std::string dumped(const json& document) {
  return document.dump(2, ' ', false, json::error_handler_t::replace);
}

int list(const Context& context, const Options& options) {
  const auto runs = open(options).runs();
  if (context.json) {
    auto array = json::array();
    for (const auto& run : runs) array.push_back(to_json(run));
    context.out << dumped(array) << '\n';
  } else if (runs.empty()) {
    context.human() << "no runs yet; `widebench --preset quick` makes one\n";
  } else {
    context.human() << results::table(runs);
  }
  return app::kExitDone;
}

std::string facts(const results::RunRecord& run) {
  const auto line = [](std::string_view what, const std::string& value) {
    return value.empty() ? std::string() : fmt::format("{:<9} {}\n", what, results::printable(value, 300));
  };
  return line("run", fmt::format("{} ({})", run.id, run.uid)) + line("started", run.started) +
         line("status", std::string(name(run.status))) + line("origin", run.origin) +
         line("preset", run.preset) + line("label", run.label) + line("command", run.command_line) +
         line("device", run.device) +
         line("machine",
              fmt::format("{}, {} cores, {}", run.machine.cpu, run.machine.physical_cores, run.machine.os)) +
         line("tool", run.tool_version + (run.git_commit.empty() ? "" : " " + run.git_commit));
}

int show(const Context& context, const Options& options) {
  const auto store = open(options);
  const auto id = find(store, options.id);
  const auto run = store.run(id);
  const auto cases = store.cases(id);
  if (context.json) {
    context.out << dumped(results::report(run, cases, results::Samples::kLeaveOut)) << '\n';
  } else {
    context.human() << facts(run) << '\n'
                    << results::table(cases) << '\n'
                    << app::text(app::summarize(cases));
  }
  return app::kExitDone;
}

int export_run(const Context& context, const Options& options) {
  const auto store = open(options);
  const auto id = find(store, options.id);
  const auto document = app::full_report(store.run(id), store.cases(id));
  if (options.output == "-" || (options.output.empty() && context.json)) {
    context.out << document.dump(2) << '\n';
    return app::kExitDone;
  }
  if (options.output.empty()) throw Error("usage", "name the file to write with -o FILE; -o - prints it");
  results::write_report(options.output, document);
  context.human() << "run " << id << " written to " << results::printable(options.output, 4096) << '\n';
  return app::kExitDone;
}

CLI::App& add(CLI::App& runs, Context& context, const std::shared_ptr<Options>& options,
              const std::string& name, const std::string& about, int (*act)(const Context&, const Options&)) {
  auto& command = *runs.add_subcommand(name, about);
  command.add_option("--db", options->database, "Database; default $XDG_DATA_HOME/widebench/results.db")
      ->type_name("FILE");
  add_common_options(command, context);
  set_action(command, context, [&context, options, act] { return act(context, *options); });
  return command;
}

}  // namespace

void add_runs_command(CLI::App& app, Context& context) {
  const auto options = std::make_shared<Options>();
  auto& runs = *app.add_subcommand("runs", "The history of runs");
  runs.require_subcommand(1);
  const std::vector<std::string> usage = {"widebench runs list", "widebench runs show latest",
                                          "widebench runs show 3 --json",
                                          "widebench runs export 3 -o run3.json"};
  runs.footer(examples(usage));
  add(runs, context, options, "list", "One line per run, newest last", list)
      .footer(examples({"widebench runs list", "widebench runs list --db r.db --json"}));
  auto& shown = add(runs, context, options, "show", "A run's cases and headline", show);
  shown.add_option("ID", options->id, "Number of the run, or latest")->required();
  shown.footer(examples({"widebench runs show latest", "widebench runs show 3 --json"}));
  auto& exported =
      add(runs, context, options, "export", "Write a run's report with every sample", export_run);
  exported.add_option("ID", options->id, "Number of the run, or latest")->required();
  exported.add_option("-o,--output", options->output, "File to write; - for standard output")
      ->type_name("FILE");
  exported.add_option("--format", "json (the only one so far)")
      ->check(CLI::IsMember({"json"}))
      ->type_name("FORMAT");
  exported.footer(
      examples({"widebench runs export 3 -o run3.json", "widebench runs export latest -o - | jq .cases"}));
}

}  // namespace wide::cli
