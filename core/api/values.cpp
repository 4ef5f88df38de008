#include "core/api/values.h"

#include <ATen/ATen.h>
#include <ATen/EmptyTensor.h>
#include <c10/core/InferenceMode.h>
#include <c10/util/Exception.h>

#include <algorithm>
#include <cmath>
#include <memory>
#include <string>
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

// libtorch warns that nested tensors may change; of them only making and taking apart is used here.
class Silence : public c10::WarningHandler {
  void process(const c10::Warning& /*warning*/) override {}
};

at::Tensor nested(const std::vector<at::Tensor>& each) {
  Silence silence;
  const c10::WarningUtils::WarningHandlerGuard guard(&silence);
  return at::_nested_tensor_from_tensor_list(each);
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
  for (std::size_t begin = 0; begin <= config.strategy.size();) {
    const auto end = std::min(config.strategy.find('+', begin), config.strategy.size());
    add_choice(options.strategies, config.strategy.substr(begin, end - begin));
    begin = end + 1;
  }
  check_choice(options.strategies);
  options.tuning.tuning = tuning_of(config.tuning);
  if (!std::isfinite(config.seconds) || config.seconds < 0)
    throw wide::Error("usage", "seconds: " + std::to_string(config.seconds) +
                                   " is no length of time; give a number from 0");
  options.tuning.seconds = config.seconds;
  options.costs = costs_of_process(config.cost_file);
  options.seed = config.seed;
  options.pipeline.snapshots = config.snapshots;
  return options;
}

Plan plan_of(const wide::Build& build, std::int64_t members) {
  const auto& plan = build.plan();
  Plan values{
      print(build.optimized, plan), describe(build.planned.schedule, members), {}, build.planned.doubt};
  if (!values.disturbed.empty())
    values.text.append("# ").append(values.disturbed).append(": another plan may be faster\n");
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

bool lacks_memory(const at::Tensor& tensor) {
  return tensor.storage().nbytes() < at::detail::computeStorageNbytes(tensor.sizes(), tensor.strides(),
                                                                      tensor.element_size(),
                                                                      tensor.storage_offset());
}

std::vector<wide::ModelInput> inputs_of(std::span<const Input> given) {
  std::vector<wide::ModelInput> inputs;
  inputs.reserve(given.size());
  for (const auto& input : given) {
    const at::Tensor& tensor = input.tensor;
    if (!tensor.defined())
      throw wide::Error("run", "input." + std::to_string(inputs.size()) + " is no tensor; give one");
    if (tensor.layout() != at::kStrided || tensor.is_nested() || tensor.is_quantized())
      throw wide::Error("run", "input." + std::to_string(inputs.size()) +
                                   " is sparse, nested or quantized; give a dense tensor");
    if (tensor.is_meta() || (!tensor._is_zerotensor() && lacks_memory(tensor)))
      throw wide::Error(
          "run", "input." + std::to_string(inputs.size()) + " has no memory; give a tensor with numbers");
    if (input.mapped && tensor.dim() == 0)
      throw wide::Error("run", "input." + std::to_string(inputs.size()) + " has no axis of members");
    if (input.mapped && tensor.size(0) == 0)
      throw wide::Error("run", "input." + std::to_string(inputs.size()) + " is given for no member");
    inputs.push_back({tensor.resolve_conj().resolve_neg(), input.mapped});  // kernels read the memory
  }
  return inputs;
}

at::Tensor ordinary(const at::Tensor& given) {
  if (!given.is_inference() || c10::InferenceMode::is_enabled()) return given;
  const auto tensor = given.resolve_conj().resolve_neg();
  auto result = at::detail::make_tensor<c10::TensorImpl>(
      c10::Storage(tensor.storage()), c10::DispatchKeySet(c10::DispatchKey::CPU), tensor.dtype());
  auto* impl = result.unsafeGetTensorImpl();
  impl->set_storage_offset(tensor.storage_offset());
  impl->set_sizes_and_strides(tensor.sizes(), tensor.strides());
  return result;
}

Output of_all(wide::ModelOutput output, std::int64_t members) {
  const auto& parts = output.parts;
  const auto differs = [&](const auto& part) { return part.sizes().slice(1) != parts[0].sizes().slice(1); };
  if (!output.mapped || std::ranges::none_of(parts, differs))
    return {std::move(output.name), ordinary(output.stacked()), output.mapped, {}};
  std::vector<at::Tensor> each;
  for (std::int64_t i = 0; i < members; ++i) each.push_back(ordinary(output.member(i)));
  const bool same_axes =
      std::ranges::all_of(parts, [&](const auto& part) { return part.dim() == parts[0].dim(); });
  if (same_axes) return {std::move(output.name), nested(each), true, {}};
  return {std::move(output.name), {}, true, {each.begin(), each.end()}};
}

}  // namespace widebench
