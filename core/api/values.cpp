#include "core/api/values.h"

#include <algorithm>
#include <memory>
#include <utility>

#include "core/tune/cost_book.h"

namespace widebench {
namespace {

std::shared_ptr<wide::CostBook> costs_of_process(bool on_disk) {
  static const auto memory = std::make_shared<wide::CostBook>();
  if (!on_disk) return memory;
  static const auto disk = std::make_shared<wide::CostBook>(wide::CostBook::default_file());
  return disk;
}

wide::Tuning tuning_of(Tuning tuning) {
  if (tuning == Tuning::kEstimate) return wide::Tuning::kEstimate;
  return tuning == Tuning::kCached ? wide::Tuning::kCached : wide::Tuning::kMeasure;
}

}  // namespace

Config Config::fast() {
  Config config;
  config.tuning = Tuning::kEstimate;
  return config;
}

Config Config::debug() {
  auto config = fast();
  config.validate = config.snapshots = true;
  return config;
}

Config Config::safe() {
  Config config;
  config.validate = true;
  return config;
}

bool Proof::passed() const {
  return std::ranges::all_of(checks, &ProofCheck::passed);
}

wide::BuildOptions options_of(const Config& config) {
  wide::BuildOptions options;
  options.mode = wide::parse_mode(config.mode);
  for (std::size_t begin = 0; begin < config.strategy.size();) {
    const auto end = std::min(config.strategy.find('+', begin), config.strategy.size());
    add_choice(options.strategies, config.strategy.substr(begin, end - begin));
    begin = end + 1;
  }
  check_choice(options.strategies);
  options.tuning.tuning = tuning_of(config.tuning);
  options.tuning.seconds = config.seconds;
  options.costs = costs_of_process(config.cost_file);
  options.seed = config.seed;
  options.pipeline.snapshots = config.snapshots;
  return options;
}

Plan plan_of(const wide::Build& build, std::int64_t members) {
  const auto& plan = build.plan();
  Plan values{print(build.optimized, plan), describe(build.planned.schedule, members), {}};
  for (std::size_t i = 0; i < plan.nodes.size(); ++i) {
    const auto& node = build.optimized.nodes[i];
    const auto& chosen = plan.nodes[i];
    const auto result = std::ranges::find_if(node.results, [](wide::ValueId id) { return id >= 0; });
    const wide::Alternative* second = nullptr;
    for (const auto& other : chosen.alternatives) {
      if (other.strategy != chosen.strategy && (!second || other.cost < second->cost)) second = &other;
    }
    PlanNode value{.op = node.op,
                   .result = {},
                   .strategy = plan.at_build(node) ? std::string(wide::kConstantStrategy) : chosen.strategy,
                   .module_path = node.module_path,
                   .nanoseconds = chosen.offer.cost,
                   .measured = chosen.measured,
                   .second = second ? second->strategy : "",
                   .second_nanoseconds = second ? second->cost : 0};
    if (result != node.results.end())
      value.result = "%" + build.optimized.values[static_cast<std::size_t>(*result)].name;
    values.nodes.push_back(std::move(value));
  }
  return values;
}

Report report_of(const wide::Build& build, const wide::WideModel& model) {
  const auto found = coverage(build);
  Report report;
  report.members = model.members();
  report.wide = found.nodes - found.sequential;
  report.sequential = found.sequential;
  report.shared = found.shared;
  report.constant = found.constant;
  report.conversions = found.conversions;
  report.copies = found.copies;
  report.sequential_ops = found.sequential_ops;
  report.schedule = found.schedule;
  report.weight_bytes = model.weight_bytes();
  report.builds = static_cast<std::int64_t>(model.builds());
  report.random = build.random;
  for (std::size_t i = 0; i < build.written.size(); ++i) {
    const auto& input = build.specialized.inputs[i];
    if (build.written[i] && input.kind == wide::InputKind::kUser)
      report.written_inputs.push_back(build.specialized.values[static_cast<std::size_t>(input.value)].name);
  }
  report.milliseconds = build.milliseconds;
  report.tuning_milliseconds = build.tuning_milliseconds;
  for (const auto& stage : build.stages)
    report.stages.push_back({stage.name, stage.milliseconds, stage.text});
  return report;
}

Proof proof_of(const wide::Proof& proof) {
  Proof values{{}, proof.notes};
  for (const auto& check : proof.checks) {
    values.checks.push_back(
        {check.what, check.member, check.text, check.max_abs, check.max_rel, check.tolerance, check.passed});
  }
  return values;
}

}  // namespace widebench
