#include "app/measure_case.h"

#include <ATen/ATen.h>
#include <ATen/Parallel.h>
#include <sys/resource.h>

#include <chrono>
#include <nlohmann/json.hpp>

#include "app/coverage_json.h"
#include "app/made_up_inputs.h"
#include "app/rivals.h"
#include "core/prove.h"
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

Prepared prepare(const presets::CaseSpec& spec) {
  BuildOptions options;
  options.seed = spec.seed;
  options.mode = parse_mode(spec.mode);
  options.strategies.all = spec.strategy;
  options.tuning.tuning = Tuning::kMeasure;
  options.costs = std::make_shared<CostBook>(CostBook::default_file());
  check_choice(options.strategies);
  if (spec.kind == "model") {
    auto loaded = load({spec.model}, {spec.weights.begin(), spec.weights.end()});
    WideModel model(std::move(loaded.graph), std::move(loaded.members), options);
    auto inputs = made_up_inputs(model, spec.seed);
    return {std::move(model), std::move(inputs)};
  }
  const auto dtype = parse_dtype(spec.dtype);
  if (!dtype) throw Error("preset", "unknown dtype '" + spec.dtype + "'");
  const auto architecture = zoo::build(spec.subject, spec.shape);
  return {WideModel(architecture.graph, zoo::make_members(architecture, spec.n, spec.seed, *dtype), options),
          zoo::make_inputs(architecture, spec.n, spec.seed, *dtype)};
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

std::int64_t peak_bytes() {
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  return static_cast<std::int64_t>(usage.ru_maxrss) * 1024;
}

void skip(CaseRecord& record, std::string reason) {
  record.verdict = Verdict::kSkipped;
  record.reason = std::move(reason);
}

}  // namespace

void measure_case(const presets::CaseSpec& spec, CaseRecord& record) {
  if (spec.device != "cpu")
    return skip(record, "device " + spec.device + ": this build runs on the CPU only");
  try {
    (void)parse_mode(spec.mode);
  } catch (const Error& unknown) {
    return skip(record, unknown.what());
  }
  if (spec.threads > 0) at::set_num_threads(spec.threads);
  auto [model, inputs] = prepare(spec);
  const auto& built = model.build(inputs);
  record.plan = plan_json(built);
  record.compile_us = (built.milliseconds - built.tuning_milliseconds) * 1000;
  add_proof(record, prove(model, inputs));
  if (record.verdict != Verdict::kPass) return;

  std::vector<profiler::Contender> contenders{
      {"wide", [&model = model, &inputs = inputs] { model.forward(inputs); }}};
  const SeparateRuns separate(model, inputs);
  for (const auto& rival : spec.rivals) contenders.push_back({rival, separate.contender(rival)});
  profiler::SteadyClock clock;
  const auto measurement = profiler::measure(contenders, spec.stopping, spec.seed, clock, {});
  results::add_measurement(record, measurement);
  record.peak_memory_bytes = peak_bytes();
}

}  // namespace wide::app
