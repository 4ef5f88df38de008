#include "app/rivals.h"

#include <ATen/ATen.h>
#include <ATen/Parallel.h>

#include "core/auto_plan.h"
#include "core/observe.h"
#include "core/side_by_side.h"
#include "formats/error.h"

namespace wide::app {

SeparateRuns::SeparateRuns(WideModel& model, std::span<const ModelInput> inputs)
    : graph_(model.build(inputs).canonical), interpreter_(graph_), device_(model.options().device) {
  const c10::InferenceMode guard;
  for (std::int64_t i = 0; i < model.members(); ++i) {
    const auto& member = model.member_list()[static_cast<std::size_t>(i)];
    std::vector<c10::IValue> values;
    std::size_t user = 0;
    for (const auto& input : graph_.inputs) {
      // Copies: a stacked input is not a separate one.
      const auto& tensor =
          input.kind == InputKind::kUser ? inputs[user++].member(i) : member.tensors.at(input.target);
      values.emplace_back(tensor.to(graph_.device).clone());
    }
    values_.push_back(std::move(values));
  }
}

std::vector<c10::IValue> SeparateRuns::run_member(std::size_t i) const {
  const c10::InferenceMode guard;
  const ObservedMembers observed({static_cast<std::int64_t>(i), 1});
  return interpreter_.run(values_[i]);
}

SeparateRuns::Outputs SeparateRuns::run_one_by_one() const {
  Outputs outputs(values_.size());
  for (std::size_t i = 0; i < values_.size(); ++i) outputs[i] = run_member(i);
  return outputs;
}

SeparateRuns::Outputs SeparateRuns::run_on_threads() const {
  Outputs outputs(values_.size());
  const auto threads = static_cast<std::size_t>(at::get_num_threads());
  run_side_by_side(values_.size(), threads, [&](std::size_t i) { outputs[i] = run_member(i); });
  return outputs;
}

SeparateRuns::Outputs SeparateRuns::run_streams() const {
  Outputs outputs(values_.size());
  run_on_streams(device_.device, values_.size(), static_cast<std::size_t>(kMostStreams),
                 [&](std::size_t i) { outputs[i] = run_member(i); });
  return outputs;
}

// Once as ever, in which libraries set themselves up, then recorded.
std::function<void()> SeparateRuns::recorded() const {
  struct State {
    Outputs outputs;
    std::unique_ptr<Recording> recording;
  };
  const auto state = std::make_shared<State>();
  (void)run_streams();
  state->recording = device_.record([&] { state->outputs = run_streams(); });
  return [state] { state->recording->replay(); };
}

std::function<void()> SeparateRuns::contender(const std::string& name) const {
  const bool cpu = device_.device.is_cpu();
  if (name == "eager") return [this] { (void)run_one_by_one(); };
  if (name == "threads" && cpu) return [this] { (void)run_on_threads(); };
  if (name == "streams" && !cpu) return [this] { (void)run_streams(); };
  if (name == "graph" && device_.record) return recorded();
  throw Error("preset", "there is no rival '" + name + "' on this device; there are eager and " +
                            (cpu ? "threads" : "streams, graph"));
}

}  // namespace wide::app
