// widebench profile: what ran, wide and separately, and why one is faster.
#include <fmt/format.h>

#include <array>
#include <filesystem>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>

#include "app/capture/peaks.h"
#include "app/capture/profile_job.h"
#include "app/cli/model_options.h"
#include "app/cli/profile_report.h"
#include "app/exit_code.h"
#include "app/made_up_inputs.h"
#include "core/torch_bridge.h"
#include "formats/error.h"
#include "formats/fault.h"
#include "formats/file.h"
#include "presets/zoo/zoo.h"
#include "profiler/trace/chrome_export.h"
#include "profiler/trace/chrome_import.h"
#include "results/table.h"

namespace wide::cli {
namespace {

using nlohmann::json;
using profiler::Trace;

struct Options {
  ModelOptions model;
  std::string subject, inputs, dtype = "float32", preset = "quick";
  std::int64_t members = 4;
  std::vector<std::string> rivals{"eager"};
  std::int64_t passes = 20;
  std::string trace, svg, against;
  bool roofline = false, measure_peaks = false;
  int top = 12;
};

struct Subject {
  std::string name, dtype;
  WideModel model;
  std::vector<ModelInput> inputs;
};

// As a sweep builds it: what nobody has measured yet is measured.
BuildOptions measuring(const Context& context, const Options& options) {
  auto build = build_options(context, options.model);
  if (!build.plan) build.tuning.tuning = Tuning::kMeasure;
  return build;
}

// The arithmetic peak to compare with is that of the weights.
std::string dtype_of(const WideModel& model, const std::string& otherwise) {
  for (const auto& [fqn, tensor] : model.member_list()[0].tensors) {
    if (tensor.is_floating_point()) return dtype_name(tensor.scalar_type());
  }
  return otherwise;
}

Subject make_subject(const Context& context, const Options& options) {
  if (options.subject.empty() == options.model.models.empty()) {
    throw Error(
        "usage",
        "name a built-in subject or give --model, not both; `widebench benchmark` lists the subjects");
  }
  const auto build = measuring(context, options);
  if (options.subject.empty()) {
    auto model = load_model(context, options.model, options.members, build);
    auto inputs = app::inputs_for(model, options.inputs, options.model.seed);
    const auto name = std::filesystem::path(options.model.models[0]).stem().string();
    const auto dtype = dtype_of(model, options.dtype);
    return {name, dtype, std::move(model), std::move(inputs)};
  }
  const auto type = parse_dtype(options.dtype).value();
  const auto architecture = zoo::build(options.subject, preset_sizes(options.preset, options.subject));
  const auto seed = options.model.seed;
  return {options.subject, options.dtype,
          WideModel(architecture.graph, zoo::make_members(architecture, options.members, seed, type), build),
          zoo::make_inputs(architecture, options.members, seed, type)};
}

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

int run(const Context& context, const Options& options) {
  std::optional<Trace> other;
  if (!options.against.empty()) other = read_other(options.against);
  auto subject = make_subject(context, options);
  app::ProfileOptions wanted{subject.name, subject.dtype, options.passes, 1, options.rivals};
  auto result = explain(app::profile(subject.model, subject.inputs, wanted), std::move(other));
  if (options.roofline || !options.svg.empty()) {
    result.roofline = profiler::roofline(result.traces[0], result.structures[0],
                                         app::stored_peaks(options.measure_peaks), subject.dtype);
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

void add_profile_command(CLI::App& app, Context& context) {
  auto options = std::make_shared<Options>();
  auto* command = app.add_subcommand("profile", "Show what runs, wide and separately, and why one is faster");
  command->add_option("NAME", options->subject, "built-in subject");
  add_model_options(*command, options->model, false);
  command->add_option("-n", options->members, "members, where no checkpoints give them (default 4)")
      ->check(CLI::Range(1, 4096));
  command->add_option("-p,--preset", options->preset,
                      "its sizes of a built-in subject: ci, quick (default), full or a file");
  command->add_option("--inputs", options->inputs, "safetensors whose shapes to use; made up otherwise");
  command
      ->add_option("--dtype", options->dtype,
                   "of a built-in subject: float32 (default), float64, bfloat16, float16")
      ->check(CLI::IsMember({"float32", "float64", "bfloat16", "float16"}));
  command
      ->add_option("--rivals", options->rivals,
                   "what to capture beside wide: eager (default), threads or none")
      ->delimiter(',')
      ->check(CLI::IsMember({"eager", "threads", "none"}));
  command
      ->add_option("--passes", options->passes,
                   "forward passes to capture (default 20; fewer where they are slow)")
      ->check(CLI::Range(1, 100000));
  command
      ->add_option("--trace", options->trace, "write the captures for Perfetto; packed when it ends in .gz")
      ->type_name("FILE");
  command->add_option("--against", options->against, "compare with this trace, ours or torch.profiler's")
      ->type_name("FILE");
  command->add_flag("--roofline", options->roofline, "compare each node with what the machine can do");
  command->add_option("--svg", options->svg, "draw the roofline into this file")->type_name("FILE");
  command->add_flag("--measure-peaks", options->measure_peaks, "measure the machine's peaks again");
  command->add_option("-t,--top", options->top, "kernels to list (default 12); 0: all")
      ->check(CLI::Range(0, 100000));
  add_common_options(*command, context);
  command->footer(examples({"widebench profile resblock -n 8 --trace t.json",
                            "widebench profile mlp -n 16 --rivals eager,threads --roofline --svg mlp.svg",
                            "widebench profile --model m.pt2 --weights a.safetensors b.safetensors",
                            "widebench profile resblock -n 8 --against kineto.json"}));
  set_action(*command, context, [options, &context] {
    std::erase(options->rivals, "none");
    return run(context, *options);
  });
}

}  // namespace wide::cli
