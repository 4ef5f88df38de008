// widebench trace: the graph, stage by stage, with strategies and layouts.
#include <fmt/format.h>

#include <algorithm>
#include <memory>
#include <nlohmann/json.hpp>

#include "app/cli/model_options.h"
#include "app/cli/values.h"
#include "app/coverage_json.h"
#include "app/exit_code.h"
#include "app/made_up_inputs.h"
#include "core/aten/torch_bridge.h"
#include "formats/error.h"
#include "presets/zoo/zoo.h"

namespace wide::cli {
namespace {

using nlohmann::json;

struct TraceArguments {
  ModelOptions model;
  std::string subject, after, inputs, preset = "ci";
  std::int64_t members = 4;
};

struct Traced {
  WideModel model;
  std::vector<ModelInput> inputs;
};

Traced make_model(const Context& context, const TraceArguments& options) {
  if (options.subject.empty() == options.model.models.empty()) {
    throw Error(
        "usage",
        "name a built-in subject or give --model, not both; `widebench benchmark` lists the subjects");
  }
  if (!options.subject.empty()) {
    const auto architecture = zoo::build(options.subject, preset_sizes(options.preset, options.subject));
    auto build = build_options(context, options.model);
    build.pipeline.snapshots = true;
    const auto seed = options.model.seed_or();
    return {WideModel(architecture.graph, zoo::make_members(architecture, options.members, seed, at::kFloat),
                      build),
            zoo::make_inputs(architecture, options.members, seed, at::kFloat)};
  }
  auto model = load_model(context, options.model, options.members);
  auto inputs = app::inputs_for(model, options.inputs, options.model.seed_or());
  return {std::move(model), std::move(inputs)};
}

json nodes_json(const Build& built) {
  auto list = json::array();
  for (std::size_t i = 0; i < built.optimized.nodes.size(); ++i) {
    const auto& node = built.plan().nodes[i];
    json entry{{"op", built.optimized.nodes[i].op},
               {"module", built.optimized.nodes[i].module_path},
               {"primitive", node.primitive},
               {"strategy", node.strategy},
               {"refusals", json::array()}};
    for (const auto& layout : node.offer.operands) entry["operands"].push_back(name(layout));
    for (const auto& layout : node.offer.results) entry["results"].push_back(name(layout));
    for (const auto& refusal : node.refusals)
      entry["refusals"].push_back({{"strategy", refusal.strategy}, {"reason", refusal.reason}});
    list.push_back(std::move(entry));
  }
  return list;
}

int run(const Context& context, const TraceArguments& options) {
  auto [model, inputs] = make_model(context, options);
  const auto& built = model.build(inputs);
  warn_of_plan(context, options.model, built);
  const auto cover = coverage(built);
  const auto& stages = built.stages;
  if (!options.after.empty() && std::none_of(stages.begin(), stages.end(), [&](const StageRecord& stage) {
        return stage.name == options.after;
      })) {
    std::string names;
    for (const auto& stage : stages) names += (names.empty() ? "" : ", ") + stage.name;
    throw Error("usage", "there is no stage '" + options.after + "'; there are " + names);
  }
  if (context.json) {
    json document{{"graph", built.canonical.name},
                  {"members", model.members()},
                  {"coverage", app::to_json(cover)},
                  {"nodes", nodes_json(built)},
                  {"stages", json::array()}};
    for (const auto& stage : stages) {
      if (!options.after.empty() && stage.name != options.after) continue;
      document["stages"].push_back(
          {{"name", stage.name}, {"milliseconds", stage.milliseconds}, {"text", stage.text}});
    }
    context.print(document);
    return app::kExitDone;
  }
  for (const auto& stage : stages) {
    const bool wanted = options.after.empty() ? stage.name == "widen" : stage.name == options.after;
    if (wanted) context.out << stage.text;
  }
  context.human() << app::describe(cover, model.members());
  return app::kExitDone;
}

}  // namespace

void add_trace_command(CLI::App& app, Context& context) {
  auto options = std::make_shared<TraceArguments>();
  auto* command =
      app.add_subcommand("trace", "Print the graph of a model after any stage, with strategies and layouts");
  command->add_option("NAME", options->subject, "built-in subject");
  add_model_options(*command, options->model, false);
  command->add_option("-n", options->members, "members, where no checkpoints give them (default 4)")
      ->check(between(1, 4096))
      ->excludes("--weights");
  command
      ->add_option("-p,--preset", options->preset, "sizes of a built-in subject (default ci, as of `plan`)")
      ->excludes("--model");
  command->add_option("--after", options->after,
                      "stage: capture, specialize, functionalize, canonicalize, optimize, widen or compile");
  command
      ->add_option("--inputs", options->inputs,
                   "with --model: safetensors whose shapes to use; made up otherwise")
      ->needs("--model");
  add_common_options(*command, context);
  command->footer(
      examples({"widebench trace resblock -n 8", "widebench trace --model m.pt2 --after canonicalize",
                "widebench trace --model m.pt2 --weights a.safetensors b.safetensors --json"}));
  set_action(*command, context, [options, &context] { return run(context, *options); });
}

}  // namespace wide::cli
