#include "app/cli/profile.h"

#include <array>
#include <filesystem>
#include <memory>
#include <nlohmann/json.hpp>
#include <utility>

#include "app/cli/profile_report.h"
#include "app/exit_code.h"
#include "formats/error.h"
#include "formats/fault.h"
#include "formats/file.h"
#include "profiler/trace/chrome_export.h"
#include "profiler/trace/chrome_import.h"
#include "results/table.h"

namespace wide::cli {
namespace {

using nlohmann::json;
using profiler::Trace;

struct Options {
  ProfileRequest request;
  std::string trace, svg, against;
  bool roofline = false;
  int top = 12;
};

// A trace of another run or of torch.profiler, to compare with: the capture of ours in it, else the first.
Trace read_other(const std::string& file) {
  auto traces = profiler::read_chrome_file(file);
  for (auto& trace : traces) {
    if (trace.contender == "wide") return std::move(trace);
  }
  return std::move(traces.at(0));
}

void write_text(const std::string& path, const std::string& text) {
  formats::naming_file("svg", formats::display_name(path),
                       [&] { formats::replace_file(path, std::array{std::as_bytes(std::span(text))}); });
}

// Found before anything is captured, which may take minutes.
void check_folder(const char* stage, const std::string& file) {
  if (file.empty()) return;
  const auto folder = std::filesystem::absolute(file).parent_path();
  std::error_code failed;
  if (std::filesystem::is_directory(folder, failed)) return;
  throw Error(stage, formats::display_name(file) + ": its folder does not exist; create it or name another");
}

int run(const Context& context, const Options& options, const Capture& capture) {
  auto request = options.request;
  if (request.subject.empty() == request.model.models.empty()) {
    throw Error(
        "usage",
        "name a built-in subject or give --model, not both; `widebench benchmark` lists the subjects");
  }
  check_folder("trace", options.trace);
  check_folder("svg", options.svg);
  std::optional<Trace> other;
  if (!options.against.empty()) other = read_other(options.against);
  request.peaks = options.roofline || request.measure_peaks || !options.svg.empty();
  auto profiled = capture(context, request);
  auto result = explain(std::move(profiled.traces), std::move(other));
  if (profiled.peaks) {
    result.roofline =
        profiler::roofline(result.traces[0], result.structures[0], *profiled.peaks, profiled.dtype);
  }
  if (!options.trace.empty()) {
    std::vector<const Trace*> all;
    for (const auto& trace : result.traces) all.push_back(&trace);
    profiler::write_chrome_file(options.trace, all);
  }
  if (!options.svg.empty()) write_text(options.svg, to_svg(*result.roofline, result.traces[0]));
  if (context.json)
    context.out << document(result).dump(2, ' ', false, json::error_handler_t::replace) << '\n';
  print(context.human(), result, options.top);
  if (!options.trace.empty()) {
    context.human() << "trace in " << results::printable(options.trace, 4096)
                    << "; open it in https://ui.perfetto.dev\n";
  }
  return app::kExitDone;
}

}  // namespace

void add_profile(CLI::App& app, Context& context, Capture capture) {
  auto options = std::make_shared<Options>();
  auto* command = app.add_subcommand("profile", "Show what runs, wide and separately, and why one is faster");
  command->add_option("NAME", options->request.subject, "built-in subject");
  add_model_options(*command, options->request.model, false);
  command->add_option("-n", options->request.members, "members, where no checkpoints give them (default 4)")
      ->check(CLI::Range(1, 4096));
  command->add_option("-p,--preset", options->request.preset,
                      "its sizes of a built-in subject: ci, quick (default), full or a file");
  command->add_option("--inputs", options->request.inputs,
                      "safetensors whose shapes to use; made up otherwise");
  command
      ->add_option("--dtype", options->request.dtype,
                   "of a built-in subject: float32 (default), float64, bfloat16, float16")
      ->check(CLI::IsMember({"float32", "float64", "bfloat16", "float16"}));
  command
      ->add_option("--rivals", options->request.rivals,
                   "what to capture beside wide: eager (default), threads or none")
      ->delimiter(',')
      ->check(CLI::IsMember({"eager", "threads", "none"}));
  command
      ->add_option("--passes", options->request.passes,
                   "forward passes to capture (default 20; fewer where they are slow)")
      ->check(CLI::Range(1, 100000));
  command
      ->add_option("--trace", options->trace, "write the captures for Perfetto; packed when it ends in .gz")
      ->type_name("FILE");
  command->add_option("--against", options->against, "compare with this trace, ours or torch.profiler's")
      ->type_name("FILE");
  command->add_flag("--roofline", options->roofline, "compare each node with what the machine can do");
  command->add_option("--svg", options->svg, "draw the roofline into this file")->type_name("FILE");
  command->add_flag("--measure-peaks", options->request.measure_peaks, "measure the machine's peaks again");
  command->add_option("-t,--top", options->top, "kernels to list (default 12); 0: all")
      ->check(CLI::Range(0, 100000));
  add_common_options(*command, context);
  command->footer(examples({"widebench profile resblock -n 8 --trace t.json",
                            "widebench profile mlp -n 16 --rivals eager,threads --roofline --svg mlp.svg",
                            "widebench profile --model m.pt2 --weights a.safetensors b.safetensors",
                            "widebench profile resblock -n 8 --against kineto.json"}));
  set_action(*command, context, [options, &context, capture = std::move(capture)] {
    std::erase(options->request.rivals, "none");
    return run(context, *options, capture);
  });
}

}  // namespace wide::cli
