#include "app/cli/profile.h"

#include <algorithm>
#include <array>
#include <filesystem>
#include <memory>
#include <nlohmann/json.hpp>
#include <utility>

#include "app/cli/existing_file.h"
#include "app/cli/profile_report.h"
#include "app/cli/run_choice.h"
#include "app/cli/values.h"
#include "app/exit_code.h"
#include "app/stored_captures.h"
#include "app/sweep_job.h"
#include "formats/error.h"
#include "formats/fault.h"
#include "formats/file.h"
#include "profiler/trace/chrome_export.h"
#include "profiler/trace/chrome_import.h"
#include "results/store.h"
#include "results/table.h"

namespace wide::cli {
namespace {

using nlohmann::json;
using profiler::Trace;

struct ProfileArguments {
  ProfileRequest request;
  std::string trace, svg, against, from;
  std::string database;  ///< to keep captures in and to read them from; empty: the default one
  std::string label;
  bool keep = false, roofline = false, limits = false;
  int top = 12;
};

// A file of traces, or else captures of a stored run.
bool is_file(const std::string& choice) {
  std::error_code failed;
  return choice.ends_with(".json") || choice.ends_with(".gz") ||
         std::filesystem::is_regular_file(choice, failed);
}

struct Found {
  std::vector<Trace> traces;  ///< wide first, where there is one
  std::string name;           ///< of a stored run, to tell it from what is captured now; empty: a file's
};

Found find_traces(const ProfileArguments& options, const std::string& choice) {
  Found found;
  if (is_file(choice)) {
    found.traces = profiler::read_chrome_file(choice);
    const auto wide = std::find_if(found.traces.begin(), found.traces.end(),
                                   [](const Trace& trace) { return trace.contender == "wide"; });
    if (wide != found.traces.end()) std::rotate(found.traces.begin(), wide, wide + 1);
    return found;
  }
  std::error_code none;
  if (const auto status = std::filesystem::status(choice, none);
      std::filesystem::exists(status) && !std::filesystem::is_directory(status))
    throw Error("trace", formats::display_name(choice) + ": this is a pipe or a device; name a file");
  const auto store = results::Store::open(database_path(options.database), results::OpenMode::kReadOnly);
  const auto captured = find_captured(store, choice);
  found.traces = app::read_captures(store, captured);
  found.name = "run " + std::to_string(captured.run);
  return found;
}

// What to compare with: the capture of ours in it, else the first.
Trace read_other(const ProfileArguments& options) {
  auto found = find_traces(options, options.against);
  auto& trace = found.traces.at(0);
  if (!found.name.empty()) trace.contender = found.name;
  return std::move(trace);
}

// Captures that were kept, with the peaks of the machine they were taken on.
Profiled read_kept(const ProfileArguments& options, bool peaks) {
  Profiled result{.traces = find_traces(options, options.from).traces};
  const auto& facts = result.traces.at(0).facts;
  if (const auto dtype = facts.find("dtype"); dtype != facts.end()) result.dtype = dtype->second;
  if (!peaks) return result;
  const auto kept = facts.find(profiler::kPeaksFact);
  if (kept == facts.end()) {
    throw Error("roofline",
                results::printable(options.from, 300) +
                    ": was kept without the peaks of its machine; capture it again with --keep, or with "
                    "--trace and --roofline");
  }
  result.peaks = profiler::peaks_from_text(kept->second);
  return result;
}

void write_text(const std::string& path, const std::string& text) {
  formats::naming_file("svg", formats::display_name(path),
                       [&] { formats::replace_file(path, std::array{std::as_bytes(std::span(text))}); });
}

void check(const ProfileArguments& options) {
  const auto& request = options.request;
  const int sources = !request.subject.empty() + !request.model.models.empty() + !options.from.empty();
  if (sources != 1) {
    throw Error("usage",
                "name a built-in subject, or give --model or --from, one of them and not both; `widebench "
                "benchmark` lists the subjects");
  }
  if (!options.from.empty() && (options.keep || !options.label.empty() || request.measure_peaks))
    throw Error("usage", "--from captures nothing: leave --keep, --label and --measure-peaks out");
  if (!options.label.empty() && !options.keep && options.database.empty())
    throw Error("usage", "--label names captures that are kept; give --keep, too");
  check_place("trace", options.trace);
  check_place("svg", options.svg);
  auto read = request.model.read();
  read.push_back(request.inputs);
  const bool uses_database =
      options.keep || !options.database.empty() || !options.from.empty() || !options.against.empty();
  if (uses_database) read.push_back(database_path(options.database).string());
  std::error_code none;
  for (const auto& kept : {options.from, options.against})
    if (std::filesystem::is_regular_file(kept, none)) read.push_back(kept);
  check_not_read(std::array{options.trace, options.svg}, read);
}

// The run of its own that captures are kept with.
std::int64_t keep(const Context& context, const ProfileArguments& options, results::Store& store,
                  const Profiled& profiled) {
  app::SweepJob job{.preset = "profile", .command_line = context.command_line, .label = options.label};
  job.specs = {profiled.spec};
  auto run = app::run_of(job, context.engine);
  // Not "cases": nothing here can be resumed or measured again.
  run.settings = {{"profile", to_json(profiled.spec)}, {"passes", options.request.passes}};
  return app::keep_captures(store, run, profiled.spec, profiled.traces);
}

void print_files(const Context& context, const ProfileArguments& options, std::int64_t run) {
  auto& human = context.human();
  if (!options.trace.empty())
    human << "trace in " << results::printable(options.trace, 4096)
          << "; open it in https://ui.perfetto.dev\n";
  if (run == 0) return;
  human << "kept as run " << run << "; `widebench profile --from " << run
        << results::database_flag(database_path(options.database)) << "` explains it again\n";
}

int run(const Context& context, const ProfileArguments& options, const Capture& capture) {
  check(options);
  auto request = options.request;
  const bool keeps = options.from.empty() && (options.keep || !options.database.empty());
  const bool peaks = options.roofline || options.limits || request.measure_peaks || !options.svg.empty();
  request.peaks = peaks || keeps;
  std::optional<Trace> other;
  if (!options.against.empty()) other = read_other(options);
  // Opened before anything is captured, which may take minutes.
  std::optional<results::Store> store;
  if (keeps) store = results::Store::open(database_path(options.database), results::OpenMode::kReadWrite);
  auto profiled = options.from.empty() ? capture(context, request) : read_kept(options, peaks);
  if (profiled.peaks) profiled.traces[0].facts[profiler::kPeaksFact] = profiler::to_text(*profiled.peaks);
  const auto kept = store ? keep(context, options, *store, profiled) : 0;
  auto result = explain(std::move(profiled.traces), std::move(other));
  if (peaks) {
    result.roofline =
        profiler::roofline(result.traces[0], result.structures[0], *profiled.peaks, profiled.dtype);
  }
  if (options.limits) {
    result.limits =
        profiler::limits(result.traces[0], result.structures[0],
                         result.comparisons.empty() ? nullptr : &result.comparisons[0], &*result.roofline);
  }
  if (!options.trace.empty()) {
    std::vector<const Trace*> all;
    for (const auto& trace : result.traces) all.push_back(&trace);
    profiler::write_chrome_file(options.trace, all);
  }
  if (!options.svg.empty()) write_text(options.svg, to_svg(*result.roofline, result.traces[0]));
  if (context.json) {
    auto all = document(result);
    if (kept != 0) all["run"] = kept;
    context.print(all);
  }
  print(context.human(), result, options.top);
  print_files(context, options, kept);
  return app::kExitDone;
}

}  // namespace

void add_profile(CLI::App& app, Context& context, Capture capture) {
  auto options = std::make_shared<ProfileArguments>();
  auto* command = app.add_subcommand("profile", "Show what runs, wide and separately, and why one is faster");
  command->add_option("NAME", options->request.subject, "built-in subject");
  add_model_options(*command, options->request.model, false);
  command->add_option("-n", options->request.members, "members, where no checkpoints give them (default 4)")
      ->check(between(1, 4096))
      ->excludes("--weights");
  command
      ->add_option("-p,--preset", options->request.preset,
                   "its sizes of a built-in subject: ci, quick (default), full or a file")
      ->excludes("--model");
  command
      ->add_option("--inputs", options->request.inputs,
                   "with --model: safetensors whose shapes to use; made up otherwise")
      ->needs("--model");
  command
      ->add_option("--dtype", options->request.dtype,
                   "of a built-in subject: float32 (default), float64, bfloat16, float16")
      ->check(CLI::IsMember({"float32", "float64", "bfloat16", "float16"}))
      ->excludes("--model");
  command
      ->add_option(
          "--rivals", options->request.rivals,
          "what to capture beside wide: eager (default), threads or none; on a GPU streams and graph")
      ->delimiter(',')
      ->check(CLI::IsMember({"eager", "threads", "streams", "graph", "none"}));
  command
      ->add_option("--passes", options->request.passes,
                   "forward passes to capture (default 20; fewer where they are slow)")
      ->check(between(1, 100000));
  command
      ->add_option("--trace", options->trace, "write the captures for Perfetto; packed when it ends in .gz")
      ->type_name("FILE");
  command
      ->add_option("--from", options->from,
                   "explain captures that were kept, of a run or a trace file, and capture nothing")
      ->type_name("RUN[/CASE]|FILE");
  command
      ->add_option("--against", options->against,
                   "compare with a kept run, or with a trace file, ours or torch.profiler's")
      ->type_name("RUN[/CASE]|FILE");
  command->add_flag("--keep", options->keep, "keep the captures in the database, as a run of their own");
  command
      ->add_option("--db", options->database,
                   "keep them in this database; with --from, read from it. Default of --keep and --from: "
                   "$XDG_DATA_HOME/widebench/results.db")
      ->type_name("FILE");
  command->add_option("--label", options->label, "a name for the kept run in the history")->type_name("TEXT");
  command->add_flag("--roofline", options->roofline, "compare each node with what the machine can do");
  command->add_flag("--limits", options->limits,
                    "say which operation holds the speed-up back, and what is known to help");
  command->add_option("--svg", options->svg, "draw the roofline into this file")->type_name("FILE");
  command->add_flag("--measure-peaks", options->request.measure_peaks, "measure the machine's peaks again");
  command->add_option("-t,--top", options->top, "kernels to list (default 12); 0: all")
      ->check(between(0, 100000));
  for (const auto* name : {"-n", "--preset", "--dtype", "--rivals", "--passes", "--inputs", "--strategy",
                           "--tune", "--plan", "--device", "--mode", "--seed"})
    command->get_option("--from")->excludes(command->get_option(name));  // it captures nothing
  add_common_options(*command, context);
  command->footer(examples({"widebench profile resblock -n 8 --trace t.json",
                            "widebench profile mlp -n 16 --rivals eager,threads --roofline --svg mlp.svg",
                            "widebench profile resblock -n 8 --limits",
                            "widebench profile --model m.pt2 --weights a.safetensors b.safetensors",
                            "widebench profile resblock -n 8 --against kineto.json",
                            "widebench profile resblock -n 8 --keep --label before",
                            "widebench profile --from latest --against latest~1",
                            "widebench profile --from 3/mlp --svg mlp.svg"}));
  set_action(*command, context, [options, &context, capture = std::move(capture)] {
    std::erase(options->request.rivals, "none");
    return run(context, *options, capture);
  });
}

}  // namespace wide::cli
