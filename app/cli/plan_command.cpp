// widebench plan: strategies, layouts and schedule of a model, chosen by measuring; saved, loaded, judged.
#include <fmt/format.h>

#include <array>
#include <memory>
#include <nlohmann/json.hpp>

#include "app/cli/existing_file.h"
#include "app/cli/model_options.h"
#include "app/cli/values.h"
#include "app/exit_code.h"
#include "app/made_up_inputs.h"
#include "app/regret.h"
#include "core/bundle/plan_file.h"
#include "formats/error.h"
#include "presets/zoo/zoo.h"
#include "results/counted.h"

namespace wide::cli {
namespace {

using nlohmann::json;

constexpr std::size_t kMostPlans = 300;

struct PlanArguments {
  ModelOptions model;
  std::vector<std::string> names;
  std::string inputs, output, preset = "ci";
  std::int64_t members = 8;
  double seconds = 20;
  bool regret = false;
};

struct Planned {
  std::string name;
  WideModel model;
  std::vector<ModelInput> inputs;
};

BuildOptions measuring(const Context& context, const PlanArguments& options) {
  auto build = build_options(context, options.model);
  if (!build.plan) build.tuning.tuning = Tuning::kMeasure;
  build.tuning.seconds = options.seconds;
  return build;
}

Planned make(const Context& context, const PlanArguments& options, const std::string& name) {
  const auto build = measuring(context, options);
  if (name.empty()) {
    auto model = load_model(context, options.model, options.members, build);
    auto inputs = app::inputs_for(model, options.inputs, options.model.seed_or());
    return {model.graph().name, std::move(model), std::move(inputs)};
  }
  const auto architecture = zoo::build(name, preset_sizes(options.preset, name));
  const auto seed = options.model.seed_or();
  return {name,
          WideModel(architecture.graph, zoo::make_members(architecture, options.members, seed, at::kFloat),
                    build),
          zoo::make_inputs(architecture, options.members, seed, at::kFloat)};
}

json options_json(const Build& built, std::int64_t members) {
  auto list = json::array();
  for (const auto& one : built.planned.options) {
    list.push_back({{"schedule", describe(one.schedule, members, built.optimized.device)},
                    {"predicted_us", one.predicted / 1e3},
                    {"measured_us", one.measured > 0 ? json(one.measured / 1e3) : json(nullptr)}});
  }
  return list;
}

json to_json(const Build& built, std::int64_t members) {
  const auto& graph = built.optimized;
  auto conversions = json::array();
  for (const auto& one : built.plan().conversions) {
    conversions.push_back({{"value", "%" + graph.values[static_cast<std::size_t>(one.value)].name},
                           {"from", name(one.from)},
                           {"to", name(one.to)},
                           {"copies", one.copies},
                           {"us", one.cost / 1e3}});
  }
  auto nodes = json::array();
  for (std::size_t i = 0; i < graph.nodes.size(); ++i) {
    const auto& node = built.plan().nodes[i];
    json entry{{"op", graph.nodes[i].op},   {"strategy", node.strategy},     {"us", node.offer.cost / 1e3},
               {"measured", node.measured}, {"alternatives", json::array()}, {"refusals", json::array()}};
    for (const auto& other : node.alternatives) {
      entry["alternatives"].push_back(
          {{"strategy", other.strategy}, {"us", other.cost / 1e3}, {"measured", other.measured}});
    }
    for (const auto& refusal : node.refusals)
      entry["refusals"].push_back({{"strategy", refusal.strategy}, {"reason", refusal.reason}});
    nodes.push_back(std::move(entry));
  }
  return {{"schedule", describe(built.planned.schedule, members, built.optimized.device)},
          {"considered", options_json(built, members)},
          {"exact", built.plan().exact},
          {"disturbed", built.planned.doubt.empty() ? json(nullptr) : json(built.planned.doubt)},
          {"tuning_ms", built.tuning_milliseconds},
          {"conversions", conversions},
          {"nodes", nodes}};
}

void print_plan(const Context& context, const Planned& planned, const Build& built) {
  const auto members = planned.model.members();
  context.human() << print(built.optimized, built.plan());
  for (const auto& one : built.planned.options) {
    context.human() << fmt::format(
        "{} {:<55} {}\n", one.schedule == built.planned.schedule ? "*" : " ",
        describe(one.schedule, members, built.optimized.device),
        one.measured > 0 ? fmt::format("{:.1f} us", one.measured / 1e3) : "not built");
  }
  context.human() << fmt::format("{}; {} layout conversions, {} of them copies; planned in {:.2f} s\n",
                                 describe(built.planned.schedule, members, built.optimized.device),
                                 built.plan().conversions.size(), built.plan().copying_conversions(),
                                 built.tuning_milliseconds / 1e3);
}

json to_json(const Planned& planned, const app::Regret& regret) {
  return {{"subject", planned.name},   {"n", planned.model.members()},
          {"plans", regret.plans},     {"complete", regret.complete},
          {"auto_us", regret.auto_us}, {"best_us", regret.best_us},
          {"ratio", regret.ratio},     {"low", regret.low},
          {"high", regret.high},       {"auto", regret.auto_plan},
          {"best", regret.best_plan}};
}

int judge(const Context& context, const PlanArguments& options, const std::vector<std::string>& names) {
  auto document = json::array();
  double sum = 0, worst = 1;
  for (const auto& name : names) {
    auto planned = make(context, options, name);
    const auto regret = app::regret_of(planned.model, planned.inputs, kMostPlans, options.model.seed_or());
    sum += regret.ratio, worst = std::max(worst, regret.ratio);
    document.push_back(to_json(planned, regret));
    context.human() << fmt::format(
        "{:<28} N={:<3} {:>4} plans{}  auto {:>9.1f} us  best {:>9.1f} us  regret "
        "{:>5.1f} % [{:.1f}, {:.1f}]\n",
        planned.name, planned.model.members(), regret.plans, regret.complete ? " " : "+", regret.auto_us,
        regret.best_us, (regret.ratio - 1) * 100, (regret.low - 1) * 100, (regret.high - 1) * 100);
    if (regret.ratio > 1.03)
      context.human() << "    auto: " << regret.auto_plan << "\n    best: " << regret.best_plan << "\n";
    context.human().flush();
  }
  context.human() << fmt::format("mean regret {:.1f} %, worst {:.1f} %, over {}\n",
                                 (sum / static_cast<double>(document.size()) - 1) * 100, (worst - 1) * 100,
                                 results::counted(document.size(), "graph"));
  if (context.json) context.out << document.dump(2) << '\n';
  return app::kExitDone;
}

std::vector<std::string> subjects(const PlanArguments& options) {
  if (!options.model.models.empty()) {
    if (!options.names.empty()) throw Error("usage", "name built-in subjects or give --model, not both");
    return {""};
  }
  auto names = options.names;
  if (names.empty() && options.regret) {
    for (const auto& subject : zoo::subjects()) {
      if (subject.kind == "primitive") names.push_back(subject.name);
    }
  }
  if (names.empty() || (names.size() > 1 && !options.regret)) {
    throw Error("usage",
                "name one built-in subject or give --model; `widebench benchmark` lists the subjects");
  }
  for (const auto& name : names) zoo::find_subject(name);
  return names;
}

int run(const Context& context, const PlanArguments& options) {
  const auto names = subjects(options);
  auto read = options.model.read();
  read.push_back(options.inputs);
  check_not_read(std::array{options.output}, read);
  if (options.regret) return judge(context, options, names);
  auto planned = make(context, options, names[0]);
  const auto& built = planned.model.build(planned.inputs);
  warn_of_plan(context, options.model, built);
  if (!options.output.empty()) {
    write_plan(options.output, store(built.optimized, planned.model.members(), built.planned));
  }
  if (context.json) context.out << to_json(built, planned.model.members()).dump(2) << '\n';
  print_plan(context, planned, built);
  return app::kExitDone;
}

}  // namespace

void add_plan_command(CLI::App& app, Context& context) {
  auto options = std::make_shared<PlanArguments>();
  auto* command = app.add_subcommand(
      "plan", "Choose strategies, layouts and a schedule by measuring; save them, or judge the choice");
  command->add_option("NAME", options->names,
                      "a built-in subject; with --regret several, or none for all "
                      "primitives");
  add_model_options(*command, options->model, false);
  command->get_option("--tune")->group("");  // it always measures
  command->add_option("-n", options->members, "members, where no checkpoints give them (default 8)")
      ->check(between(1, 4096))
      ->excludes("--weights");
  command->add_option("-p,--preset", options->preset, "sizes of a built-in subject (default ci)")
      ->excludes("--model");
  command
      ->add_option("--inputs", options->inputs,
                   "with --model: safetensors with input.K; default: made up, one for each member")
      ->needs("--model");
  command->add_option("--seconds", options->seconds, "measure for no longer than this (default 20)")
      ->check(between(0.0, 86400.0));
  command->add_option("-o,--output", options->output, "write the plan to this file (JSON)");
  command->add_flag(
      "--regret", options->regret,
      "measure every plan there is, where they are few, and say how much slower AUTO's is than the best");
  add_common_options(*command, context);
  command->footer(examples(
      {"widebench plan resblock -n 8",
       "widebench plan --model m.pt2 --weights s*.safetensors --inputs in.safetensors -o m.plan.json",
       "widebench run --plan m.plan.json --model m.pt2 --weights s*.safetensors --inputs "
       "in.safetensors --outputs out.safetensors",
       "widebench plan --regret"}));
  set_action(*command, context, [options, &context] { return run(context, *options); });
}

}  // namespace wide::cli
