// widebench runs export, widebench runs import.
#include <fmt/format.h>

#include <array>
#include <iostream>
#include <map>
#include <nlohmann/json.hpp>

#include "app/cli/existing_file.h"
#include "app/cli/run_choice.h"
#include "app/cli/runs_commands.h"
#include "app/exit_code.h"
#include "app/stored_captures.h"
#include "app/stored_report.h"
#include "profiler/trace/chrome_export.h"
#include "results/export.h"
#include "results/store.h"
#include "results/table.h"

namespace wide::cli {
namespace {

using results::printable;
using results::Store;

struct RunsExportArguments {
  std::shared_ptr<std::string> database = std::make_shared<std::string>();
  std::string run, output, format;
  std::vector<std::string> files;
};

constexpr const char* kTrace = "trace";

// What the name of the file says, when --format does not.
std::string format_of(const RunsExportArguments& options) {
  if (!options.format.empty()) return options.format;
  static const std::map<std::string, std::string> kByEnding = {
      {".csv", "csv"}, {".md", "markdown"}, {".xml", "junit"}, {".html", "html"}, {".svg", "svg"}};
  if (options.output.ends_with(".json.gz")) return kTrace;
  const auto ending = std::filesystem::path(options.output).extension().string();
  if (ending.empty() || ending == ".json") return "json";
  if (const auto found = kByEnding.find(ending); found != kByEnding.end()) return found->second;
  std::string known = ".json, .json.gz";
  for (const auto& [one, format] : kByEnding) known += ", " + one;
  throw Error("usage", printable(options.output, 300) + ": no format has this ending (" + known +
                           "); name one with --format");
}

void tell_written(const Context& context, std::int64_t run, const std::string& file) {
  if (!context.json) return;
  const nlohmann::json told = {{"run", run}, {"output", file}};
  context.out << told.dump(2, ' ', false, nlohmann::json::error_handler_t::replace) << '\n';
}

int export_captures(const Context& context, const Store& store, const RunsExportArguments& options,
                    bool to_stdout) {
  const auto captured = find_captured(store, options.run);
  const auto traces = app::read_captures(store, captured);
  std::vector<const profiler::Trace*> all;
  for (const auto& trace : traces) all.push_back(&trace);
  if (to_stdout) {
    context.out << profiler::chrome_json(all) << std::flush;
    return app::kExitDone;
  }
  profiler::write_chrome_file(options.output, all);
  tell_written(context, captured.run, options.output);
  context.human() << fmt::format(
      "{} captures of {} in run {} written to {}; open it in https://ui.perfetto.dev\n", all.size(),
      printable(captured.key, 150), captured.run, printable(options.output, 4096));
  return app::kExitDone;
}

int export_run(const Context& context, const RunsExportArguments& options) {
  const bool to_stdout = options.output == "-" || (options.output.empty() && context.json);
  if (options.output.empty() && !to_stdout)
    throw Error("usage", "name the file to write with -o FILE; -o - prints it");
  const auto database = database_path(*options.database);
  if (!to_stdout) check_not_read(std::array{options.output}, std::array{database.string()});
  const auto store = Store::open(database, results::OpenMode::kReadOnly);
  const auto format = format_of(options);
  if (format == kTrace) return export_captures(context, store, options, to_stdout);
  const auto id = find_run(store, options.run);
  const auto text = app::stored_report(store, id, format);
  if (to_stdout) {
    context.out << text << std::flush;
    return app::kExitDone;
  }
  results::write_text(options.output, text);
  tell_written(context, id, options.output);
  context.human() << "run " << id << " written to " << printable(options.output, 4096) << " (" << format
                  << ")\n";
  if (format == "json" && !app::captured_cases(store, id).empty())
    context.human() << "its captures are not in a report; --format trace writes them\n";
  return app::kExitDone;
}

int import_runs(const Context& context, const RunsExportArguments& options) {
  // All files are read before one is stored: a slip in the last leaves nothing behind.
  std::vector<results::Imported> reports;
  for (const auto& file : options.files) reports.push_back(results::read_report(file));
  auto store = Store::open(database_path(*options.database), results::OpenMode::kReadWrite);
  auto ids = nlohmann::json::array();
  std::map<std::string, std::int64_t> known;
  if (reports.size() > 1)  // those of a folder that grows
    for (const auto& run : store.runs()) known.emplace(run.uid, run.id);
  for (std::size_t i = 0; i < reports.size(); ++i) {
    const auto& uid = reports[i].run.uid;
    if (const auto here = known.find(uid); here != known.end() && !uid.empty()) {
      context.human() << fmt::format("{} is here already as run {}\n", printable(options.files[i], 4096),
                                     here->second);
      continue;
    }
    const auto id = store.import_run(reports[i].run, reports[i].cases);
    ids.push_back(id);
    if (reports.size() > 1) known.emplace(uid, id);
    context.human() << fmt::format("{} is now run {} (imported: a claim, not measured here)\n",
                                   printable(options.files[i], 4096), id);
  }
  if (context.json) context.out << nlohmann::json{{"runs", ids}}.dump(2) << '\n';
  return app::kExitDone;
}

}  // namespace

void add_runs_export(CLI::App& runs, Context& context) {
  const auto options = std::make_shared<RunsExportArguments>();
  auto& exported = add_runs_subcommand(runs, context, "export", "Write a run's report with every sample",
                                       options->database);
  exported.add_option("RUN", options->run, kStoredRunHelp)->required();
  auto formats = results::export_formats();
  formats.emplace_back(kTrace);
  exported.add_option("-o,--output", options->output, "File to write; - for standard output")
      ->type_name("FILE");
  exported
      .add_option(
          "--format", options->format,
          "json (lossless), csv, markdown, junit, html, svg, github (github-action-benchmark) or bencher; "
          "trace: the captures of RUN or RUN/CASE for Perfetto; default by the file's ending")
      ->check(CLI::IsMember(formats))
      ->type_name("FORMAT");
  exported.footer(
      examples({"widebench runs export 3 -o run3.json", "widebench runs export latest -o report.html",
                "widebench runs export latest -o - | jq .cases",
                "widebench runs export latest -o bench.json --format github",
                "widebench runs export 7 -o t.json.gz --format trace"}));
  set_action(exported, context, [&context, options] { return export_run(context, *options); });
  auto& imported = add_runs_subcommand(
      runs, context, "import", "Store reports of other machines, marked as imported", options->database);
  imported.add_option("FILE", options->files, "JSON reports")->required();
  imported.footer(
      examples({"widebench runs import colleague.json", "widebench runs import ci/*.json --db all.db"}));
  set_action(imported, context, [&context, options] { return import_runs(context, *options); });
}

}  // namespace wide::cli
