#include "app/cli/model_options.h"

#include "app/devices.h"
#include "app/member_copies.h"
#include "core/bundle/bundle.h"
#include "core/bundle/plan_file.h"
#include "core/frontend/members.h"
#include "formats/error.h"
#include "presets/preset.h"

namespace wide::cli {

std::map<std::string, std::int64_t> preset_sizes(const std::string& preset, const std::string& subject) {
  const auto known = presets::read_preset(presets::find_preset(preset), {});
  for (const auto& spec : known.cases) {
    if (spec.subject == subject) return spec.shape;
  }
  return {};
}

StrategyChoice parse_strategies(const std::vector<std::string>& given) {
  StrategyChoice choice;
  for (const auto& text : given) add_choice(choice, text);
  check_choice(choice);
  return choice;
}

void warn_of_plan(const Context& context, const ModelOptions& options, const Build& built) {
  const auto objection = built.plan().objection_to(built.optimized, options.strategies);
  if (!objection.empty()) context.log(LogLevel::kWarn, objection);
  if (const auto& doubt = built.planned.doubt; !doubt.empty()) {
    context.log(LogLevel::kWarn, doubt +
                                     ": another plan may be faster. Once the machine is quiet, plan again: "
                                     "these times are then taken anew");
  }
}

BuildOptions build_options(const Context& context, const ModelOptions& options) {
  BuildOptions build;
  build.device = app::open_device(options.device);
  build.mode = parse_mode(options.mode_or());
  build.strategies = parse_strategies(options.strategies);
  build.seed = options.seed_or();
  build.costs = std::make_shared<CostBook>(CostBook::default_file());
  build.tuning.tuning = options.tune ? Tuning::kMeasure : Tuning::kCached;
  if (options.tune) {
    build.tuning.progress = [&context](const std::string& what) {
      context.log(LogLevel::kDebug, "measuring " + what);
    };
  }
  if (!options.plan.empty()) build.plan = read_plan(options.plan);
  build.warn = [&context](const std::string& what) { context.log(LogLevel::kWarn, what); };
  return build;
}

namespace {

// Its members, and how it was built, where the user does not say otherwise.
LoadedModel open_bundle(const ModelOptions& options, BuildOptions& build) {
  if (!options.weights.empty())
    throw Error("usage", "a bundle has its members; leave --weights out, or name its model.pt2");
  auto bundle = read_bundle(options.models[0], {options.trust});
  if (!options.mode.empty() && options.mode != name(bundle.mode)) {
    throw Error("usage", "the bundle was made for mode '" + std::string(name(bundle.mode)) +
                             "'; leave --mode out, or make another bundle");
  }
  build.mode = bundle.mode;
  build.seed = options.seed_or(bundle.seed);
  if (options.strategies.empty() && options.plan.empty() && !options.tune)
    build.plans = std::move(bundle.plans);
  return std::move(bundle.loaded);
}

}  // namespace

WideModel load_model(const Context& context, const ModelOptions& options, std::optional<std::int64_t> copies,
                     std::optional<BuildOptions> given) {
  auto build = given ? std::move(*given) : build_options(context, options);
  build.pipeline.snapshots = copies.has_value();
  const std::vector<std::filesystem::path> models(options.models.begin(), options.models.end());
  const std::vector<std::filesystem::path> weights(options.weights.begin(), options.weights.end());
  const bool bundled = models.size() == 1 && is_bundle(models[0]);
  auto loaded = bundled ? open_bundle(options, build) : load(models, weights, {options.trust});
  for (const auto& warning : loaded.warnings) context.log(LogLevel::kWarn, warning);
  if (copies && loaded.members.size() == 1 && weights.empty())
    loaded.members = app::copies_of(loaded.graph, loaded.members[0], *copies);
  return WideModel(std::move(loaded.graph), std::move(loaded.members), std::move(build));
}

}  // namespace wide::cli
