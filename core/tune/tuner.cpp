#include "core/tune/tuner.h"

#include <ATen/ATen.h>
#include <ATen/Parallel.h>

#include <algorithm>
#include <cmath>
#include <exception>
#include <iterator>
#include <limits>
#include <stdexcept>
#include <string_view>
#include <utility>

#include "core/aten/device.h"
#include "core/aten/pages.h"
#include "core/aten/torch_bridge.h"
#include "core/ir/text.h"
#include "core/strategy/cost.h"
#include "core/tune/recorded_run.h"
#include "core/tune/stopwatch.h"
#include "core/tune/trial.h"

namespace wide {
namespace {

// Estimates are rough: only what is this much worse than the best, by factor and by nanoseconds, is not
// timed.
constexpr double kFarFactor = 6, kFarNanoseconds = 20'000;
constexpr std::size_t kMostCandidates = 8;

// A copy races nothing, and there are many of them: a few rounds say enough.
const StopwatchOptions kConversion{.rounds = 5, .seconds_each = 0.01, .least_rounds = 3};

// A look at each such candidate by itself: who is slower than most moments of the machine make it, in two
// looks, is out.
const StopwatchOptions kLook{.rounds = 8, .seconds_each = 0.02, .least_rounds = 3};
constexpr double kSlowMoment = 2;
// Seconds after which it can be told who had the CPUs: the system counts in hundredths.
constexpr double kTellingSeconds = 0.3;

std::string concrete_text(const ConcreteType& type) {
  return dtype_name(type.dtype) + shape_text(type.shape);
}

// What a time depends on beside the operator.
std::string environment(std::int64_t members, const std::string& device) {
  std::string text = " N=";
  text.append(std::to_string(members)).append(" threads=").append(std::to_string(at::get_num_threads()));
  if (!device.empty()) text.append(" on ").append(device);
  return text;
}

std::string node_key(const NodeCandidates& node, const std::vector<bool>& constant,
                     const std::string& device) {
  // Values are numbered in the call, so the text needs names for them.
  Graph names;
  for (std::size_t i = 0; i < node.operands.size(); ++i) names.add_value(std::to_string(i), true);
  std::string key = node.call.node.op + "(";
  for (const auto& argument : node.call.node.arguments) key.append(print(names, argument)).append(" ");
  key += ")";
  for (const auto& body : node.call.node.bodies)
    key.append(" {").append(std::to_string(fnv1a(print(*body)))).append("}");
  for (std::size_t i = 0; i < node.operands.size(); ++i) {
    const auto& operand = node.call.operands[i];
    key.append(" ").append(concrete_text(operand.type)).append(operand.mapped ? "m" : "s");
    key.append(constant[i] ? "c" : "");
  }
  return key.append(environment(node.call.members, device));
}

std::string candidate_key(const std::string& node, const Candidate& candidate) {
  std::string key = node;
  key.append(" ").append(candidate.strategy->name).append(":");
  for (const auto layout : candidate.offer.operands) key.append(name(layout)).append(",");
  key.append(">");
  for (const auto layout : candidate.offer.results) key.append(name(layout)).append(",");
  return key;
}

using MakeRun = std::function<std::function<void()>(std::size_t)>;

// Nanoseconds of runs as of time_in_turns(), and their memory is free again.
std::vector<double> time_and_free(std::vector<std::function<void()>> runs, StopwatchOptions options,
                                  at::Device device) {
  options.device = device;
  auto times = time_in_turns(runs, options);
  runs.clear();
  return_free_memory();
  return times;
}

// Of what `make` makes, one is there at a time.
std::vector<double> time_one_by_one(std::size_t count, const MakeRun& make, at::Device device) {
  std::vector<double> times;
  for (std::size_t i = 0; i < count; ++i) times.push_back(time_and_free({make(i)}, kLook, device)[0]);
  return times;
}

// Two are there at a time at most. All are looked at, one after the other; the best of them stays, and races
// the others that are not far behind. Those that are get another look first: other work on the machine only
// ever adds time.
std::vector<double> time_in_pairs(std::size_t count, const MakeRun& make, at::Device device) {
  auto times = time_one_by_one(count, make, device);
  const auto best = static_cast<std::size_t>(std::ranges::min_element(times) - times.begin());
  const double limit = kSlowMoment * times[best];
  std::function<void()> first;
  for (std::size_t i = 0; i < count; ++i) {
    if (i == best || !std::isfinite(times[i])) continue;
    if (times[i] >= limit) times[i] = std::min(times[i], time_and_free({make(i)}, kLook, device)[0]);
    if (times[i] >= limit) continue;
    if (!first) first = make(best);
    const auto pair = time_and_free({[&first] { first(); }, make(i)}, {}, device);
    const bool comparable = std::isfinite(pair[0]) && std::isfinite(pair[1]);
    times[i] = comparable ? times[best] * pair[1] / pair[0] : pair[1];
  }
  return times;
}

void drop_far(NodeCandidates& node) {
  auto& all = node.candidates;
  std::stable_sort(all.begin(), all.end(),
                   [](const Candidate& a, const Candidate& b) { return a.offer.cost < b.offer.cost; });
  const double limit =
      std::max(all.front().offer.cost * kFarFactor, all.front().offer.cost + kFarNanoseconds);
  const auto far =
      std::find_if(all.begin() + 1, all.end(), [&](const Candidate& one) { return one.offer.cost > limit; });
  all.erase(far, all.end());
  if (all.size() > kMostCandidates) all.resize(kMostCandidates);
}

}  // namespace

namespace {

// What came of measuring a candidate: nanoseconds, or why it cannot run.
struct Outcome {
  double cost = 0;
  std::string failure;
};

// Gives the candidates their costs, and makes refusals of those that failed. Where all failed, the made-up
// values are at fault, not the strategies: all keep their estimates.
void take_outcomes(NodeCandidates& node, std::vector<Outcome> outcomes) {
  const auto failed = [](const Outcome& one) { return !one.failure.empty(); };
  if (std::all_of(outcomes.begin(), outcomes.end(), failed)) return;
  std::vector<Candidate> left;
  for (std::size_t i = 0; i < outcomes.size(); ++i) {
    auto& candidate = node.candidates[i];
    if (failed(outcomes[i])) {
      node.refusals.push_back({std::string(candidate.strategy->name), std::move(outcomes[i].failure)});
      continue;
    }
    candidate.offer.cost = outcomes[i].cost;
    candidate.measured = true;
    left.push_back(std::move(candidate));
  }
  node.candidates = std::move(left);
}

// Under it stands 1 where the candidate failed when it was measured last.
std::string failure_key(const std::string& candidate) {
  return "failed " + candidate;
}

// What must be made first is left out unless it is there, or may be made now, or is all there is.
void drop_uncompiled(NodeCandidates& node, bool may_compile) {
  std::vector<Candidate> left;
  std::vector<Refusal> refusals;
  for (const auto& candidate : node.candidates) {
    const auto& strategy = *candidate.strategy;
    auto reason = missing_code(strategy, node.call, candidate.offer, may_compile);
    if (reason.empty()) {
      left.push_back(candidate);
    } else if (refusals.empty() || refusals.back().reason != reason) {
      refusals.push_back({std::string(strategy.name), std::move(reason)});
    }
  }
  if (left.empty()) return;
  node.candidates = std::move(left);
  std::ranges::move(refusals, std::back_inserter(node.refusals));
}

}  // namespace

Tuner::Tuner(CostBook& book, TunerOptions options, ComputeDevice device)
    : book_(book),
      options_(std::move(options)),
      device_(std::move(device)),
      where_(device_.record ? device_.name + ", recorded" : device_.name) {
  if (options_.tuning < Tuning::kMeasure) return;
  if (!options_.load) options_.load = std::make_shared<processes::MachineLoad>();
  before_ = since_ = options_.load->read();
}

std::optional<double> Tuner::known(const std::string& key) {
  if (const auto learnt = learnt_.find(key); learnt != learnt_.end()) return learnt->second;
  if (options_.tuning == Tuning::kAnew && may_measure()) return std::nullopt;
  const auto cost = book_.find(key);
  // As long as other work goes on, timing it again would be no better.
  if (!cost || (!cost->quiet && may_measure() && quiet_at_last_)) return std::nullopt;
  if (!cost->quiet && doubt_.empty() && options_.tuning >= Tuning::kMeasure)
    doubt_ = "other work was on the machine when strategies were timed";
  return cost->nanoseconds;
}

void Tuner::learn(const std::string& key, double nanoseconds) {
  learnt_[key] = nanoseconds;
  to_keep_.insert(key);
  threads_ = std::max(threads_, at::get_num_threads());
}

void Tuner::keep(bool is_last) {
  if (to_keep_.empty()) return;
  auto now = options_.load->read();
  if (!is_last && now.at - since_.at < kTellingSeconds) return;
  const auto& from = now.at - since_.at < kTellingSeconds ? before_ : since_;
  // Work of a GPU takes no CPU.
  const auto objection =
      device_.device.is_cpu() ? processes::objection(processes::between(from, now), threads_) : std::string();
  quiet_at_last_ = objection.empty();
  if (!quiet_at_last_) doubt_ = objection;
  // The last are whole passes: as good as the times that their plans were made by.
  const bool quiet = quiet_at_last_ && (!is_last || doubt_.empty());
  for (const auto& key : to_keep_) book_.add(key, {learnt_.at(key), quiet});
  to_keep_.clear();
  before_ = since_, since_ = now;
  threads_ = 0;
}

bool Tuner::try_again() {
  if (doubt_.empty() || !quiet_at_last_ || !may_measure() || end_ - Clock::now() < limit() / 2) return false;
  learnt_.clear();
  doubt_.clear();
  return true;
}

bool Tuner::recall(NodeCandidates& node, const std::vector<std::string>& keys) {
  std::vector<Outcome> outcomes;
  for (const auto& key : keys) {
    if (known(failure_key(key)).value_or(0) > 0) {
      outcomes.push_back({0, "it failed when it was measured before"});
    } else if (const auto cost = known(key)) {
      outcomes.push_back({*cost, {}});
    } else {
      return false;
    }
  }
  take_outcomes(node, std::move(outcomes));
  return true;
}

std::function<void()> Tuner::as_it_will_run(std::function<void()> call) const {
  return device_.record ? recorded_run(device_, std::move(call)) : call;
}

int Tuner::calls() const {
  return device_.record ? kRecordedCalls : 1;
}

void Tuner::measure(NodeCandidates& node, const std::vector<bool>& constant,
                    const std::vector<std::string>& keys) {
  if (options_.progress) options_.progress(node.call.node.op);
  ++measured_;
  LargeOperands large;
  std::vector<Outcome> outcomes(node.candidates.size());
  const auto run_of = [&](std::size_t i) -> std::function<void()> {
    auto& failure = outcomes[i].failure;
    const auto kept = [&failure](const std::function<void()>& work) {
      try {
        work();
      } catch (const std::exception& error) {
        const std::string_view text = error.what();
        failure = "it failed when it was measured: ";
        failure.append(text.substr(0, text.find('\n')));
      }
    };
    std::function<void()> run;
    kept([&] { run = as_it_will_run(runnable(node, node.candidates[i], constant, large)); });
    return [kept, run = std::move(run), &failure] {
      if (failure.empty()) kept(run);
      if (!failure.empty()) throw std::runtime_error(failure);
    };
  };
  std::vector<double> times;
  const auto bytes = constant_bytes(node, constant);
  if (bytes > kPackedMuch && bytes > options_.memory / 2) {
    times = time_one_by_one(outcomes.size(), run_of, node.call.device);
    const auto again = time_one_by_one(outcomes.size(), run_of, node.call.device);
    for (std::size_t i = 0; i < times.size(); ++i) times[i] = std::min(times[i], again[i]);
  } else if (bytes > kPackedMuch) {
    times = time_in_pairs(outcomes.size(), run_of, node.call.device);
  } else {
    std::vector<std::function<void()>> runs;
    for (std::size_t i = 0; i < outcomes.size(); ++i) runs.push_back(run_of(i));
    times = time_in_turns(runs, {.device = node.call.device});
  }
  for (std::size_t i = 0; i < times.size(); ++i) {
    times[i] /= calls();
    outcomes[i].cost = times[i];
    const bool failed = !std::isfinite(times[i]);
    if (failed || book_.find(failure_key(keys[i]))) learn(failure_key(keys[i]), failed ? 1 : 0);
    if (!failed) learn(keys[i], times[i]);
  }
  keep();
  take_outcomes(node, std::move(outcomes));
}

void Tuner::settle(NodeCandidates& node, const std::vector<ValueState>& states) {
  if (node.kind != NodeKind::kMapped || options_.tuning == Tuning::kEstimate) return;
  if (node.call.by_member) return;  // what it costs depends on the data, and there is nothing to choose
  const auto& results = node.call.node.results;
  if (std::all_of(results.begin(), results.end(),
                  [&](ValueId id) { return id < 0 || states[static_cast<std::size_t>(id)].constant; }))
    return;  // done once, at build
  std::vector<bool> constant;
  for (const auto id : node.operands) constant.push_back(states[static_cast<std::size_t>(id)].constant);
  drop_uncompiled(node, may_measure());
  drop_far(node);
  const auto text = node_key(node, constant, where_);
  std::vector<std::string> keys;
  for (const auto& candidate : node.candidates) keys.push_back(candidate_key(text, candidate));
  if (recall(node, keys) || !may_measure()) return;
  measure(node, constant, keys);
}

double Tuner::conversion(const ConcreteType& type, Layout from, Layout to, std::int64_t members) {
  if (from == to) return 0;
  constexpr double kView = 300;
  if (is_free(from, to, type, members)) return kView;
  const double estimate = kernel_cost(2.0 * static_cast<double>(type.bytes() * members));
  if (options_.tuning == Tuning::kEstimate) return estimate;
  std::string key = "convert ";
  key.append(concrete_text(type)).append(" ").append(name(from)).append(">").append(name(to));
  key.append(environment(members, where_));
  if (const auto cost = known(key)) return *cost;
  if (!may_measure()) return estimate;
  const Operand operand{type, from != Layout::kShared, {}};
  const auto tensor = operand_in(operand, from, members, device_.device);
  const auto run = as_it_will_run([&] { (void)convert(tensor, from, to, type, members).contiguous(); });
  auto options = kConversion;
  options.device = device_.device;
  const double time = time_in_turns(std::span(&run, 1), options)[0] / calls();
  if (!std::isfinite(time)) return estimate;
  learn(key, time);
  return time;
}

}  // namespace wide
