#include "app/measure_case.h"

#include <ATen/ATen.h>
#include <ATen/Parallel.h>
#include <sys/resource.h>

#include <algorithm>
#include <chrono>
#include <nlohmann/json.hpp>
#include <optional>

#include "app/activation_bytes.h"
#include "app/apart.h"
#include "app/capture/rivals.h"
#include "app/coverage_json.h"
#include "app/devices.h"
#include "app/least_time.h"
#include "app/made_up_inputs.h"
#include "app/member_copies.h"
#include "app/peer_rivals.h"
#include "app/tensor_files.h"
#include "core/aten/torch_bridge.h"
#include "core/prove/prove.h"
#include "core/run/recorded_pass.h"
#include "core/strategy/sequential.h"
#include "core/strategy/strategy_text.h"
#include "formats/error.h"
#include "presets/zoo/zoo.h"
#include "profiler/measure.h"
#include "profiler/watched.h"

namespace wide::app {
namespace {

using results::CaseRecord;
using results::Verdict;

constexpr std::string_view kApart = "apart";
constexpr double kMostSecondsAgain = 10;  // of a disturbed measurement that is made once more
constexpr double kLeastSeconds = 0.25;    // of looking at passes again after they were timed

struct Prepared {
  WideModel model;
  std::vector<ModelInput> inputs;
  std::function<std::vector<ModelInput>(const WideModel&, std::uint64_t seed)>
      draw;                      // other inputs like these
  std::int64_t checkpoints = 1;  // members that are no copies
};

Prepared prepare(const presets::CaseSpec& spec, bool plans_anew) {
  BuildOptions options;
  options.seed = spec.seed;
  options.mode = parse_mode(spec.mode);
  add_choice(options.strategies, spec.strategy);
  options.tuning.tuning = plans_anew ? Tuning::kAnew : Tuning::kMeasure;
  options.device = open_device(spec.device);
  options.costs = std::make_shared<CostBook>(CostBook::default_file());
  check_choice(options.strategies);
  if (spec.kind == "model") {
    auto loaded = load({spec.model}, {spec.weights.begin(), spec.weights.end()});
    auto& members = loaded.members;
    // The last checkpoint may be packed and hold more than are wanted.
    const auto given = std::min(spec.n, std::ssize(members));
    members.erase(members.begin() + given, members.end());
    fill_up(loaded.graph, members, spec.n);
    WideModel model(std::move(loaded.graph), std::move(members), options);
    const auto file = spec.inputs.empty() ? spec.expect : spec.inputs;
    if (!file.empty()) {
      auto inputs = on_device(read_inputs(file, model), options.device.device);
      return {std::move(model), std::move(inputs), {}, given};
    }
    const auto draw = [device = options.device.device](const WideModel& of, std::uint64_t seed) {
      return on_device(made_up_inputs(of, seed), device);
    };
    auto inputs = draw(model, spec.seed);
    return {std::move(model), std::move(inputs), draw, given};
  }
  const auto dtype = parse_dtype(spec.dtype);
  if (!dtype) throw Error("preset", "unknown dtype '" + spec.dtype + "'");
  const auto architecture = zoo::build(spec.subject, spec.shape);
  WideModel model(architecture.graph, zoo::make_members(architecture, spec.n, spec.seed, *dtype), options);
  const auto draw = [architecture, n = spec.n, dtype = *dtype, device = options.device.device](
                        const WideModel&, std::uint64_t seed) {
    return on_device(zoo::make_inputs(architecture, n, seed, dtype), device);
  };
  auto inputs = draw(model, spec.seed);
  return {std::move(model), std::move(inputs), draw};
}

// Whether passes are launched as a whole, where they were to be.
void add_recording(CaseRecord& record, const Execution& execution) {
  const auto* recorded = execution.recorded();
  if (recorded == nullptr) return;
  record.plan["recorded"] = recorded->is_recorded();
  if (recorded->is_recorded()) record.circumstances.regime = "graph replay";
  if (!recorded->refusal().empty()) record.plan["not_recorded"] = recorded->refusal();
}

nlohmann::json plan_json(const Build& built) {
  nlohmann::json plan = to_json(coverage(built));
  plan["tuning_ms"] = built.tuning_milliseconds;
  if (!built.planned.doubt.empty()) plan["disturbed"] = built.planned.doubt;
  for (std::size_t i = 0; i < built.plan().nodes.size(); ++i) {
    plan["strategies"].push_back(
        {{"op", built.optimized.nodes[i].op}, {"strategy", built.plan().nodes[i].strategy}});
  }
  return plan;
}

void fail(CaseRecord& record, Verdict verdict, std::string reason) {
  record.verdict = verdict;
  record.reason = std::move(reason);
  results::clear_speedups(record);
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
  auto objection = built.plan().objection_to(built.optimized, strategies_in(strategy));
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
std::vector<profiler::Contender> make_contenders(const presets::CaseSpec& spec, profiler::Contender wide,
                                                 SeparateRuns& separate, ApartModels* apart,
                                                 FreshInputs& fresh, const PeerRivals* peers,
                                                 CaseRecord& record) {
  const auto python = python_rivals(spec);
  const auto far = peers == nullptr ? std::vector<profiler::Contender>() : peers->contenders();
  std::vector<profiler::Contender> contenders{std::move(wide)};
  for (const auto& rival : spec.rivals) {
    if (rival == kApart) {
      if (apart != nullptr) contenders.push_back(apart->contender(fresh));
      continue;
    }
    if (std::find(python.begin(), python.end(), rival) == python.end()) {
      try {
        contenders.push_back(
            on_fresh_inputs({.name = rival, .run = separate.contender(rival)}, separate, fresh));
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

// A run is over when the device has done it, not when it was given it; and it starts on what lies ready.
void wait_for(at::Device device, std::vector<profiler::Contender>& contenders) {
  for (auto& contender : contenders) {
    if (!contender.run) continue;
    contender.run = [device, run = std::move(contender.run)] {
      run();
      synchronize(device);
    };
    contender.prepare = [device, prepare = std::move(contender.prepare)](std::int64_t runs) {
      const auto ready = prepare(runs);
      synchronize(device);
      return ready;
    };
  }
}

class Rounds {
 public:
  Rounds(const presets::CaseSpec& spec, Prepared& prepared, const WidePass& pass, FreshInputs& fresh)
      : spec_(spec),
        device_(prepared.model.options().device.device),
        fresh_(fresh),
        separate_(prepared.model, prepared.inputs, fresh.slots()),
        watched_(prepared.model, pass, prepared.inputs, fresh, separate_, spec.seed) {
    if (!python_rivals(spec).empty()) peers_.emplace(spec, prepared.model, prepared.inputs);
    if (std::find(spec.rivals.begin(), spec.rivals.end(), kApart) != spec.rivals.end())
      apart_.emplace(prepared.model, prepared.inputs, fresh.slots());
  }

  void run(CaseRecord& record) {
    if (apart_) record.checks.push_back(apart_->check(fresh_.next()));
    try {
      run_once(record);
    } catch (const Error& error) {
      if (!peers_ || error.stage() != "peers") throw;
      peers_->give_up(error.what());  // their process died: the others are measured without them
      run_once(record);
    }
    if (peers_) record.plan["peers"] = peers_->report();
    if (auto check = watched_.take()) record.checks.push_back(std::move(*check));
  }

 private:
  void run_once(CaseRecord& record) {
    auto contenders = make_contenders(spec_, watched_.contender(), separate_, apart_ ? &*apart_ : nullptr,
                                      fresh_, peers_ ? &*peers_ : nullptr, record);
    if (!device_.is_cpu()) wait_for(device_, contenders);
    profiler::SteadyClock clock;
    processes::MachineLoad load;
    const auto threads = at::get_num_threads();
    const auto rounds = [&] {
      return profiler::measure(contenders, spec_.stopping, spec_.seed, clock, {},
                               [this] { watched_.after_round(); });
    };
    const auto seen = profiler::measure_watched(rounds, load, threads, !peers_, kMostSecondsAgain);
    results::add_measurement(record, seen.measurement);
    auto& around = record.circumstances;
    around.attempts = seen.attempts;
    around.steal = seen.disturbance.steal;
    around.others = seen.disturbance.others;
    around.preempted = seen.disturbance.preempted;
    around.threads = threads;
    around.regime = "hot";
    if (!seen.objection.empty()) results::set_disturbed(record, seen.objection);
  }

  const presets::CaseSpec& spec_;
  at::Device device_;
  FreshInputs& fresh_;
  SeparateRuns separate_;
  WatchedPasses watched_;
  std::optional<PeerRivals> peers_;
  std::optional<ApartModels> apart_;
};

// Wrong numbers of what was timed, or a time that cannot be: no pass.
void judge_timed(CaseRecord& record, const Build& built, const WideModel& model) {
  for (const auto& check : record.checks) {
    if (!check.passed) return fail(record, Verdict::kFail, check.what + ": " + check.text);
  }
  if (!model.options().device.device.is_cpu()) return;
  if (auto check = check_least_time(built, model.members(), record.dtype, record.wide.median_us);
      !check.passed) {
    fail(record, Verdict::kError, check.text);
    record.checks.push_back(std::move(check));
  }
}

void measure_rounds(const presets::CaseSpec& spec, Prepared& prepared, const WidePass& pass,
                    CaseRecord& record) {
  auto& model = prepared.model;
  FreshInputs::Draw draw;
  if (prepared.draw) draw = [&](std::uint64_t seed) { return prepared.draw(model, seed); };
  FreshInputs fresh(prepared.inputs, draw, spec.seed);
  Rounds(spec, prepared, pass, fresh).run(record);
  const double seconds = std::max(kLeastSeconds, spec.stopping.max_seconds / 4);
  for (auto& check : check_passes(model, pass, fresh, seconds, spec.seed))
    record.checks.push_back(std::move(check));
  judge_timed(record, model.build(prepared.inputs), model);
}

void prove_and_measure(const MeasureOptions& options, const presets::CaseSpec& spec, Prepared& prepared,
                       CaseRecord& record) {
  auto& [model, inputs, draw, checkpoints] = prepared;
  const auto* built = build(model, inputs, spec.strategy, record);
  if (built == nullptr) return;
  record.plan = plan_json(*built);
  record.plan["weight_bytes"] = model.weight_bytes();
  record.plan["activation_bytes"] = activation_bytes(built->optimized, built->plan());
  if (spec.kind == "model") record.plan["checkpoints"] = checkpoints;  // the rest are copies
  record.compile_us = (built->milliseconds - built->tuning_milliseconds) * 1000;
  auto proof = prove(model, inputs);
  if (!spec.expect.empty()) proof.checks.push_back(check_expected(spec.expect, model, inputs));
  if (!proof.notes.empty()) record.plan["unproved"] = proof.notes;
  add_proof(record, proof);
  if (record.verdict != Verdict::kPass) return;
  WidePass pass = [&model](std::span<const ModelInput> given) { return model.forward(given); };
  if (options.plant) pass = options.plant(model, std::move(pass));
  measure_rounds(spec, prepared, pass, record);
  add_recording(record, built->planned.execution);
  record.peak_memory_bytes = peak_memory(model.options().device.device);
}

}  // namespace

void measure_case(const presets::CaseSpec& spec, const MeasureOptions& options, CaseRecord& record) {
  try {
    (void)open_device(spec.device);
    (void)parse_mode(spec.mode);
  } catch (const Error& unknown) {
    return skip(record, unknown.what());
  }
  if (spec.threads > 0) at::set_num_threads(spec.threads);
  auto prepared = prepare(spec, options.plans_anew);
  try {
    prove_and_measure(options, spec, prepared, record);
  } catch (const Error&) {
    if (spec.kind != "model" || !prepared.draw) throw;
    try {
      blame_made_up_inputs(prepared.model, prepared.inputs);
    } catch (const Error& refused) {
      return skip(record, refused.what());
    }
    throw;
  }
}

}  // namespace wide::app
