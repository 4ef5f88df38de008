#include "app/measure_case.h"

#include <ATen/ATen.h>
#include <ATen/Parallel.h>
#include <sys/resource.h>

#include <algorithm>
#include <chrono>
#include <nlohmann/json.hpp>
#include <optional>

#include "app/coverage_json.h"
#include "app/devices.h"
#include "app/made_up_inputs.h"
#include "app/member_copies.h"
#include "app/peer_rivals.h"
#include "app/rivals.h"
#include "core/prove.h"
#include "core/recorded_pass.h"
#include "core/sequential.h"
#include "core/strategy_text.h"
#include "core/torch_bridge.h"
#include "formats/error.h"
#include "presets/zoo/zoo.h"
#include "profiler/measure.h"

namespace wide::app {
namespace {

using results::CaseRecord;
using results::Verdict;

struct Prepared {
  WideModel model;
  std::vector<ModelInput> inputs;
};

// Why no operation runs by the strategy, or empty where one does.
std::string objection_to_one(const Plan& plan, const std::string& strategy) {
  if (strategy == kAuto || strategy == kWide || strategy == kSequential.name) return "";
  const auto name = strategy_name(strategy);
  std::string refusal;
  for (const auto& node : plan.nodes) {
    if (node.strategy == name) return "";
    for (const auto& one : node.refusals) {
      if (one.strategy == name && refusal.empty()) refusal = ": " + one.reason;
    }
  }
  return "no operation here runs by the strategy " + name + refusal;
}

// Why the case would not measure what its name says, or empty: a strategy that no operation runs by would be
// `auto` again.
std::string objection_to(const Plan& plan, const std::string& strategies) {
  for (const auto& strategy : strategies_in(strategies)) {
    if (auto objection = objection_to_one(plan, strategy); !objection.empty()) return objection;
  }
  return "";
}

// No pass shall pay for moving its inputs.
std::vector<ModelInput> on_device(std::vector<ModelInput> inputs, at::Device device) {
  for (auto& input : inputs) input.tensor = input.tensor.to(device);
  return inputs;
}

Prepared prepare(const presets::CaseSpec& spec) {
  BuildOptions options;
  options.seed = spec.seed;
  options.mode = parse_mode(spec.mode);
  add_choice(options.strategies, spec.strategy);
  options.tuning.tuning = Tuning::kMeasure;
  options.device = open_device(spec.device);
  options.costs = std::make_shared<CostBook>(CostBook::default_file());
  check_choice(options.strategies);
  if (spec.kind == "model") {
    auto loaded = load({spec.model}, {spec.weights.begin(), spec.weights.end()});
    fill_up(loaded.graph, loaded.members, spec.n);
    WideModel model(std::move(loaded.graph), std::move(loaded.members), options);
    auto inputs = on_device(made_up_inputs(model, spec.seed), options.device.device);
    return {std::move(model), std::move(inputs)};
  }
  const auto dtype = parse_dtype(spec.dtype);
  if (!dtype) throw Error("preset", "unknown dtype '" + spec.dtype + "'");
  const auto architecture = zoo::build(spec.subject, spec.shape);
  return {WideModel(architecture.graph, zoo::make_members(architecture, spec.n, spec.seed, *dtype), options),
          on_device(zoo::make_inputs(architecture, spec.n, spec.seed, *dtype), options.device.device)};
}

// Whether passes are launched as a whole, where they were to be.
void add_recording(CaseRecord& record, const Execution& execution) {
  const auto* recorded = execution.recorded();
  if (recorded == nullptr) return;
  record.plan["recorded"] = recorded->is_recorded();
  if (!recorded->refusal().empty()) record.plan["not_recorded"] = recorded->refusal();
}

nlohmann::json plan_json(const Build& built) {
  nlohmann::json plan = to_json(coverage(built));
  plan["tuning_ms"] = built.tuning_milliseconds;
  for (std::size_t i = 0; i < built.plan().nodes.size(); ++i) {
    plan["strategies"].push_back(
        {{"op", built.optimized.nodes[i].op}, {"strategy", built.plan().nodes[i].strategy}});
  }
  return plan;
}

void add_proof(CaseRecord& record, const Proof& proof) {
  for (const auto& check : proof.checks) {
    record.checks.push_back(
        {check.what, check.member, check.max_abs, check.max_rel, check.tolerance, check.passed, check.text});
  }
  record.verdict = proof.passed() ? Verdict::kPass : Verdict::kFail;
  if (proof.passed()) return;
  for (const auto& check : proof.checks) {
    if (!check.passed) record.reason = check.what + ": " + check.text;
  }
}

// Of the memory that models lie in.
std::int64_t peak_memory(at::Device device) {
  if (!device.is_cpu()) return peak_bytes(device);
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  return static_cast<std::int64_t>(usage.ru_maxrss) * 1024;
}

void skip(CaseRecord& record, std::string reason) {
  record.verdict = Verdict::kSkipped;
  record.reason = std::move(reason);
}

// nullptr when the planner or a strategy refuses: the record then says why.
const Build* build(WideModel& model, const std::vector<ModelInput>& inputs, const std::string& strategy,
                   CaseRecord& record) try {
  const auto& built = model.build(inputs);
  auto objection = objection_to(built.plan(), strategy);
  if (objection.empty()) objection = unprovable(built.plan());
  if (objection.empty()) return &built;
  skip(record, std::move(objection));
  return nullptr;
} catch (const Error& error) {
  if (error.stage() != "plan") throw;
  skip(record, error.what());
  return nullptr;
}

// In the order that the case names its rivals in; Python rivals that cannot run are left out.
std::vector<profiler::Contender> make_contenders(const presets::CaseSpec& spec, std::function<void()> wide,
                                                 const SeparateRuns& separate, const PeerRivals* peers,
                                                 CaseRecord& record) {
  const auto python = python_rivals(spec);
  const auto far = peers == nullptr ? std::vector<profiler::Contender>() : peers->contenders();
  std::vector<profiler::Contender> contenders{{"wide", std::move(wide)}};
  for (const auto& rival : spec.rivals) {
    if (std::find(python.begin(), python.end(), rival) == python.end()) {
      try {
        contenders.push_back({rival, separate.contender(rival)});
      } catch (const c10::Error& error) {  // the device cannot: the others are measured without it
        record.plan["left_out"][rival] = error.what_without_backtrace();
      }
      continue;
    }
    const auto found = std::find_if(far.begin(), far.end(), [&](const auto& c) { return c.name == rival; });
    if (found != far.end()) contenders.push_back(*found);
  }
  return contenders;
}

// A run is over when the device has done it, not when it was given it.
void wait_for(at::Device device, std::vector<profiler::Contender>& contenders) {
  for (auto& contender : contenders) {
    if (!contender.run) continue;
    contender.run = [device, run = std::move(contender.run)] {
      run();
      synchronize(device);
    };
  }
}

void measure_rounds(const presets::CaseSpec& spec, WideModel& model, const std::vector<ModelInput>& inputs,
                    CaseRecord& record) {
  const auto wide = [&] { model.forward(inputs); };
  const SeparateRuns separate(model, inputs);
  std::optional<PeerRivals> peers;
  if (!python_rivals(spec).empty()) peers.emplace(spec, model, inputs);
  profiler::SteadyClock clock;
  const auto rounds = [&] {
    auto contenders = make_contenders(spec, wide, separate, peers ? &*peers : nullptr, record);
    if (const auto device = model.options().device.device; !device.is_cpu()) wait_for(device, contenders);
    results::add_measurement(record, profiler::measure(contenders, spec.stopping, spec.seed, clock, {}));
  };
  try {
    rounds();
  } catch (const Error& error) {
    if (!peers || error.stage() != "peers") throw;
    peers->give_up(error.what());  // their process died: the others are measured without them
    rounds();
  }
  if (peers) record.plan["peers"] = peers->report();
}

}  // namespace

void measure_case(const presets::CaseSpec& spec, CaseRecord& record) {
  try {
    (void)open_device(spec.device);
    (void)parse_mode(spec.mode);
  } catch (const Error& unknown) {
    return skip(record, unknown.what());
  }
  if (spec.threads > 0) at::set_num_threads(spec.threads);
  auto [model, inputs] = prepare(spec);
  const auto* built = build(model, inputs, spec.strategy, record);
  if (built == nullptr) return;
  record.plan = plan_json(*built);
  if (spec.kind == "model")
    record.plan["checkpoints"] = std::max<std::size_t>(1, spec.weights.size());  // the rest are copies
  record.compile_us = (built->milliseconds - built->tuning_milliseconds) * 1000;
  add_proof(record, prove(model, inputs));
  if (record.verdict != Verdict::kPass) return;
  measure_rounds(spec, model, inputs, record);
  add_recording(record, built->planned.execution);
  record.peak_memory_bytes = peak_memory(model.options().device.device);
}

}  // namespace wide::app
