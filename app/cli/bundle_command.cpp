// widebench bundle: a planned and compiled wide model as a folder that runs at once elsewhere.
#include <fmt/format.h>

#include <memory>
#include <nlohmann/json.hpp>

#include "app/cli/model_options.h"
#include "app/cli/values.h"
#include "app/exit_code.h"
#include "app/made_up_inputs.h"
#include "core/bundle/bundle.h"
#include "formats/error.h"
#include "formats/fault.h"
#include "formats/file.h"

namespace wide::cli {
namespace {

struct BundleArguments {
  ModelOptions model;
  std::vector<std::string> inputs;
  std::string output;
  double seconds = 20;
  bool force = false;
};

int run(const Context& context, const BundleArguments& options) {
  const auto& given = options.model;
  if (given.models.size() == 1 && is_bundle(given.models[0]))
    throw Error("usage", given.models[0] + ": is a bundle already; copy the folder, or name its model.pt2");
  check_bundle_place(options.output, options.force);
  auto build = build_options(context, given);
  if (!build.plan) build.tuning.tuning = Tuning::kMeasure;
  build.tuning.seconds = options.seconds;
  auto model = load_model(context, given, {}, build);
  for (const auto& file : options.inputs.empty() ? std::vector<std::string>{""} : options.inputs)
    warn_of_plan(context, given, model.build(app::inputs_for(model, file, given.seed_or())));
  const std::filesystem::path program = given.models[0];
  const auto bytes = formats::naming_file("bundle", formats::display_name(program),
                                          [&] { return formats::read_file(program); });
  write_bundle(options.output, bytes, model, options.force);
  const auto kernels = model.sources().size();
  if (context.json) {
    context.print({{"bundle", options.output},
                   {"members", model.members()},
                   {"plans", model.builds()},
                   {"mode", name(model.options().mode)},
                   {"kernels", kernels}});
  }
  const auto s = [](auto count) { return count == 1 ? "" : "s"; };
  context.human() << fmt::format("{} member{}, {} plan{}, {} compiled kernel{}, mode {}\nwritten to {}\n",
                                 model.members(), s(model.members()), model.builds(), s(model.builds()),
                                 kernels, s(kernels), name(model.options().mode), options.output);
  return app::kExitDone;
}

}  // namespace

void add_bundle_command(CLI::App& app, Context& context) {
  auto options = std::make_shared<BundleArguments>();
  auto* command = app.add_subcommand(
      "bundle",
      "Plan and compile a model, and write it as a folder that runs without planning or compiling again");
  options->model.usual_mode = "default";
  add_model_options(*command, options->model);
  command->get_option("--tune")->group("");  // it always measures
  command->add_option("--inputs", options->inputs,
                      "safetensors with input.K, a plan for the shapes in each; default: made up");
  command->add_option("--seconds", options->seconds, "measure for no longer than this (default 20)")
      ->check(between(0.0, 86400.0));
  command->add_option("-o,--output", options->output, "folder to write")->required()->type_name("FOLDER");
  command->add_flag("--force", options->force, "replace a bundle that is there already");
  add_common_options(*command, context);
  command->footer(examples(
      {"widebench bundle --model m.pt2 --weights s*.safetensors --inputs in.safetensors -o fleet.wide",
       "widebench run --model fleet.wide --trust --inputs in.safetensors --outputs out.safetensors"}));
  set_action(*command, context, [options, &context] { return run(context, *options); });
}

}  // namespace wide::cli
